public import NotifyText

/// A rule for topics: whether there is a banner, its text, its window, its actions.
///
/// Routes are shared between the table and every event they apply to, and never change: a new configuration makes new ones.
public final class Route: Sendable {
    /// What "the same banner" means: events with equal keys share a window and a banner.
    public enum Coalescing: String, Sendable, CaseIterable {
        /// One banner per topic.
        case topic
        /// One banner for all topics of the route.
        case route
        /// One banner per event.
        case none
    }

    /// For whom a window stays open.
    public enum Wait: String, Sendable, CaseIterable {
        /// Any process on the bus has the full window to claim.
        case anyone
        /// Only screens that want to be asked: the window ends as soon as they have all passed, and at once without any.
        case screens
    }

    /// The type that a required field must have.
    public enum FieldType: String, Sendable, CaseIterable {
        /// Any D-Bus integer is an integer, and an integer or a double is a number.
        case string, integer, number, boolean
    }

    /// A button on the banner.
    public struct Action: Hashable, Sendable {
        /// What comes back in `ActionInvoked`.
        public let key: String
        /// What the user reads.
        public let label: String
        /// The command to run, as an argument vector; empty for none.
        public let command: [String]
        /// The desktop application whose action of the same key is activated, by its bus name.
        public let application: String?

        public init(key: String, label: String, command: [String] = [], application: String? = nil) {
            self.key = key
            self.label = label
            self.command = command
            self.application = application
        }

        public static func == (left: Action, right: Action) -> Bool {
            left.texts == right.texts
        }

        public func hash(into hasher: inout Hasher) {
            hasher.combine(texts)
        }

        private var texts: [ByteString?] {
            [key.bytes, label.bytes, application?.bytes] + command.map(\.bytes)
        }
    }

    /// What the notification server is told beside the text; see the Desktop Notifications Specification, "Hints".
    public struct Appearance: Hashable, Sendable {
        /// A name of the icon theme or a `file://` address; empty for none.
        public var icon = ""
        /// How pressing the banner is; `nil` says nothing.
        public var urgency: Urgency?
        /// The kind of notification, such as `im.received`.
        public var category: String?
        /// A name of the sound theme.
        public var sound: String?
        /// The name of an application's desktop file, without `.desktop`.
        public var desktopEntry: String?
        /// How long the banner stays up; `nil` leaves it to the server, zero means until it is closed.
        public var timeout: Duration?
        /// Whether the banner stays up when one of its buttons is pressed.
        public var resident = false
        /// The buttons, from the left.
        public var actions: [Action] = []

        public init() {}
    }

    /// `nil` for the default route, which takes every topic that no pattern matches.
    public let pattern: TopicPattern?
    /// Whether unclaimed events of this route become banners.
    public let banner: Bool
    /// Whether events of this route are the current value of their topic.
    public let retain: Bool
    /// How long claims are awaited, 0 to 60 s.
    public let window: Duration
    /// How long a stream of further events can keep a window open.
    public let maximumWindow: Duration
    /// For whom the window stays open.
    public let wait: Wait
    /// Which events share a window and a banner.
    public let coalescing: Coalescing
    /// Writes the text of banners; `nil` means the event's own title and body.
    public let wording: (any BannerWording)?
    /// What the notification server is told beside the text.
    public let appearance: Appearance
    /// How long an event of this route is worth showing.
    public let lifetime: Duration
    /// Fields an event must have, with their types, in the order of their names.
    public let required: [(name: String, type: FieldType)]

    /// What a route is called in logs and explanations.
    public var name: String { pattern?.description ?? "default" }

    public init(
        pattern: TopicPattern?, banner: Bool = true, retain: Bool = false, window: Duration,
        maximumWindow: Duration? = nil, wait: Wait = .anyone, coalescing: Coalescing = .topic,
        wording: (any BannerWording)? = nil,
        appearance: Appearance = Appearance(), lifetime: Duration = Limits.defaultLifetime,
        required: [(name: String, type: FieldType)] = []
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
        self.required = required
    }

    /// The window an event with this topic belongs to.
    func key(topic: Topic, event: EventID) -> CoalescingKey {
        switch coalescing {
        case .topic: .topic(topic)
        case .route: .route(name.bytes)
        case .none: .event(event)
        }
    }
}

extension Route.FieldType {
    /// Whether a value is of this type: an integer is any D-Bus integer, a number is an integer or a double.
    func admits(_ value: Value) -> Bool {
        switch (self, value) {
        case (.string, .string), (.boolean, .boolean), (.number, .double): true
        case (.integer, .uint64), (.number, .uint64): true
        case (.integer, _), (.number, _): value.integer != nil
        default: false
        }
    }
}

/// Writes the text of banners. It is part of the route, so an event keeps the wording of the route it came under.
public protocol BannerWording: Sendable {
    /// Whether the text itself says how many events the banner stands for.
    var mentionsCount: Bool { get }

    /// The text of a banner.
    ///
    /// - Parameters:
    ///   - event: the event that the banner speaks of.
    ///   - count: how many events the banner stands for.
    /// - Returns: plain text; `nil` means the event's own title or body.
    func text(of event: Event, count: Int) -> (title: String?, body: String?)
}

/// What events must have in common to share a window and a banner.
public enum CoalescingKey: Hashable, Sendable {
    /// All events of one topic.
    case topic(Topic)
    /// All events of a route, by its name.
    case route(ByteString)
    /// One event alone.
    case event(EventID)
    /// The one banner that a storm is folded into.
    case summary
}

extension CoalescingKey: CustomStringConvertible {
    /// The key in words, for explanations.
    public var description: String {
        switch self {
        case .topic(let topic): topic.description
        case .route(let name): "route \(name)"
        case .event(let id): "event \(id)"
        case .summary: "summary"
        }
    }
}

/// How pressing a banner is; see the Desktop Notifications Specification, "Urgency Levels".
public enum Urgency: UInt8, Sendable, CaseIterable {
    /// It can wait.
    case low = 0
    /// As most things are.
    case normal = 1
    /// It breaks through “do not disturb”.
    case critical = 2
}
