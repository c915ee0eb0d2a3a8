import ArgumentParser
import NotifyClient
import NotifyText
import Routing
import StandardStreams

/// Replays recorded events and claims with other windows, with the daemon's own rules in virtual time.
///
/// Without a configuration the routes are reconstructed from the windows and coalescing keys of the events. The
/// notification server replies at once, and there is no limit of banners per second.
struct Simulation {
    struct Result: Hashable, Sendable {
        /// Events that were shown, alone or together with others.
        var shown: Set<EventID> = []
        /// Events that were claimed before they were shown.
        var claimed: Set<EventID> = []
        /// The number of banners; one that is updated in place counts once.
        var banners = 0
    }

    private enum Act {
        case publish(Explanation)
        case claim(EventID, by: String)
    }

    private let window: Duration?
    /// Whether events keep the windows they were recorded with.
    private let keepsWindows: Bool
    /// The routes under which the events were recorded; `nil`: unknown, so that no window is taken for a publisher's.
    private let present: RouteTable?
    private var router: Routing.Router
    private var result = Result()
    /// By the recorded ids.
    private var ids: [EventID: EventID] = [:]
    private var recorded: [EventID: EventID] = [:]
    private var timer: Instant?
    private var lastBanner: UInt32 = 0
    private var inbox: [Happening] = []

    /// - Parameters:
    ///   - routes: replace the reconstructed routes; they also set the windows of events whose publishers set none.
    ///   - present: the routes under which the events were recorded, if they are known.
    ///   - window: replaces all windows.
    static func run(
        _ pushes: [Explanation], routes: RouteTable? = nil, present: RouteTable? = nil, window: Duration? = nil
    ) throws -> Result {
        let pushes = try pushes.filter { try $0.isAwaited(by: routes) }
        var simulation = Simulation(
            window: window, keepsWindows: routes == nil, present: present,
            router: Routing.Router(
                routes: try routes ?? Simulation.routes(of: pushes, window),
                banners: BannerSettings(maximumPerSecond: 0), firstID: EventID(1)))
        return try simulation.play(pushes)
    }

    private static func routes(of pushes: [Explanation], _ window: Duration?) throws -> RouteTable {
        var latest: [ByteString: Explanation] = [:]
        for push in pushes { latest[push.route.bytes] = push }
        func route(_ push: Explanation?, _ pattern: TopicPattern?) -> Route {
            let coalescing: Route.Coalescing =
                switch push {
                case let push? where push.key.hasPrefix("route "): .route
                case let push? where push.key.hasPrefix("event ") || push.key.hasPrefix("collapse "): .none
                default: .topic
                }
            return Route(
                pattern: pattern, window: window ?? push?.window ?? .milliseconds(100), coalescing: coalescing,
                lifetime: Limits.maximumLifetime)
        }
        var table = RouteTable(fallback: route(latest["default"], nil))
        for (name, push) in latest.sorted(by: { $0.key < $1.key }) where name != "default" {
            table.add(route(push, try TopicPattern(name.description, allowsBelow: true)))
        }
        return table
    }

    private mutating func play(_ pushes: [Explanation]) throws -> Result {
        guard let start = pushes.map(\.start).min() else { return result }
        // At the same time an event comes before its claims; otherwise the order is that of publishing.
        var acts: [(time: Int64, rank: Int, act: Act)] = []
        for push in pushes {
            acts.append((push.start - start, 0, .publish(push)))
            for claim in push.effectiveClaims {
                // A claim without a latency says nothing about a window.
                guard let after = claim.after else { continue }
                acts.append((push.start - start + after.microseconds, 1, .claim(push.id, by: claim.by)))
            }
        }
        let order = acts.indices.sorted { (acts[$0].time, acts[$0].rank, $0) < (acts[$1].time, acts[$1].rank, $1) }
        feed(.server(.ready), at: Instant(microseconds: 0))
        for index in order {
            let now = Instant(microseconds: acts[index].time)
            // Inputs are handled before timers: a claim at the deadline is in time.
            fireTimers { $0 < now }
            switch acts[index].act {
            case .publish(let push): try publish(push, at: now)
            case .claim(let id, let claimant):
                if let id = ids[id] { feed(.claimed(id, by: claimant), at: now) }
            }
        }
        fireTimers { _ in true }
        return result
    }

    private mutating func publish(_ push: Explanation, at now: Instant) throws {
        var options = Routing.PublishOptions()
        options.window =
            if let window { window } else if keepsWindows { push.window } else {
                try present.flatMap { try push.publishersWindow(under: $0) }
            }
        let publication = Publication(
            topic: try Topic(push.topic), title: "", body: "", options: options, sender: push.sender ?? "")
        if case .success(.accepted(let id)) = feed(.published(publication), at: now) {
            ids[push.id] = id
            recorded[id] = push.id
        }
    }

    private mutating func fireTimers(_ isDue: (Instant) -> Bool) {
        while let due = timer, isDue(due) {
            timer = nil
            feed(.timerFired, at: due)
        }
    }

    @discardableResult
    private mutating func feed(_ call: Call, at now: Instant) -> Swift.Result<Reply, Refusal> {
        let (reply, effects) = router.handle(call, at: Self.now(now))
        perform(effects, at: now)
        return reply
    }

    private mutating func feed(_ happening: Happening, at now: Instant) {
        perform(router.handle(happening, at: Self.now(now)), at: now)
    }

    private static func now(_ instant: Instant) -> Now {
        Now(instant: instant, uptime: Uptime(microseconds: instant.microseconds))
    }

    private mutating func perform(_ effects: [Effect], at now: Instant) {
        for effect in effects { perform(effect) }
        while !inbox.isEmpty { feed(inbox.removeFirst(), at: now) }
    }

    private mutating func perform(_ effect: Effect) {
        switch effect {
        case .resolve(let id, _, let resolution):
            guard let id = recorded[id] else { return }
            switch resolution.outcome {
            case .claimed: result.claimed.insert(id)
            case .shown, .retracted: result.shown.insert(id)
            case .dismissed, .silent, .muted, .expired, .withdrawn, .replaced: break
            }
        case .showBanner(let request):
            if request.replaces == nil { result.banners += 1 }
            lastBanner += 1
            inbox.append(.banner(request.call, .sent))
            inbox.append(.banner(request.call, .shown(request.replaces ?? BannerID(lastBanner))))
        case .keepBanner(.closed(let id)): inbox.append(.bannerClosed(id, .other))
        case .armTimer(let moment, _): timer = moment ?? timer
        case .announce, .relayAction, .noteClaim, .remove, .read, .awaited, .screensChanged,
            .countDigests, .startServer, .keepBanner, .changed:
            break
        }
    }
}

/// What a replay needs of a recorded event.
extension Explanation {
    /// Whether the window affected the outcome.
    fileprivate var wasAwaited: Bool { [.claimed, .shown, .retracted, .dismissed].contains(outcome) }

    /// Whether the window affects the outcome with other routes: a muted event takes part if its route breaks through.
    fileprivate func isAwaited(by routes: RouteTable?) throws -> Bool {
        guard outcome == .muted, let routes else { return wasAwaited }
        return routes.route(for: try Topic(topic)).breaksThrough
    }

    /// The window that its publisher set, as far as the record tells: the one that it had, if that is not the window of
    /// its route. A route that waits for screens only may have closed a window of 0 at once, so that 0 says nothing.
    ///
    /// - Parameter routes: the configuration under which it was recorded.
    func publishersWindow(under routes: RouteTable) throws -> Duration? {
        let ofRoute = routes.route(named: route, for: try Topic(topic)).window
        // An earlier event had opened the window, so that `max_window` may have cut it short.
        let hasJoined = (opened ?? .max) < start - 1000
        if window == .zero || window == ofRoute || hasJoined && window < ofRoute { return nil }
        return window
    }

    /// From publishing to the claim that counted.
    fileprivate var latency: Duration? { effectiveClaims.filter(isOfUse).compactMap(\.after).min() }

    /// The same for the claim that answered the event; `nil` if it was claimed only later, by a screen or by hand.
    fileprivate var answerLatency: Duration? { answers.compactMap(\.after).min() }
}

/// The differences that another window or configuration would have made.
struct ReplayReport {
    private let events: [Explanation]
    private let window: Duration?
    private let before: Simulation.Result
    private let after: Simulation.Result

    /// - Parameters:
    ///   - routes: those of another configuration; `nil`: those of the record.
    ///   - present: those under which the events were recorded; `nil`: unknown.
    ///   - window: for all events; `nil`: what publishers and routes say.
    init(
        _ events: [Explanation], routes: RouteTable? = nil, present: RouteTable? = nil, window: Duration?
    ) throws {
        self.events = try events.filter { try $0.isAwaited(by: routes) }
        self.window = window
        before = try Simulation.run(events)
        after = try Simulation.run(events, routes: routes, present: present, window: window)
    }

    /// Events that would have been shown and were not.
    var more: [Explanation] { events.filter { after.shown.contains($0.id) && !before.shown.contains($0.id) } }
    /// Events that were shown and would not have been.
    var fewer: [Explanation] { events.filter { before.shown.contains($0.id) && !after.shown.contains($0.id) } }
    var latencies: Latencies { Latencies(events.compactMap(\.answerLatency)) }

    /// How many events had the recorded outcome in a replay with the recorded windows.
    private var agreeing: Int { awaited.count { before.claimed.contains($0.id) == ($0.outcome == .claimed) } }
    /// The events without those that were muted and would not be.
    private var awaited: [Explanation] { events.filter(\.wasAwaited) }

    var text: String {
        let inTime = events.count { $0.outcome == .claimed }
        let late = events.count { $0.outcome != .claimed && $0.latency != nil }
        var lines = [
            "\(events.count) events with a window: \(inTime) claimed in time, \(late) claimed later, "
                + "\(events.count - inTime - late) not claimed.", "",
            "                    as it was  with " + (window?.shortText ?? "it"),
            row("banners", before.banners, after.banners), row("events shown", before.shown.count, after.shown.count),
            row("claimed in time", before.claimed.count, after.claimed.count),
        ]
        lines += list("Would have been shown:", more) + list("Would not have been shown:", fewer)
        if latencies.count > 0 {
            lines.append("")
            for percent in [95, 99] {
                let window = latencies.windowText(catching: percent)
                lines.append("The smallest window that would have caught \(percent) of 100 claims: \(window)")
            }
        }
        if agreeing < awaited.count {
            lines += [
                "",
                "Played with its own windows, the record comes out as it was for \(agreeing) of \(awaited.count) "
                    + "events; routes that wait for screens only, holds that were not confirmed, snoozes, banners that "
                    + "waited for a notification server, and restarts are not replayed.",
            ]
        }
        return lines.joined(separator: "\n")
    }

    private func row(_ name: String, _ before: Int, _ after: Int) -> String {
        "  " + name + "\(before)".padded(to: 27 - name.count) + "\(after)".padded(to: 11)
    }

    private func list(_ title: String, _ events: [Explanation]) -> [String] {
        if events.isEmpty { return [] }
        let lines = events.prefix(20).map { event in
            "  \(event.id)  \(Terminal.plain(event.topic))"
                + (event.latency.map { "  claimed after \($0.displayText)" } ?? "  not claimed")
        }
        return ["", Terminal.bold(title)] + lines + (events.count > 20 ? ["  … and \(events.count - 20) more"] : [])
    }

    var json: JSON {
        func counts(_ result: Simulation.Result) -> JSON {
            ["banners": result.banners, "shown": result.shown.count, "claimed": result.claimed.count]
        }
        return .object(
            JSON.members([
                "events": events.count, "window": window.map(JSON.milliseconds), "before": counts(before),
                "after": counts(after), "more": more.map(\.id), "fewer": fewer.map(\.id), "latency": latencies.json,
                "agreeing": agreeing,
            ]) + latencies.windows)
    }
}

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
            let settings = ProcessFacts.variables(line.split(separator: "\t").map(String.init))
            guard let window = settings["window"].flatMap({ Int64($0) }),
                let longest = settings["max_window"].flatMap({ Int64($0) }),
                let coalescing = settings["coalesce"].flatMap(Route.Coalescing.init(rawValue:))
            else {
                throw ProcessError("notifyd printed a route that cannot be read: \(Terminal.plain(line))")
            }
            let route = Route(
                pattern: try settings["topic"].map { try TopicPattern($0, allowsBelow: true) },
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
}
