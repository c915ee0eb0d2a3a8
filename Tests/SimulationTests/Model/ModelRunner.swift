@testable import Routing

/// Why a script failed: what was done, and where the two routers part or which promise was broken.
struct Disagreement: Error, CustomStringConvertible {
    let step: Int
    let description: String
}

/// The journal of a script: what a snooze of a muted event finds.
private struct MutedEvent: EventReader {
    let cold: ColdEvent?

    func event(_ id: EventID) -> ColdEvent? { cold }
}

/// Runs a script through both routers, with a clock, timers and a notification server that are all of its own making.
struct ModelRunner {
    struct Call {
        let id: BannerCall
        let reference: BannerCall
        let replaces: BannerID?
    }

    private static let firstID = EventID(1000)
    /// To look through all tables takes long where nothing is optimised.
    private static let stepsBetweenChecks = _isDebugAssertConfiguration() ? 4 : 1

    var router: Router
    var reference: ReferenceRouter
    var ledger = Ledger()
    var step = -1
    var loaded: [Int]
    var longestOwnWindow = Duration.zero

    // The clocks, and what the router asked to be woken for.
    var now: Int64 = 1_000_000
    var slept: Int64 = 0
    var armed: Instant?
    var armedLifetime: Uptime?

    // The notification server.
    var isPrompt = true
    var calls: [Call] = []
    /// Whether calls leave at the end of each step, and those that have not left.
    var callsLeave = true
    var unsent: [(call: Call, request: BannerRequest)] = []
    var stale: [Call] = []
    var lastNumber: UInt32 = 0
    var up: [BannerID] = []

    var events: [Int: EventID] = [:]
    /// Muted events, which the shell loads from the journal, and when they were accepted.
    private var muted: [EventID: (event: Event, accepted: Instant)] = [:]
    private var announced: [EventID: (event: Event, accepted: Instant)] = [:]
    var screens: [Int: ScreenID] = [:]
    private var isCountAwaited = false

    init(_ setup: Setup) {
        let configuration = World.configurations[setup.configuration]
        loaded = [setup.configuration]
        router = Router(
            routes: World.tables[setup.configuration], banners: configuration.banners,
            screens: configuration.screens, limits: setup.limits, firstID: Self.firstID)
        reference = ReferenceRouter(configuration, limits: setup.limits, firstID: Self.firstID)
    }

    /// - Returns: what is wrong with the script's run, if anything is, and what happened in it.
    static func run(_ script: Script) -> (failure: Disagreement?, statistics: Statistics) {
        var runner = ModelRunner(script.setup)
        let failure = runner.run(script)
        return (failure, runner.router.statistics)
    }

    private mutating func run(_ script: Script) -> Disagreement? {
        do {
            if script.setup.serverIsThere { try take(.serverAppears) }
            for (index, next) in script.steps.enumerated() {
                step = index
                try take(next)
                if index % Self.stepsBetweenChecks == 0 { try checkTables() }
            }
            step = script.steps.count
            try checkTables()
            try drain()
            return nil
        } catch {
            return error
        }
    }

    // MARK: Steps

    mutating func take(_ step: Step) throws(Disagreement) {
        switch step {
        case .publish(let label, let topic, let peer, let extras):
            longestOwnWindow = max(longestOwnWindow, extras.window ?? .zero)
            let before = unsent.count
            let observed = try both(.published(extras.publication(at: topic, by: peer)))
            guard case .reply(.accepted(let id)) = observed.first else { break }
            events[label] = id
            // A repeat was kept when it came first.
            guard observed.count > 1 else { break }
            if extras.isNotKept { try drop(id, callsBefore: before) } else { try both(.stored(except: [])) }
        case .claim(let label, let peer): try both(.claimed(event(label), by: peer))
        case .claimNamed(let name, let kind, let time, let peer):
            try both(namedClaim(name, kind, time, by: peer))
        case .hold(let label, let time, let peer): try both(.claimedProvisionally(event(label), within: time, by: peer))
        case .complete(let label, let peer): try both(.answered(event(label), .completed, by: peer))
        case .release(let label, let peer): try both(.answered(event(label), .released, by: peer))
        case .pass(let label, let peer): try both(.answered(event(label), .passed, by: peer))
        case .withdraw(let label, let peer): try both(.withdrawn(event(label), by: peer))
        case .claimTopic(let topic, let grace, let peer): try both(.topicClaimed(topic, .grace(grace), by: peer))
        case .markRead(let topic, let label, let peer):
            try both(.topicClaimed(topic, .read(upTo: label.map(event) ?? EventID(0)), by: peer))
        case .forget(let label): try both(.forgotten([event(label)]))
        case .openScreen(let label, let topic, let options, let peer):
            let replies = try both(.screenOpened(topic, options, by: peer))
            if case .reply(.screen(let id)) = replies.first { screens[label] = id }
        case .updateScreen(let label, let options, let peer): try both(.screenChanged(screen(label), options, by: peer))
        case .closeScreen(let label, let peer): try both(.screenChanged(screen(label), nil, by: peer))
        case .peerLeaves(let peer): try both(.peer(peer, .left))
        case .identify(let peer, let program, let hasLeft):
            try both(.peer(peer, .identified(as: program.map { "p\($0)" }, hasLeft: hasLeft)))
        case .watched(let flag): try both(.attentionChanged(isWatched: flag))
        case .paused(let flag): try both(.quieted(nil, for: flag ? .zero : nil))
        case .desktop(let flag): try both(.desktopQuiet(flag))
        case .pause(let time): try both(.quieted(nil, for: time))
        case .schedules(let active):
            let uptime = Uptime(microseconds: now + slept)
            try both(
                .scheduled(
                    active.map {
                        ActiveSchedule(
                            ActiveSchedule.Period($0.topic, began: $0.began), ends: uptime + $0.length,
                            hasDigest: $0.hasDigest)
                    }))
        case .countDigests(let count): try countDigests(count)
        case .mute(let topic, let time): try both(.quieted(topic, for: time))
        case .snooze(let label, let time, let peer):
            let id = event(label)
            let loaded = router.remembers(id) ? nil : muted[id]
            reference.muted = loaded.map { ($0.event, moment.instant - $0.accepted) }
            let cold = reference.muted.map { ColdEvent($0.event, age: $0.age, .unseen(.muted)) }
            try both(.snoozed(id, for: time, by: peer), reading: MutedEvent(cold: cold))
        case .reconfigure(let index): try reconfigure(index)
        case .serverAppears, .serverVanishes, .serverIsPrompt, .callsLeave, .answer, .answerStale, .closeBanner, .press:
            try takeServer(step)
        case .wait(let time): try advance(by: time.microseconds)
        case .stall(let time): now += time.microseconds
        case .sleep(let time): slept += time.microseconds
        case .untilDue:
            if let due = nextArmed, due > now { now = due }
        case .fire: try fire()
        }
        try serve()
    }

    private func namedClaim(
        _ name: Step.Naming, _ kind: NamedClaim.Kind, _ left: Duration?, by peer: String
    ) -> Routing.Call {
        func claim(_ name: EventName, _ origin: Origin, event: EventID? = nil) -> Routing.Call {
            let place = ClaimPlace(device: "the device of \(peer)", via: kind == .read ? nil : "line")
            return .claimedNamed(
                NamedClaim(name: name, origin: origin, kind: kind, claimant: peer, place: place, left: left),
                event: event)
        }
        func own(_ id: EventID, event: EventID? = nil) -> Routing.Call {
            claim(.own(id), Origin(source: "here", eventID: "\(id)"), event: event)
        }
        switch name {
        case .global(let number):
            let origin = Step.Naming.origin(number)
            return claim(.origin(origin), origin)
        case .event(let label): return own(event(label), event: event(label))
        case .next: return own(EventID(router.lastID.rawValue + 1))
        }
    }

    private mutating func countDigests(_ count: Step.Count) throws(Disagreement) {
        guard isCountAwaited else { return }
        let before = unsent.count
        var result = DigestCount.Result.none
        switch count {
        case .none, .outdated: break
        case .quiet: result = .quiet
        case .found, .unkept:
            var options = PublishOptions()
            options.collapse = "digest"
            result = .found(
                Publication(topic: DigestTally.topic, title: "digest", body: "", options: options, sender: ":1.0"))
        }
        isCountAwaited = false
        let observed = try both(.digestsCounted(DigestCount(count == .outdated ? [] : router.dueDigests, result)))
        guard case .reply(.accepted(let id)) = observed.first else { return }
        if count == .unkept { try drop(id, callsBefore: before) } else { try both(.stored(except: [])) }
    }

    /// The shell does not make the calls of a turn that could not be kept, and says so.
    private mutating func drop(_ id: EventID, callsBefore: Int) throws(Disagreement) {
        let unmade = unsent[callsBefore...]
        unsent.removeSubrange(callsBefore...)
        ledger.drop(id)
        muted[id] = nil
        try both(.stored(except: [id]))
        for (call, _) in unmade { try fail(call, .notAsked) }
    }

    private func event(_ label: Int) -> EventID { events[label] ?? EventID(1) }
    private func screen(_ label: Int) -> ScreenID { screens[label] ?? ScreenID(1) }

    private func checkTables() throws(Disagreement) {
        // Who opened a window, and under which configuration, may be forgotten by now.
        let broken = router.brokenPromise { topic in
            max(longestOwnWindow, loaded.map { World.tables[$0].route(for: topic).maximumWindow }.max()!)
        }
        if let broken {
            throw Disagreement(step: step, description: "at \(now) µs, after the step: \(broken)")
        }
    }

    // MARK: Comparing

    /// What was handed in.
    enum Input {
        case call(Routing.Call)
        case happening(Happening)
    }

    @discardableResult
    mutating func both(
        _ call: Routing.Call, reading reader: some EventReader = NoEvents()
    ) throws(Disagreement) -> [Observed] {
        let expected = reference.handle(call, at: moment)
        let (reply, effects) = router.handle(call, at: moment, reading: reader)
        return try compare(.call(call), [Observed(reply)], effects, expected)
    }

    @discardableResult
    mutating func both(_ happening: Happening, _ twin: Happening? = nil) throws(Disagreement) -> [Observed] {
        let expected = reference.handle(twin ?? happening, at: moment)
        return try compare(.happening(happening), [], router.handle(happening, at: moment), expected)
    }

    private mutating func reconfigure(_ index: Int) throws(Disagreement) {
        let configuration = World.configurations[index]
        loaded.append(index)
        let expected = reference.reconfigure(configuration, at: moment)
        let happening = Happening.reconfigured(World.tables[index], configuration.banners, configuration.screens)
        _ = try compare(.happening(happening), [], router.handle(happening, at: moment), expected)
    }

    private mutating func compare(
        _ input: Input, _ reply: [Observed], _ effects: [Effect],
        _ expected: (observed: [Observed], calls: [BannerCall])
    ) throws(Disagreement) -> [Observed] {
        let observed = reply + effects.compactMap { Observed($0) }
        guard observed == expected.observed else {
            throw disagreement(
                input,
                (["router:"] + observed.map { "  \($0)" } + ["reference:"] + expected.observed.map { "  \($0)" })
                    .joined(separator: "\n"))
        }
        var newCalls = expected.calls[...]
        for effect in effects {
            switch effect {
            case .armTimer(let moment, let lifetime):
                armed = moment ?? armed
                armedLifetime = lifetime ?? armedLifetime
            case .showBanner(let request):
                unsent.append(
                    (Call(id: request.call, reference: newCalls.removeFirst(), replaces: request.replaces), request))
            case .keepBanner(.closed(let id)): up.removeAll { $0 == id }
            case .announce(let event, _):
                announced[event.id] = (event, moment.instant)
                // The journal knows that the new event takes the place of a muted one.
                if let collapse = event.collapse { muted = muted.filter { $0.value.event.collapse != collapse } }
            case .resolve(let id, _, let resolution): muted[id] = resolution.outcome == .muted ? announced[id] : nil
            case .countDigests: isCountAwaited = true
            case .relayAction, .noteClaim, .remove, .read, .awaited, .screensChanged,
                .startServer, .keepBanner, .changed:
                break
            }
        }
        guard router.quiet == reference.quiet else {
            throw disagreement(input, "quiet: \(router.quiet)\nreference: \(reference.quiet)")
        }
        guard router.owedDigests == ReferenceRouter.sorted(reference.owed), router.dueDigests == reference.dueDigests
        else {
            throw disagreement(input, "owed digests: \(router.owedDigests)\nreference: \(reference.owed)")
        }
        guard router.awaitedCount == reference.awaited.count,
            router.awaitedClaims.allSatisfy({ kept in reference.awaited.contains { $0.awaited == kept } })
        else {
            throw disagreement(input, "awaited: \(router.awaitedClaims)\nreference: \(reference.awaited)")
        }
        guard router.snoozed == reference.snoozed else {
            throw disagreement(input, "snoozed: \(router.snoozed)\nreference: \(reference.snoozed)")
        }
        if let broken = ledger.note(input, observed, router, at: moment) {
            throw disagreement(input, (["broken: \(broken)"] + observed.map { "  \($0)" }).joined(separator: "\n"))
        }
        return observed
    }

    private func disagreement(_ input: Input, _ text: String) -> Disagreement {
        Disagreement(step: step, description: "at \(now) µs, \(Self.text(of: input))\n\(text)")
    }

    private static func text(of input: Input) -> String {
        if case .happening(.reconfigured) = input { return "reconfigured" }
        return "\(input)"
    }

    // MARK: The end

    /// Everybody leaves, the server is there and answers, and time passes until there is nothing more to wait for.
    private mutating func drain() throws(Disagreement) {
        for peer in World.peers { try both(.peer(peer, .left)) }
        try both(.quieted(nil, for: nil))
        try both(.desktopQuiet(false))
        try both(.scheduled([]))
        try take(.callsLeave(true))
        if !reference.serverIsThere { try take(.serverAppears) }
        try take(.serverIsPrompt(true))
        try advance(by: Duration.seconds(29 * 24 * 3600).microseconds)
        // What is quiet has ended, also if a count found otherwise.
        try both(.scheduled([]))
        try countDigests(.none)
        if nextArmed != nil { throw Disagreement(step: step, description: "a timer is set for something that is over") }
        while let number = up.first {
            up.removeFirst()
            try both(.bannerClosed(number, .dismissed))
        }
        try advance(by: Duration.seconds(1).microseconds)
        if let broken = ledger.whatIsUnfinished(router) ?? router.leftovers() {
            throw Disagreement(step: step, description: "after the end: \(broken)")
        }
    }
}
