import NotifyText

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
