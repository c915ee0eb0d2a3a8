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
        if progress != nil, body.isEmpty { return "a value without a text" }
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
    private static let longest = (title: 1024, body: 8192, text: 256)
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
        notice.buttons = Array(
            buttons.filter { button in
                isShort(button.key) && !button.key.isEmpty && !button.key.unicodeScalars.contains { $0.isActive }
            }
            .map { Button(key: $0.key, label: $0.label.isEmpty ? $0.key : $0.label.sendable(Self.longest.text)) }
            .prefix(Self.mostButtons))
        notice.urgency = urgency.map { min($0, 2) }
        notice.timeout = timeout.map { min(max($0, 0), Self.longestTimeout) }
        notice.progress = progress.map { min(max($0, 0), 100) }
        return notice
    }

    /// Drops the markup of a body that a server with the capability `body-markup` is given, and reads its entities.
    public static func plainText(ofMarkup text: String) -> String {
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "&") }) else { return text }
        var result = ""
        var rest = text[...]
        while let place = rest.firstIndex(where: { $0 == "<" || $0 == "&" }) {
            result += rest[..<place]
            rest = rest[place...]
            if let (end, replacement) = rest.first == "<" ? tag(rest) : entity(rest) {
                result += replacement
                rest = rest[end...]
            } else {
                result.append(rest.removeFirst())
            }
        }
        return result + rest
    }

    private static let tags = ["b", "i", "u", "a", "img", "br", "p", "span"]

    /// The end of a tag at the beginning of a text, and what is shown for it; `nil` if there is none that servers know.
    private static func tag(_ text: Substring) -> (end: Substring.Index, shown: String)? {
        guard let end = text.firstIndex(of: ">") else { return nil }
        let inside = text[..<end].dropFirst()
        let name = inside.drop { $0 == "/" }.prefix { $0.isLetter }.lowercased()
        guard tags.contains(name) else { return nil }
        return (text.index(after: end), ["br", "p"].contains(name) && inside.first != "/" ? "\n" : "")
    }

    private static func entity(_ text: Substring) -> (end: Substring.Index, shown: String)? {
        guard let end = text.prefix(10).firstIndex(of: ";") else { return nil }
        let name = text[..<end].dropFirst()
        let shown: String? =
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
        return shown.map { (text.index(after: end), $0) }
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
