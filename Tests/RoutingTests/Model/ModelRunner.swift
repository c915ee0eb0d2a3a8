@testable import Routing

/// Why a script failed: what was done, and where the two routers part or which promise was broken.
struct Disagreement: Error, CustomStringConvertible {
    let step: Int
    let description: String
}

/// Runs a script through both routers, with a clock, timers and a notification server that are all of its own making.
struct ModelRunner {
    struct Call {
        let id: BannerCall
        let reference: BannerCall
        let replaces: BannerID?
    }

    static let firstID = EventID(1000)

    private(set) var router: Router
    private(set) var reference: ReferenceRouter
    private var ledger = Ledger()
    private var step = -1

    // The clocks, and what the router asked to be woken for.
    private var now: Int64 = 1_000_000
    private var slept: Int64 = 0
    private var armed: Instant?
    private var armedLifetime: Uptime?

    // The notification server.
    private var isPrompt = true
    private var calls: [Call] = []
    private var stale: [Call] = []
    private var lastNumber: UInt32 = 0
    private var up: [BannerID] = []

    private var events: [Int: EventID] = [:]
    private var screens: [Int: ScreenID] = [:]

    init(_ setup: Setup) {
        let configuration = World.configurations[setup.configuration]
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
                try checkTables()
            }
            step = script.steps.count
            try drain()
            return nil
        } catch {
            return error
        }
    }

    // MARK: Steps

    private mutating func take(_ step: Step) throws(Disagreement) {
        switch step {
        case .publish(let label, let topic, let peer, let extras):
            let replies = try both(.published(Self.publication(topic, peer, extras)))
            if case .reply(.accepted(let id)) = replies.first { events[label] = id }
        case .claim(let label, let peer): try both(.claimed(event(label), by: peer))
        case .hold(let label, let time, let peer): try both(.claimedProvisionally(event(label), within: time, by: peer))
        case .complete(let label, let peer): try both(.completed(event(label), by: peer))
        case .release(let label, let peer): try both(.released(event(label), by: peer))
        case .pass(let label, let peer): try both(.passed(event(label), by: peer))
        case .claimTopic(let topic, let grace, let peer): try both(.topicClaimed(topic, grace: grace, by: peer))
        case .openScreen(let label, let topic, let options, let peer):
            let replies = try both(.screenOpened(topic, options, by: peer))
            if case .reply(.screen(let id)) = replies.first { screens[label] = id }
        case .updateScreen(let label, let options, let peer): try both(.screenUpdated(screen(label), options, by: peer))
        case .closeScreen(let label, let peer): try both(.screenClosed(screen(label), by: peer))
        case .peerLeaves(let peer): try both(.peerLeft(peer))
        case .watched(let flag): try both(.attentionChanged(isWatched: flag))
        case .paused(let flag): try both(.paused(flag))
        case .mute(let topic, let time): try both(.muted(topic, for: time))
        case .reconfigure(let index): try reconfigure(index)
        case .serverAppears, .serverVanishes, .serverIsPrompt, .answer, .answerStale, .closeBanner, .press:
            try takeServer(step)
        case .wait(let time): try advance(by: time.microseconds)
        case .stall(let time): now += time.microseconds
        case .sleep(let time): slept += time.microseconds
        case .untilDue:
            if let due = nextArmed, due > now { now = due }
        case .fire: try fire()
        }
        if isPrompt {
            while let call = calls.first { try answer(call, .shown) }
        }
    }

    private mutating func takeServer(_ step: Step) throws(Disagreement) {
        switch step {
        case .serverAppears:
            restartServer()
            try both(.serverAppeared)
        case .serverVanishes:
            restartServer()
            try both(.serverVanished)
        case .serverIsPrompt(let flag): isPrompt = flag
        case .answer(let pick, let answer):
            if !calls.isEmpty { try self.answer(calls[pick % calls.count], answer) }
        case .answerStale(let pick, let answer):
            if !stale.isEmpty { try self.answer(stale[pick % stale.count], answer) }
        case .closeBanner(let pick, let reason):
            guard !up.isEmpty else { return }
            try both(.bannerClosed(up.remove(at: pick % up.count), reason))
        case .press(let pick):
            if !up.isEmpty { try both(.actionInvoked(up[pick % up.count], action: "accept")) }
        default: preconditionFailure("not the server's step")
        }
    }

    private static func publication(_ topic: Topic, _ peer: String, _ extras: Step.Extras) -> Publication {
        var options = PublishOptions()
        if let eventID = extras.eventID { options.origin = Origin(source: "script", eventID: "\(eventID)") }
        options.banner = extras.banner
        options.window = extras.window
        options.lifetime = extras.lifetime
        options.retain = extras.retain
        options.remove = extras.remove
        return Publication(
            topic: topic, title: extras.title, body: "",
            fields: extras.lacksFields ? [] : [Field(name: "from", value: .string("Mina"))], options: options,
            sender: peer)
    }

    private func event(_ label: Int) -> EventID { events[label] ?? EventID(1) }
    private func screen(_ label: Int) -> ScreenID { screens[label] ?? ScreenID(1) }

    private func checkTables() throws(Disagreement) {
        if let broken = router.brokenPromise() {
            throw Disagreement(step: step, description: "at \(now) µs, after the step: \(broken)")
        }
    }

    // MARK: The server

    private mutating func restartServer() {
        stale += calls
        calls = []
        lastNumber = 0
        up = []
    }

    private mutating func answer(_ call: Call, _ answer: Step.Answer) throws(Disagreement) {
        calls.removeAll { $0.id == call.id }
        stale.append(call)
        var number: BannerID?
        switch answer {
        case .shown: number = call.replaces ?? newNumber()
        case .renumbered: number = newNumber()
        case .taken(let pick): number = up.isEmpty ? newNumber() : up[pick % up.count]
        case .identical: break
        case .error: return try fail(call, .noAnswer)
        case .unknownBanner: return try fail(call, .unknownBanner)
        }
        if let number, !up.contains(number) { up.append(number) }
        try both(.bannerShown(call.id, number), .bannerShown(call.reference, number))
    }

    private mutating func fail(_ call: Call, _ failure: BannerFailure) throws(Disagreement) {
        try both(.bannerFailed(call.id, failure), .bannerFailed(call.reference, failure))
    }

    private mutating func newNumber() -> BannerID {
        lastNumber += 1
        return BannerID(lastNumber)
    }

    // MARK: Time

    private var moment: Now {
        Now(instant: Instant(microseconds: now), uptime: Uptime(microseconds: now + slept))
    }

    /// When the router asked to be woken, on the clock of this runner.
    private var nextArmed: Int64? {
        [armed?.microseconds, armedLifetime.map { $0.microseconds - slept }].compactMap { $0 }.min()
    }

    private var nextDueOfReference: Int64? {
        let due = reference.nextDue
        return [due.instant?.microseconds, due.uptime.map { $0.microseconds - slept }].compactMap { $0 }.min()
    }

    private mutating func advance(by time: Int64) throws(Disagreement) {
        let end = now + time
        while let due = [nextArmed, nextDueOfReference].compactMap({ $0 }).min(), due <= end {
            now = max(now, due)
            try fire()
        }
        now = end
    }

    /// What the router did not ask to be woken for, it must not have to do.
    private mutating func fire() throws(Disagreement) {
        if let due = nextDueOfReference, due <= now, nextArmed.map({ $0 > now }) ?? true {
            throw Disagreement(step: step, description: "something is due, and the router has not asked for its timer")
        }
        if let armed, armed <= moment.instant { self.armed = nil }
        if let armedLifetime, armedLifetime <= moment.uptime { self.armedLifetime = nil }
        try both(.timerFired)
        if let due = nextArmed, due <= now {
            throw Disagreement(step: step, description: "the timer was set to a moment that is over")
        }
        if isPrompt {
            while let call = calls.first { try answer(call, .shown) }
        }
    }

    // MARK: Comparing

    @discardableResult
    private mutating func both(_ input: Input, _ twin: Input? = nil) throws(Disagreement) -> [Observed] {
        let expected = reference.handle(twin ?? input, at: moment)
        return try compare(input, router.handle(input, at: moment), expected)
    }

    private mutating func reconfigure(_ index: Int) throws(Disagreement) {
        let configuration = World.configurations[index]
        let expected = reference.reconfigure(configuration, at: moment)
        let input = Input.reconfigured(World.tables[index], configuration.banners, configuration.screens)
        _ = try compare(input, router.handle(input, at: moment), expected)
    }

    private mutating func compare(
        _ input: Input, _ effects: [Effect], _ expected: (observed: [Observed], calls: [BannerCall])
    ) throws(Disagreement) -> [Observed] {
        let observed = effects.compactMap(Observed.init)
        guard observed == expected.observed else {
            throw disagreement(
                input,
                (["router:"] + observed.map { "  \($0)" } + ["reference:"] + expected.observed.map { "  \($0)" })
                    .joined(separator: "\n"))
        }
        var newCalls = expected.calls[...]
        for effect in effects {
            switch effect {
            case .armTimer(let moment): armed = moment
            case .armLifetimeTimer(let moment): armedLifetime = moment
            case .showBanner(let request):
                calls.append(Call(id: request.call, reference: newCalls.removeFirst(), replaces: request.replaces))
            case .closeBanner(let id): up.removeAll { $0 == id }
            case .reply, .announce, .resolve, .relayAction, .noteClaim, .remove: break
            }
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
        if case .reconfigured = input { return "reconfigured" }
        return "\(input)"
    }

    // MARK: The end

    /// Everybody leaves, the server is there and answers, and time passes until there is nothing more to wait for.
    private mutating func drain() throws(Disagreement) {
        for peer in World.peers { try both(.peerLeft(peer)) }
        try both(.paused(false))
        if !reference.serverIsThere { try take(.serverAppears) }
        try take(.serverIsPrompt(true))
        try advance(by: Duration.seconds(29 * 24 * 3600).microseconds)
        if nextArmed != nil { throw Disagreement(step: step, description: "a timer is set for something that is over") }
        while let number = up.first {
            up.removeFirst()
            try both(.bannerClosed(number, .dismissed))
        }
        if let broken = ledger.whatIsUnfinished(router) ?? router.leftovers() {
            throw Disagreement(step: step, description: "after the end: \(broken)")
        }
    }
}
