/// How the banner of one event looks. Where the route of the event says something else, the route decides.
///
/// A text has at most 256 bytes. See the Desktop Notifications Specification, "Hints".
public struct BannerOptions: Hashable, Sendable {
    /// A button. A press is announced by `ActionInvoked`; see
    /// ``NotifyClient/actions(at:bufferingAtMost:)-([String],_)``.
    public struct Button: Hashable, Sendable {
        /// What the press is announced as.
        public var key: String
        /// The text on the button.
        public var label: String

        public init(key: String, label: String) {
            self.key = key
            self.label = label
        }
    }

    /// The name of the application that the event belongs to.
    public var app: String?
    /// A name of the icon theme, the absolute path of a file, or a `file://` address.
    public var icon: String?
    /// A picture: the absolute path of a file, or a `file://` address.
    public var image: String?
    /// The kind of notification, such as `im.received`.
    public var category: String?
    /// A name of the sound theme.
    public var sound: String?
    /// The name of the application's desktop file, without `.desktop`.
    public var desktopEntry: String?
    /// How long the banner stays up; whole milliseconds, at most 24 h; zero: until it is closed.
    public var timeout: Duration?
    /// Whether the notification server keeps no record of the banner.
    public var isTransient: Bool?
    /// Whether the banner stays up when one of its buttons is pressed.
    public var isResident: Bool?
    /// A progress in percent, 0 to 100.
    public var progress: Int?
    /// At most 8 buttons, from the left.
    public var buttons: [Button]

    public init(
        app: String? = nil, icon: String? = nil, image: String? = nil, category: String? = nil, sound: String? = nil,
        desktopEntry: String? = nil, timeout: Duration? = nil, isTransient: Bool? = nil, isResident: Bool? = nil,
        progress: Int? = nil, buttons: [Button] = []
    ) {
        self.app = app
        self.icon = icon
        self.image = image
        self.category = category
        self.sound = sound
        self.desktopEntry = desktopEntry
        self.timeout = timeout
        self.isTransient = isTransient
        self.isResident = isResident
        self.progress = progress
        self.buttons = buttons
    }

    /// The options for the call `Publish`.
    func values() throws(NotifyError) -> [String: Value] {
        var values: [String: Value] = [:]
        values["app"] = app.map(Value.string)
        values["icon"] = icon.map(Value.string)
        values["image"] = image.map(Value.string)
        values["category"] = category.map(Value.string)
        values["sound"] = sound.map(Value.string)
        values["desktop-entry"] = desktopEntry.map(Value.string)
        values["timeout"] = try timeout?.argument(in: .milliseconds(1), "A banner stays up for 0 seconds to 24 hours.")
        values["transient"] = isTransient.map(Value.boolean)
        values["resident"] = isResident.map(Value.boolean)
        values["progress"] = progress.map { .int64(Int64($0)) }
        if !buttons.isEmpty {
            values["actions"] = .array(buttons.flatMap { [.string($0.key), .string($0.label)] }, of: .string)
        }
        return values
    }
}
