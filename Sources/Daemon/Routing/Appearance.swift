public import NotifyText

/// What the notification server gets beside the text; see the Desktop Notifications Specification, "Hints". A route has
/// one, and an event may complete it.
public struct Appearance: Equatable, Sendable {
    /// The name of the application that the event belongs to; `nil`: notifyd.
    public var app: String?
    /// A name of the icon theme or a `file://` address; empty for none.
    public var icon = ""
    /// The path or the `file://` address of a picture.
    public var image: String?
    /// The urgency; `nil`: none is sent.
    public var urgency: Urgency?
    /// The kind of notification, such as `im.received`.
    public var category: String?
    /// A name of the sound theme.
    public var sound: String?
    /// The name of an application's desktop file, without `.desktop`.
    public var desktopEntry: String?
    /// How long the banner stays up; `nil`: as the server says; zero: until it is closed.
    public var timeout: Duration?
    /// Whether the server keeps no record of the banner; `nil`: not said.
    public var transient: Bool?
    /// Whether the banner stays up when one of its buttons is pressed; `nil`: not said, as false.
    public var resident: Bool?
    /// A progress in percent.
    public var progress: UInt8?
    /// The buttons, from the left.
    public var actions: [Route.Action] = []

    public init() {}

    /// What an event says, where the route says nothing.
    func completed(by own: Appearance) -> Appearance {
        var result = self
        result.app = app ?? own.app
        result.icon = icon.isEmpty ? own.icon : icon
        result.image = image ?? own.image
        result.category = category ?? own.category
        result.sound = sound ?? own.sound
        result.desktopEntry = desktopEntry ?? own.desktopEntry
        result.timeout = timeout ?? own.timeout
        result.transient = transient ?? own.transient
        result.resident = resident ?? own.resident
        result.progress = progress ?? own.progress
        if actions.isEmpty { result.actions = own.actions }
        return result
    }
}

extension Appearance {
    /// The options of `Publish` that describe the banner.
    static let optionNames = [
        "actions", "app", "category", "desktop-entry", "icon", "image", ownBanner, "progress", "resident", "sound",
        "timeout", "transient",
    ]

    /// The option of `Publish` by which the publisher shows the banner itself.
    public static let ownBanner = "own-banner"

    /// Whether the options of an event say that its publisher shows the banner.
    public static func isOwnBanner(_ options: [Field]) -> Bool {
        options.contains { $0.name == ownBanner && $0.value == .boolean(true) }
    }

    /// Buttons of one event.
    private static let maximumActions = 8
    /// Bytes of a text.
    private static let maximumText = 256
    /// Of a banner's time on screen.
    public static let maximumTimeout: Duration = .seconds(24 * 3600)

    /// Reads the options of an event. Publishing refuses names that are not in `optionNames`; a journal may have them
    /// from a later version.
    init(_ options: [Field]) throws(Refusal) {
        for option in options {
            switch option.name {
            case "app": app = try option.text(upTo: Self.maximumText)
            case "icon": icon = try Self.icon(option)
            case "image": image = try Self.image(option)
            case "category": category = try option.text(upTo: Self.maximumText)
            case "sound": sound = try option.text(upTo: Self.maximumText)
            case "desktop-entry": desktopEntry = try option.text(upTo: Self.maximumText)
            case "timeout":
                let longest = Self.maximumTimeout.components.seconds * 1000
                timeout = .milliseconds(try option.integer(in: 0...longest, "milliseconds"))
            case "transient": transient = try option.boolean()
            case "resident": resident = try option.boolean()
            case Self.ownBanner: _ = try option.boolean()
            case "progress": progress = UInt8(try option.integer(in: 0...100, "percent"))
            case "actions": actions = try Self.actions(option)
            default: break
            }
        }
    }

    /// Whether a text names a local file: an absolute path, or a `file://` address.
    public static func isLocalFile(_ text: String) -> Bool {
        text.hasPrefix("/") || text.lowercased().hasPrefix("file:///")
    }

    /// Whether a text can be the icon of a banner: a name of the icon theme or a local file. A server loads nothing
    /// from the network.
    public static func isIcon(_ text: String) -> Bool {
        isLocalFile(text) || !text.contains("/") && !text.contains(":")
    }

    private static func icon(_ option: Field) throws(Refusal) -> String {
        let text = try option.text(upTo: maximumText)
        guard isIcon(text) else {
            throw .invalidEvent(
                "option 'icon' must be a name from the icon theme, an absolute path, or an address that begins with "
                    + "file:///; it is '\(text.quotable)'")
        }
        return text
    }

    private static func image(_ option: Field) throws(Refusal) -> String {
        let text = try option.text(upTo: maximumText)
        guard isLocalFile(text) else {
            throw .invalidEvent(
                "option 'image' must be an absolute path, or an address that begins with file:///; "
                    + "it is '\(text.quotable)'")
        }
        return text
    }

    private static func actions(_ option: Field) throws(Refusal) -> [Route.Action] {
        guard case .array(of: "s", let elements) = option.value else {
            throw option.wrongType("an array of strings (as): key, label, key, label …")
        }
        guard elements.count.isMultiple(of: 2), elements.count <= 2 * maximumActions else {
            throw .invalidEvent(
                "option 'actions' must have a key and a label for each of at most \(maximumActions) buttons; "
                    + "it has \(elements.count) texts")
        }
        var texts: [String] = []
        for case .string(let text) in elements {
            guard !text.isEmpty, text.utf8.count <= maximumText else {
                throw .invalidEvent(
                    "option 'actions' has a text of \(text.utf8.count) bytes, 1 to \(maximumText) are allowed")
            }
            texts.append(text)
        }
        var actions: [Route.Action] = []
        for index in stride(from: 0, to: texts.count, by: 2) {
            // A server says which button was pressed, so a key stays as it is.
            guard !texts[index].unicodeScalars.contains(where: { $0.isActive || $0.isForInternalUse }) else {
                throw .invalidEvent(
                    "option 'actions' has the key '\(texts[index].quotable)'; a key has no control characters"
                )
            }
            guard !actions.contains(where: { $0.key.bytes == texts[index].bytes }) else {
                throw .invalidEvent("option 'actions' has the key '\(texts[index].quotable)' twice")
            }
            actions.append(Route.Action(key: texts[index], label: texts[index + 1]))
        }
        return actions
    }
}

extension Event {
    /// What the notification server gets beside the text: the route decides, and the event completes it.
    public var appearance: Appearance {
        guard !appearanceOptions.isEmpty else { return route.appearance }
        // The options were read when the event was accepted. Those of another version in a journal may not be valid
        // here.
        guard let own = try? Appearance(appearanceOptions) else { return route.appearance }
        return route.appearance.completed(by: own)
    }

    /// The urgency of a banner of this event alone: the publisher decides, and then the route. `nil`: none is sent.
    public var shownUrgency: Urgency? { urgency ?? route.appearance.urgency }

    /// Whether its banner has a button with this key.
    ///
    /// - Parameter firstID: the first id of this run. Earlier runs may have had another configuration, with buttons
    ///   that are unknown now; but `default`, which some servers report for a click on any banner, counts only where it
    ///   is known.
    func offers(_ action: String, firstID: EventID) -> Bool {
        if id < firstID, action != "default" { return true }
        return appearance.actions.contains { $0.key.bytes == action.bytes }
    }

    /// Whether its banner has buttons.
    public var hasButtons: Bool {
        !route.appearance.actions.isEmpty || !appearanceOptions.isEmpty && !appearance.actions.isEmpty
    }
}
