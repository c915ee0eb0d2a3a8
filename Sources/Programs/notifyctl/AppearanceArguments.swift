import ArgumentParser
import Glibc
import NotifyClient

/// The options of `send` that describe the banner.
struct AppearanceArguments: ParsableArguments {
    @Option(help: "The application that the banner belongs to.") var app: String?
    @Option(help: "A name of the icon theme, or a file.", completion: .file()) var icon: String?
    @Option(help: "A picture on the banner.", completion: .file()) var image: String?
    @Option(help: "The kind of notification, such as im.received.") var category: String?
    @Option(help: "A name of the sound theme.") var sound: String?
    @Option(help: "The desktop file of the application, without .desktop.") var desktopEntry: String?
    @Option(
        parsing: .unconditional,
        help: "How long the banner stays up, in whole milliseconds, at most 24h; 0 means until it is closed.",
        transform: DurationArgument.parse(.zero ... .seconds(86400), in: .milliseconds(1)))
    var showFor: DurationArgument?
    @Flag(help: "The notification server keeps no record of the banner.") var transient = false
    @Flag(help: "The banner stays up when one of its buttons is pressed.") var resident = false
    @Option(
        parsing: .unconditional, help: "A progress in percent, 0 to 100.",
        transform: NumberArgument.parse(0...100, "a percentage"))
    var progress: Int?
    @Option(
        name: .customLong("action"), help: ArgumentHelp("A button, at most 8.", valueName: "key=label"),
        transform: ButtonArgument.parse)
    var actions: [ButtonArgument] = []

    /// The first of these options that is given.
    var firstGiven: String? {
        let given = [
            ("--app", app != nil), ("--icon", icon != nil), ("--image", image != nil), ("--category", category != nil),
            ("--sound", sound != nil), ("--desktop-entry", desktopEntry != nil), ("--show-for", showFor != nil),
            ("--transient", transient), ("--resident", resident), ("--progress", progress != nil),
            ("--action", !actions.isEmpty),
        ]
        return given.first { $0.1 }?.0
    }

    var options: BannerOptions {
        BannerOptions(
            app: app, icon: icon.map(Self.iconPath), image: imagePath, category: category, sound: sound,
            desktopEntry: desktopEntry, timeout: showFor?.duration, isTransient: transient ? true : nil,
            isResident: resident ? true : nil, progress: progress, buttons: actions.map(\.button))
    }

    private var imagePath: String? { image.map(Self.path) }

    /// Why the file of the picture cannot be read; `nil` if it can. A `file://` address is not looked at.
    var obstacleToImage: String? {
        guard let imagePath, imagePath.hasPrefix("/"), access(imagePath, R_OK) != 0 else { return nil }
        return "\(imagePath): \(String(cString: strerror(errno)))"
    }

    /// A name of the icon theme has no slash.
    private static func iconPath(_ text: String) -> String { text.contains("/") ? path(text) : text }

    /// The daemon does not know the working directory.
    private static func path(_ text: String) -> String {
        guard !text.hasPrefix("/"), !text.contains(":") else { return text }
        guard let directory = getcwd(nil, 0) else { return text }
        defer { free(directory) }
        return "\(String(cString: directory))/\(text.hasPrefix("./") ? text.dropFirst(2) : text[...])"
    }
}

/// A button as an argument: `KEY=LABEL`.
struct ButtonArgument {
    let button: BannerOptions.Button

    static func parse(_ text: String) throws -> ButtonArgument {
        // By bytes: in a String “=” and a combining mark are one character.
        guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")), equals != text.startIndex,
            text.utf8.index(after: equals) != text.endIndex
        else {
            throw ValidationError("“\(text)” is not a button. Write KEY=LABEL, such as accept=Join.")
        }
        return ButtonArgument(
            button: BannerOptions.Button(
                key: String(text[..<equals]), label: String(text[text.utf8.index(after: equals)...])))
    }
}
