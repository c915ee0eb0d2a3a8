import NotifyText

/// A rule for topics: whether there is a banner, its text, its window, its actions.
///
/// Routes are immutable, and shared by the table and their events. A new configuration makes new routes.
public final class Route: Sendable {
    /// Which events share a window and a banner.
    public enum Coalescing: String, Sendable, CaseIterable {
        /// One banner per topic.
        case topic
        /// One banner for all topics of the route.
        case route
        /// One banner per event.
        case none
    }

    /// Whose claims a window waits for.
    public enum Wait: String, Sendable, CaseIterable {
        /// Any process on the bus: it always has the full window.
        case anyone
        /// Only asking screens: the window ends when all have passed, and at once without any.
        case screens
    }

    /// The type that a required field must have.
    public enum FieldType: String, Sendable, CaseIterable {
        /// `integer` is any D-Bus integer; `number` is an integer or a double.
        case string, integer, number, boolean
    }

    /// A button on the banner.
    public struct Action: Equatable, Sendable {
        /// The key in `ActionInvoked`.
        public let key: String
        /// The text on the button.
        public let label: String
        /// The command to run as an argument vector; empty for none.
        public let command: [String]
        /// The bus name of a desktop application whose action with the same key is activated.
        public let application: String?

        public init(key: String, label: String, command: [String] = [], application: String? = nil) {
            self.key = key
            self.label = label
            self.command = command
            self.application = application
        }

        /// The same button with another text.
        package func labelled(_ label: String) -> Action {
            Action(key: key, label: label, command: command, application: application)
        }

        public static func == (left: Action, right: Action) -> Bool {
            left.texts == right.texts
        }

        private var texts: [ByteString?] {
            [key.bytes, label.bytes, application?.bytes] + command.map(\.bytes)
        }
    }

    /// `nil` for the default route, for topics that no pattern matches.
    public let pattern: TopicPattern?
    /// Whether unclaimed events of this route become banners.
    public let banner: Bool
    /// Whether events of this route become the current value of their topic.
    public let retain: Bool
    /// How long claims are awaited, 0 to 60 s.
    public let window: Duration
    /// How long further events can keep a window open.
    public let maximumWindow: Duration
    /// Whose claims the window waits for.
    public let wait: Wait
    /// Which events share a window and a banner.
    public let coalescing: Coalescing
    /// Writes the text of banners; `nil` means the event's own title and body.
    public let wording: (any BannerWording)?
    /// Icon, urgency, buttons and other hints of its banners.
    public let appearance: Appearance
    /// The lifetime of events.
    public let lifetime: Duration
    /// Whether its banners appear whatever is quiet.
    public let breaksThrough: Bool
    /// Whether a banner tells of events that a screen claimed when the user was away already.
    public let rescues: Bool
    /// Fields an event must have, with their types, in the order of their names.
    public let required: [(name: String, type: FieldType)]

    /// The name in logs and explanations.
    public var name: String { pattern?.description ?? "default" }

    public init(
        pattern: TopicPattern?, banner: Bool = true, retain: Bool = false, window: Duration,
        maximumWindow: Duration? = nil, wait: Wait = .anyone, coalescing: Coalescing = .topic,
        wording: (any BannerWording)? = nil,
        appearance: Appearance = Appearance(), lifetime: Duration = Limits.defaultLifetime,
        breaksThrough: Bool = false, rescues: Bool = false, required: [(name: String, type: FieldType)] = []
    ) {
        self.pattern = pattern
        self.banner = banner
        self.retain = retain
        self.window = window
        self.maximumWindow = maximumWindow ?? window * 5
        self.wait = wait
        self.coalescing = coalescing
        self.wording = wording
        self.appearance = appearance
        self.lifetime = lifetime
        self.breaksThrough = breaksThrough
        self.rescues = rescues
        self.required = required
    }

}

extension Route.FieldType {
    /// Whether a value has this type.
    func admits(_ value: Value) -> Bool {
        switch (self, value) {
        case (.string, .string), (.boolean, .boolean), (.number, .double): true
        case (.integer, .uint64), (.number, .uint64): true
        case (.integer, _), (.number, _): value.integer != nil
        default: false
        }
    }
}

/// Writes the text of banners. It belongs to the route, so an event keeps the wording of the route under which it was
/// accepted.
public protocol BannerWording: Sendable {
    /// Whether the text contains the number of events.
    var mentionsCount: Bool { get }

    /// Whether the text has a part for each of several events.
    var listsEvents: Bool { get }

    /// The text of a banner.
    ///
    /// - Parameters:
    ///   - event: the newest event of the banner.
    ///   - others: some events behind it, newest first.
    ///   - count: how many events are behind the banner.
    /// - Returns: plain text; `nil`: the event's own title or body.
    func text(of event: Event, others: [Event], count: Int) -> (title: String?, body: String?)
}

/// The urgency of a banner; see the Desktop Notifications Specification, "Urgency Levels".
public enum Urgency: UInt8, Sendable, CaseIterable {
    case low = 0
    case normal = 1
    /// Shown in spite of “do not disturb”.
    case critical = 2
}
