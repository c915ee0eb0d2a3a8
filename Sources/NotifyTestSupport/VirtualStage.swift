internal import Routing

/// Plays a scenario against the router alone. There is no clock and no waiting: time is what the scenario and the router's
/// timers say, to the microsecond.
public struct VirtualStage {
    /// How long the shell waits for an answer of the notification server.
    private static let callTimeout: Duration = .seconds(5)
    /// How long after the last line of the picture something unexpected would still be seen.
    private static let epilogue: Duration = .seconds(120)
    private static let firstID = EventID(1_000)

    private let scenario: Scenario
    private let isForgiving: Bool
    private var router: Router
    private var server: StandInServer
    private var watch = PromiseWatch()
    private var recording = Recording()
    private var now: Duration = .zero
    private var timer: Duration?
    private var lifetimeTimer: Duration?
    private var ids: [Occurrence: EventID] = [:]
    private var occurrences: [EventID: Occurrence] = [:]
    /// What the server has answered meanwhile; it reaches the router when the effects before it are done.
    private var inbox: [Input] = []

    /// - Parameter isForgiving: what cannot be done, such as dismissing a banner that is not up, is left out.
    /// - Returns: what happened, with every broken promise among the faults.
    public static func play(_ scenario: Scenario, isForgiving: Bool = false) throws -> Recording {
        var stage = try VirtualStage(scenario, isForgiving)
        return try stage.run()
    }

    private init(_ scenario: Scenario, _ isForgiving: Bool) throws {
        self.scenario = scenario
        self.isForgiving = isForgiving
        server = StandInServer(mood: scenario.startsWithServer ? .well : .absent)
        router = Router(
            routes: try scenario.routeTable(),
            banners: BannerSettings(maximumPerSecond: scenario.settings.maximumPerSecond), firstID: Self.firstID)
    }

    private mutating func run() throws -> Recording {
        if scenario.startsWithServer { feed(.serverAppeared) }
        let end = scenario.end() + Self.epilogue
        var cues = scenario.cues()[...]
        while let next = [cues.first?.at, timer, lifetimeTimer, server.unanswered.first?.givenUpAt].compactMap(\.self)
            .min(),
            next <= end
        {
            now = max(now, next)
            // What is read comes before what is due: a claim at the deadline is in time.
            if let cue = cues.first, cue.at <= now {
                cues.removeFirst()
                try perform(cue.act)
            } else {
                giveUpCalls()
                fireTimers()
            }
        }
        recording.undecided = Set(watch.undecided.compactMap { occurrences[$0] })
        clearUp()
        recording.faults = watch.faults
        return recording
    }

    /// Once everything is claimed, the router must have forgotten everything.
    private mutating func clearUp() {
        let drawn = recording
        perform(.well)
        for id in occurrences.keys.sorted() { feed(.claimed(id, by: "nobody")) }
        if router.pending + router.openWindows + router.heldEvents > 0 {
            watch.faults.append(
                "with everything claimed the router still has \(router.pending) undecided events, "
                    + "\(router.openWindows) windows, \(router.heldEvents) held events")
        }
        for banner in server.banners.values {
            watch.faults.append("with everything claimed the banner that speaks of \(banner.newest) is still up")
        }
        recording = drawn
    }

    // MARK: Inputs

    private mutating func perform(_ act: Cue.Act) throws {
        switch act {
        case .publish(let occurrence, let publisher):
            recording.published[occurrence] = now
            watch.publishing = occurrence
            feed(.published(try scenario.publication(occurrence, sender: publisher)))
        case .claim(let symbol, let claimant):
            guard let id = ids[Occurrence(symbol)] else {
                throw StageError(description: "\(claimant) claims \(symbol), which was refused")
            }
            claim(id, symbol, by: claimant)
        case .claimUnknown(let claimant):
            claim(EventID(1 << 62), "?", by: claimant)
        case .leave(let name):
            feed(.peerLeft(name))
        case .server(let mood):
            perform(mood)
        case .user(let act, let symbol):
            guard let id = server.banner(of: symbol) else {
                if isForgiving { return }
                throw StageError(description: "no banner speaks of \(symbol) at \(now.milliseconds)")
            }
            switch act {
            case .dismissal: closed(id, .dismissed)
            case .timeout: closed(id, .other)
            case .press: feed(.actionInvoked(id, action: "default"))
            }
        }
    }

    private mutating func claim(_ id: EventID, _ symbol: Symbol, by claimant: String) {
        watch.publishing = nil
        for case .reply(let reply) in feed(.claimed(id, by: claimant)) {
            let verdict =
                switch reply {
                case .verdict(let verdict): verdict.rawValue
                case .refused(.unknownEvent): ClaimAnswer.unknown
                default: "\(reply)"
                }
            recording.answers.append(Recording.Answer(claimant: claimant, symbol: symbol, verdict: verdict))
        }
    }

    private mutating func perform(_ mood: Lane.ServerMood) {
        let before = server.mood
        let waiting = server.takeUnanswered()
        server.become(mood)
        switch (before, mood) {
        case (.absent, .absent): break
        case (.absent, _): feed(.serverAppeared)
        case (_, .absent): feed(.serverVanished)
        case (_, _):
            for (request, newest) in waiting { ask(request, newest) }
            while !inbox.isEmpty { feed(inbox.removeFirst()) }
        }
    }

    private mutating func closed(_ id: BannerID, _ reason: ClosingReason) {
        server.close(id)
        feed(.bannerClosed(id, reason))
    }

    private mutating func giveUpCalls() {
        for (request, _) in server.takeUnanswered(givenUpBy: now) { feed(.bannerFailed(request.call, .noAnswer)) }
    }

    private mutating func fireTimers() {
        guard [timer, lifetimeTimer].compactMap(\.self).contains(where: { $0 <= now }) else { return }
        if let timer, timer <= now { self.timer = nil }
        if let lifetimeTimer, lifetimeTimer <= now { self.lifetimeTimer = nil }
        feed(.timerFired)
    }

    // MARK: Effects

    @discardableResult
    private mutating func feed(_ input: Input) -> [Effect] {
        let effects = router.handle(input, at: now.now)
        watch.check(input, effects, at: now)
        for effect in effects { perform(effect) }
        while !inbox.isEmpty { feed(inbox.removeFirst()) }
        return effects
    }

    private mutating func perform(_ effect: Effect) {
        switch effect {
        case .reply(.accepted(let id)): accepted(id)
        case .reply(.refused(let refusal)):
            if let occurrence = watch.publishing { recording.refusals[occurrence.symbol] = refusal.errorName }
        case .reply: break
        case .announce(let event, let announcement):
            if announcement.window == nil { note("silent", event.id) }
        case .resolve(let id, _, let resolution): note(resolution.outcome.rawValue, id)
        case .relayAction(let event, _): note("action", event.id)
        case .showBanner(let request):
            let newest = occurrences[request.newest.id]!
            if let replaced = request.replaces, server.banners[replaced] == nil {
                watch.faults.append("banner \(replaced) is to be updated at \(now.milliseconds), but it is not up")
            }
            recording.note(request.replaces == nil ? "banner" : "update", newest, at: now, count: request.count)
            ask(request, newest)
        case .closeBanner(let id):
            guard let banner = server.banners[id] else {
                watch.faults.append("banner \(id) is to be closed at \(now.milliseconds), but it is not up")
                return
            }
            recording.note("close", banner.newest, at: now)
            server.close(id)
            inbox.append(.bannerClosed(id, .other))
        case .noteClaim, .remove: break
        case .armTimer(let moment): timer = moment.sinceStart
        case .armLifetimeTimer(let moment): lifetimeTimer = moment.sinceStart
        }
    }

    private mutating func ask(_ request: BannerRequest, _ newest: Occurrence) {
        guard let answer = server.show(request, newest: newest, givenUpAt: now + Self.callTimeout) else { return }
        inbox.append(answer)
    }

    private mutating func accepted(_ id: EventID) {
        guard let occurrence = watch.publishing else { return }
        ids[occurrence] = id
        if let first = occurrences[id] {
            recording.repeats[occurrence.symbol] = first.symbol
        } else {
            occurrences[id] = occurrence
        }
    }

    private mutating func note(_ lane: String, _ id: EventID) {
        recording.note(lane, occurrences[id]!, at: now)
    }
}

/// Why a scenario that can be read cannot be played.
struct StageError: Error, CustomStringConvertible {
    let description: String
}

/// The two clocks of the router start at different moments, so that nothing that mixes them up goes unseen.
extension Duration {
    fileprivate static let windowsEpoch: Int64 = 1_000_000_000
    fileprivate static let lifetimesEpoch: Int64 = 7_000_000_000

    var now: Now {
        Now(
            instant: Instant(microseconds: Self.windowsEpoch + microseconds),
            uptime: Uptime(microseconds: Self.lifetimesEpoch + microseconds))
    }
}

extension Instant {
    var sinceStart: Duration { .microseconds(microseconds - Duration.windowsEpoch) }
}

extension Uptime {
    var sinceStart: Duration { .microseconds(microseconds - Duration.lifetimesEpoch) }
}

extension Refusal {
    /// The last part of the name of the D-Bus error.
    var errorName: String {
        switch self {
        case .invalidTopic: "InvalidTopic"
        case .invalidEvent: "InvalidEvent"
        case .unknownEvent: "UnknownEvent"
        case .unknownScreen: "UnknownScreen"
        case .notClaimant: "NotClaimant"
        case .accessDenied: "AccessDenied"
        case .invalidArguments: "InvalidArgs"
        case .tooLarge: "TooLarge"
        case .limitExceeded: "LimitExceeded"
        case .storageUnavailable: "StorageUnavailable"
        }
    }
}
