import NotifyText
import Routing

/// Replays recorded events and claims with other windows, with the daemon's own rules in virtual time.
///
/// Without a configuration the routes are reconstructed from the windows and coalescing keys of the events. The
/// notification server replies at once, and there is no limit of banners per second.
struct Simulation {
    struct Result: Hashable, Sendable {
        /// Events that were shown, alone or together with others.
        var shown: Set<UInt64> = []
        /// Events that were claimed before they were shown.
        var claimed: Set<UInt64> = []
        /// The number of banners; one that is updated in place counts once.
        var banners = 0
    }

    private enum Act {
        case publish(ReplayEvent)
        case claim(ReplayEvent, ReplayEvent.Claim)
    }

    private let window: Duration?
    /// Whether events keep the windows they were recorded with.
    private let keepsWindows: Bool
    /// The routes under which the events were recorded; `nil`: unknown, so that no window is taken for a publisher's.
    private let present: RouteTable?
    private var router: Router
    private var result = Result()
    private var ids: [UInt64: EventID] = [:]
    private var recorded: [EventID: UInt64] = [:]
    private var timer: Instant?
    private var lastBanner: UInt32 = 0
    private var inbox: [Happening] = []

    /// - Parameters:
    ///   - routes: replace the reconstructed routes; they also set the windows of events whose publishers set none.
    ///   - present: the routes under which the events were recorded, if they are known.
    ///   - window: replaces all windows.
    static func run(
        _ pushes: [ReplayEvent], routes: RouteTable? = nil, present: RouteTable? = nil, window: Duration? = nil
    ) throws -> Result {
        let pushes = try pushes.filter { try $0.isAwaited(by: routes) }
        var simulation = Simulation(
            window: window, keepsWindows: routes == nil, present: present,
            router: Router(
                routes: try routes ?? Simulation.routes(of: pushes, window),
                banners: BannerSettings(maximumPerSecond: 0), firstID: EventID(1)))
        return try simulation.play(pushes)
    }

    private static func routes(of pushes: [ReplayEvent], _ window: Duration?) throws -> RouteTable {
        var latest: [ByteString: ReplayEvent] = [:]
        for push in pushes { latest[push.route.bytes] = push }
        func route(_ push: ReplayEvent?, _ pattern: TopicPattern?) -> Route {
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

    private mutating func play(_ pushes: [ReplayEvent]) throws -> Result {
        guard let start = pushes.map(\.time).min() else { return result }
        // At the same time an event comes before its claims; otherwise the order is that of publishing.
        var acts: [(time: Int64, rank: Int, act: Act)] = []
        for push in pushes {
            acts.append((push.time - start, 0, .publish(push)))
            for claim in push.claims {
                acts.append((push.time - start + claim.after.microseconds, 1, .claim(push, claim)))
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
            case .claim(let push, let claim):
                if let id = ids[push.id] { feed(.claimed(id, by: claim.by), at: now) }
            }
        }
        fireTimers { _ in true }
        return result
    }

    private mutating func publish(_ push: ReplayEvent, at now: Instant) throws {
        var options = PublishOptions()
        options.window =
            if let window { window } else if keepsWindows { push.window } else {
                try present.flatMap { try push.publishersWindow(under: $0) }
            }
        let publication = Publication(
            topic: try Topic(push.topic), title: "", body: "", options: options, sender: push.sender)
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
            inbox.append(.bannerSent(request.call))
            inbox.append(.bannerShown(request.call, request.replaces ?? BannerID(lastBanner)))
        case .closeBanner(let id): inbox.append(.bannerClosed(id, .other))
        case .armTimer(let moment, _): timer = moment ?? timer
        case .announce, .relayAction, .noteClaim, .remove, .read, .keepAwaited, .dropAwaited, .screensChanged,
            .markRead, .countDigests, .startServer, .keepBanner, .changed:
            break
        }
    }
}
