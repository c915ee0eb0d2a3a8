import ArgumentParser
import ChildProcesses
import Routing
import StandardStreams

/// The routes of a configuration, from the output of “notifyd --print-routes”.
enum ConfiguredRoutes {
    /// - Throws: the daemon's exit code if the configuration is bad; this has printed the daemon's reason.
    static func read(_ file: String, with daemon: String) async throws -> RouteTable {
        let (code, lines) = try await Daemon.run(daemon, ["--print-routes", "--config", file])
        if code != 0 {
            StandardStreams.writeToError(lines.joined(separator: "\n") + "\n")
            throw ExitCode(code)
        }
        return try parse(lines)
    }

    /// The routes of the configuration on disk; `nil` if it cannot be read.
    static func present(with daemon: String? = nil) async -> RouteTable? {
        guard let daemon = try? daemon ?? Daemon.locate(),
            let (code, lines) = try? await Daemon.run(daemon, ["--print-routes"], within: .seconds(10)), code == 0
        else { return nil }
        return try? parse(lines)
    }

    /// The routes with `break_through` in the configuration on disk that apply at or below a topic. Empty if it cannot
    /// be read.
    static func breakingThrough(at topic: String) async -> [String] {
        guard let table = await present(), let names = try? breakingThrough(at: topic, in: table) else { return [] }
        return names
    }

    static func breakingThrough(at topic: String, in table: RouteTable) throws(TopicError) -> [String] {
        if topic == "/" { return table.routes.filter(\.breaksThrough).compactMap { $0.pattern?.description } }
        let route = table.route(for: try Topic(topic))
        return table.routes.filter(\.breaksThrough).compactMap { candidate in
            candidate.pattern.map(\.description).flatMap { candidate === route || isBelow(topic, $0) ? $0 : nil }
        }
    }

    /// Whether a pattern matches topics below a topic.
    private static func isBelow(_ topic: String, _ pattern: String) -> Bool {
        let (own, segments) = (topic.split(separator: "/"), pattern.split(separator: "/"))
        let named = segments.last == "**" ? segments.dropLast() : segments[...]
        return (segments.count > own.count || named.count < segments.count)
            && zip(own, named).allSatisfy { $1.hasPrefix("{") || $0.utf8.elementsEqual($1.utf8) }
    }

    /// Reads lines of tab-separated `key=value`; other keys do not affect windows.
    ///
    /// `wait` is ignored: the history does not tell which screens were asked.
    static func parse(_ lines: [String]) throws -> RouteTable {
        var fallback = Route(pattern: nil, window: .milliseconds(100))
        var routes: [Route] = []
        for line in lines {
            var settings: [Substring: Substring] = [:]
            for entry in line.split(separator: "\t") {
                guard let sign = entry.firstIndex(of: "=") else { throw strange(line) }
                settings[entry[..<sign]] = entry[entry.index(after: sign)...]
            }
            guard let window = settings["window"].flatMap({ Int64($0) }),
                let longest = settings["max_window"].flatMap({ Int64($0) }),
                let coalescing = settings["coalesce"].flatMap({ Route.Coalescing(rawValue: String($0)) })
            else { throw strange(line) }
            let route = Route(
                pattern: try settings["topic"].map { try TopicPattern(String($0), allowsBelow: true) },
                banner: settings["banner"] != "false",
                window: .microseconds(window), maximumWindow: .microseconds(longest), coalescing: coalescing,
                lifetime: Limits.maximumLifetime,
                breaksThrough: settings["break_through"] == "true")
            if route.pattern == nil { fallback = route } else { routes.append(route) }
        }
        var table = RouteTable(fallback: fallback)
        for route in routes { table.add(route) }
        return table
    }

    private static func strange(_ line: String) -> ProcessError {
        ProcessError("notifyd printed a route that cannot be read: \(Terminal.plain(line))")
    }
}
