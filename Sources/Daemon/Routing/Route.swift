public import NotifyText

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

        public static func == (left: Action, right: Action) -> Bool { left.texts == right.texts }

        private var texts: [ByteString?] { [key.bytes, label.bytes, application?.bytes] + command.map(\.bytes) }
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
    /// Whether a banner reports events that a screen claimed when the user was away already.
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
    func admits(_ value: FieldValue) -> Bool {
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

/// The configured routes, found by topic. The most specific pattern wins: the one that names the most segments of the
/// topic, and of several, segment by segment from the left, a literal beats a capture. A topic that no pattern matches
/// gets the default route.
public struct RouteTable: Sendable {
    private struct Node: Sendable {
        var literals: [ByteString: Int] = [:]
        var capture: Int?
        var route: Route?
        /// The route of a pattern that ends in `/**` here.
        var routeBelow: Route?
    }

    private var nodes = [Node()]
    private var hasRoutesBelow = false
    /// Every route with a pattern, in the order of adding.
    public private(set) var routes: [Route] = []
    /// The route of topics that no pattern matches.
    public let fallback: Route
    private var routesByName: [ByteString: Route] = [:]

    public init(fallback: Route) {
        precondition(fallback.pattern == nil, "the default route has no pattern")
        self.fallback = fallback
    }

    /// Adds a route.
    ///
    /// - Returns: the route with the same pattern that it replaces.
    @discardableResult
    public mutating func add(_ route: Route) -> Route? {
        guard let pattern = route.pattern else { preconditionFailure("only the default route has no pattern") }
        var index = 0
        for part in pattern.shape {
            let next: Int?
            if let part { next = nodes[index].literals[part] } else { next = nodes[index].capture }
            if let next {
                index = next
                continue
            }
            nodes.append(Node())
            if let part {
                nodes[index].literals[part] = nodes.count - 1
            } else {
                nodes[index].capture = nodes.count - 1
            }
            index = nodes.count - 1
        }
        let slot = pattern.includesBelow ? \Node.routeBelow : \Node.route
        let replaced = nodes[index][keyPath: slot]
        nodes[index][keyPath: slot] = route
        if pattern.includesBelow { hasRoutesBelow = true }
        routes.removeAll { $0 === replaced }
        if let replaced { routesByName[replaced.name.bytes] = nil }
        routesByName[route.name.bytes] = route
        routes.append(route)
        return replaced
    }

    /// The route that applies to a topic.
    public func route(for topic: Topic) -> Route {
        var segments = topic.description.utf8.dropFirst()
        if let route = find(segments, from: 0, { $0.route ?? $0.routeBelow }) { return route }
        guard hasRoutesBelow else { return fallback }
        while !segments.isEmpty {
            segments = segments[..<(segments.lastIndex(of: UInt8(ascii: "/")) ?? segments.startIndex)]
            if let route = find(segments, from: 0, \.routeBelow) { return route }
        }
        return fallback
    }

    /// The route for an event of an earlier run: the one with this name, or else the one that applies to its topic.
    public func route(named name: String, for topic: Topic) -> Route {
        name == fallback.name ? fallback : routesByName[name.bytes] ?? route(for: topic)
    }

    /// - Parameters:
    ///   - segments: the rest of a topic, without the slash before it.
    ///   - route: the route of a node at their end.
    private func find(_ segments: Substring.UTF8View, from index: Int, _ route: (Node) -> Route?) -> Route? {
        guard !segments.isEmpty else { return route(nodes[index]) }
        guard !nodes[index].literals.isEmpty || nodes[index].capture != nil else { return nil }
        let first = segments.prefix { $0 != UInt8(ascii: "/") }
        let rest = segments[first.endIndex...].dropFirst()
        if let literal = nodes[index].literals[Substring(first).bytes], let found = find(rest, from: literal, route) {
            return found
        }
        guard let capture = nodes[index].capture else { return nil }
        return find(rest, from: capture, route)
    }
}
