import Mapping
import NotifyText
import Routing

/// What a program wants shown: one call of `Notify`, or its like.
///
/// [Desktop Notifications Specification](https://specifications.freedesktop.org/notification-spec/latest/)
public struct Notice: Equatable, Sendable {
    /// A button: what the program is told, and what is written on it.
    public struct Button: Equatable, Sendable {
        public let key: String
        public let label: String

        public init(key: String, label: String) { (self.key, self.label) = (key, label) }
    }

    /// What the program calls itself; may be empty.
    public var app = ""
    public var title = ""
    public var body = ""
    public var buttons: [Button] = []
    /// 0 low, 1 normal, 2 critical; `nil` if the program does not say.
    public var urgency: UInt8?
    public var category = ""
    /// The name of its desktop file, without `.desktop`.
    public var desktopEntry = ""
    /// A name of the icon theme, a path or a `file://` address.
    public var icon = ""
    /// A path or a `file://` address.
    public var image = ""
    /// A name of the sound theme.
    public var sound = ""
    /// Milliseconds; `nil`: the server decides.
    public var timeout: Int?
    /// Whether the banner stays up when one of its buttons is pressed.
    public var isResident = false
    /// The hint `value`, in percent.
    public var progress: Int?
    /// Whether the server keeps no record of it: a volume, a picture of the screen that was taken.
    public var isTransient = false
    /// Whether it takes the place of the one before of its kind: a volume, a brightness.
    public var isSynchronous = false
    /// Whether it is a banner of notifyd, which has an event.
    public var isOfNotifyd = false
    /// The systemd unit of the program, if it is known.
    public var unit = ""

    public init() {}

    /// Why it is not worth an event; `nil` if it is.
    var triviality: String? {
        if isTransient { return "transient" }
        if isSynchronous { return "x-canonical-private-synchronous" }
        if progress != nil, body.isEmpty { return "a value without a body" }
        return nil
    }

    /// Whether it comes from a web browser, whose pages may have published the same.
    var isOfBrowser: Bool {
        let browsers = ["firefox", "chromium", "chrome", "brave", "vivaldi", "epiphany", "opera", "edge"]
        let name = (desktopEntry.isEmpty ? app : desktopEntry).lowercased()
        return browsers.contains { name.contains($0) }
    }

    /// Whether KDE Connect shows what is on a phone.
    var isOfKDEConnect: Bool {
        desktopEntry.hasPrefix("org.kde.kdeconnect") || desktopEntry == "kdeconnect" || app == "KDE Connect"
    }

    // MARK: As options of `Publish`

    /// Bytes of the title, of the body, and of every other text that notifyd takes.
    private static let longest = (title: 1024, body: longestBody, text: 256)
    static let longestBody = 8192
    private static let mostButtons = 8
    private static let longestTimeout = 86_400_000

    /// The same without what notifyd would refuse: what is too long is cut or left out.
    public var publishable: Notice {
        var notice = self
        notice.title = title.sendable(Self.longest.title)
        notice.body = body.sendable(Self.longest.body)
        notice.app = app.sendable(Self.longest.text)
        notice.category = category.sendable(Self.longest.text)
        notice.desktopEntry = desktopEntry.sendable(Self.longest.text)
        notice.sound = sound.utf8.count <= Self.longest.text ? sound.sendable(Self.longest.text) : ""
        let isShort = { (text: String) in text.utf8.count <= Self.longest.text && text.fitsIntoMessage }
        notice.icon = isShort(icon) && Appearance.isIcon(icon) ? icon : ""
        notice.image = isShort(image) && Appearance.isLocalFile(image) ? image : ""
        var keys: Set<String> = []
        notice.buttons = Array(
            buttons.filter { button in
                isShort(button.key) && !button.key.isEmpty && !button.key.unicodeScalars.contains { $0.isActive }
                    && keys.insert(button.key).inserted
            }
            .map { Button(key: $0.key, label: $0.label.isEmpty ? $0.key : $0.label.sendable(Self.longest.text)) }
            .prefix(Self.mostButtons))
        notice.urgency = urgency.map { min($0, 2) }
        notice.timeout = timeout.map { min(max($0, 0), Self.longestTimeout) }
        notice.progress = progress.map { min(max($0, 0), 100) }
        return notice
    }

    /// Bytes of a body that are looked at: with its markup it may be longer than what is published.
    private static let longestMarkup = 64 << 10

    /// Drops the markup of a body that a server with the capability `body-markup` is given, and reads its entities.
    public static func plainText(ofMarkup text: String) -> String {
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "&") }) else { return text }
        let bytes = Array(text.beginning(ofBytes: longestMarkup).utf8)
        var result: [UInt8] = []
        var index = 0
        // The next ">", which is looked for once: the time grows with the length of the text, and no faster.
        var close = -1
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "<") {
                if close < index { close = bytes[index...].firstIndex(of: UInt8(ascii: ">")) ?? bytes.count }
                if close < bytes.count, let shown = shown(forTag: bytes[(index + 1)..<close]) {
                    result += shown.utf8
                    index = close + 1
                    continue
                }
            } else if bytes[index] == UInt8(ascii: "&"),
                let end = bytes[index...].prefix(10).firstIndex(of: UInt8(ascii: ";")),
                let shown = shown(forEntity: String(decoding: bytes[(index + 1)..<end], as: UTF8.self))
            {
                result += shown.utf8
                index = end + 1
                continue
            }
            result.append(bytes[index])
            index += 1
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static let tags = ["b", "i", "u", "a", "img", "br", "p", "span"]

    /// What is shown for a tag; `nil` if servers do not know it.
    private static func shown(forTag inside: ArraySlice<UInt8>) -> String? {
        let name = inside.drop { $0 == UInt8(ascii: "/") }
            .prefix { (UInt8(ascii: "A")...UInt8(ascii: "z")).contains($0) || $0 >= 0x80 }
        guard name.count <= 4, case let name = String(decoding: name, as: UTF8.self).lowercased(), tags.contains(name)
        else { return nil }
        return ["br", "p"].contains(name) && inside.first != UInt8(ascii: "/") ? "\n" : ""
    }

    private static func shown(forEntity name: String) -> String? {
        switch name {
        case "amp": "&"
        case "lt": "<"
        case "gt": ">"
        case "quot": "\""
        case "apos": "'"
        case _ where name.hasPrefix("#x"): UInt32(name.dropFirst(2), radix: 16).flatMap(Self.text)
        case _ where name.hasPrefix("#"): UInt32(name.dropFirst()).flatMap(Self.text)
        default: nil
        }
    }

    private static func text(of number: UInt32) -> String? { Unicode.Scalar(number).map { String(Character($0)) } }
}

extension String {
    /// The beginning of a text, without what no message can carry.
    fileprivate func sendable(_ count: Int) -> String {
        guard !fitsIntoMessage else { return beginning(ofBytes: count) }
        let scalars = unicodeScalars.filter { $0.value != 0 && !$0.isForInternalUse }
        return String(String.UnicodeScalarView(scalars)).beginning(ofBytes: count)
    }
}
