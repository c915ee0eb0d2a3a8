import NotifyText

/// The configured routes, found by topic. The most specific pattern wins: segment by segment from the left, a literal
/// beats a capture. A topic that no pattern matches gets the default route.
public struct RouteTable: Sendable {
    private struct Node: Sendable {
        var literals: [ByteString: Int] = [:]
        var capture: Int?
        var route: Route?
    }

    private var nodes = [Node()]
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
        let replaced = nodes[index].route
        nodes[index].route = route
        routes.removeAll { $0 === replaced }
        if let replaced { routesByName[replaced.name.bytes] = nil }
        routesByName[route.name.bytes] = route
        routes.append(route)
        return replaced
    }

    /// The route that applies to a topic.
    public func route(for topic: Topic) -> Route {
        find(topic.description.utf8.dropFirst(), from: 0) ?? fallback
    }

    /// The route for an event of an earlier run: the one with this name, or else the one that applies to its topic.
    public func route(named name: String, for topic: Topic) -> Route {
        name == fallback.name ? fallback : routesByName[name.bytes] ?? route(for: topic)
    }

    /// - Parameter segments: the rest of a topic, without the slash before it.
    private func find(_ segments: Substring.UTF8View, from index: Int) -> Route? {
        guard !segments.isEmpty else { return nodes[index].route }
        guard !nodes[index].literals.isEmpty || nodes[index].capture != nil else { return nil }
        let first = segments.prefix { $0 != UInt8(ascii: "/") }
        let rest = segments[first.endIndex...].dropFirst()
        if let literal = nodes[index].literals[Substring(first).bytes], let route = find(rest, from: literal) {
            return route
        }
        guard let capture = nodes[index].capture else { return nil }
        return find(rest, from: capture)
    }
}
