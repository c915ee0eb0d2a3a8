package import Routing

/// Plays a scenario with the router alone, in virtual time: the scenario and the timers of the router set the time.
public struct VirtualStage {
    /// How long the shell accepts a reply of the notification server; the router waits for a much shorter time.
    private static let memory: Duration = .seconds(300)
    /// How long the scenario goes on after its last column, so that unexpected outputs are found.
    private static let epilogue: Duration = .seconds(120)
    private static let firstID = EventID(1_000)

    let scenario: Scenario
    var router: Router
    var server: FakeNotificationServer
    var watch = InvariantChecker()
    var recording = Recording()
    var now: Duration = .zero
    private var timer: Duration?
    private var lifetimeTimer: Duration?
    var ids: [Occurrence: EventID] = [:]
    var occurrences: [EventID: Occurrence] = [:]
    var screens: [Symbol: ScreenID] = [:]
    /// Replies of the server and counts for digests, which reach the router after the current effects.
    var inbox: [Inbox] = []
    enum Inbox {
        case happening(Happening)
        case digest(DigestCount)
    }

    /// Events that were held back, each with the digest that will count it, unless somebody claims it.
    private var heldBack: [EventID: (event: Event, digest: EventID)] = [:]
    private var announced: [EventID: Event] = [:]
    /// The letters in the lane of digests whose digests have not been published yet.
    private var digests: [Symbol]

    /// - Returns: the recording, with every violated invariant among the faults.
    public static func play(_ scenario: Scenario) throws -> Recording {
        var stage = try VirtualStage(scenario)
        return try stage.run()
    }

    private init(_ scenario: Scenario) throws {
        self.scenario = scenario
        digests = scenario.lane(Lane.digest)?.marks.map(\.symbol) ?? []
        server = FakeNotificationServer(state: scenario.startsWithServer ? .well : .absent)
        router = Router(
            routes: try scenario.routeTable(),
            banners: BannerSettings(maximumPerSecond: scenario.settings.maximumPerSecond),
            screens: try scenario.screenSettings(), firstID: Self.firstID)
    }

    private mutating func run() throws -> Recording {
        if scenario.startsWithServer { feed(.server(.ready)) }
        let end = scenario.end() + Self.epilogue
        var cues = scenario.cues()[...]
        while let next = [cues.first?.at, timer, lifetimeTimer, server.unanswered.first?.givenUpAt].compactMap(\.self)
            .min(),
            next <= end
        {
            now = max(now, next)
            // Inputs are handled before timers: a claim at the deadline is in time.
            if let cue = cues.first, cue.at <= now {
                cues.removeFirst()
                try perform(cue.act)
            } else {
                for (request, _) in server.takeUnanswered(givenUpBy: now) {
                    feed(.banner(request.call, .failed(.noAnswer)))
                }
                fireTimers()
            }
        }
        recording.undecided = Set(watch.undecided.compactMap { occurrences[$0] })
        clearUp()
        recording.faults = watch.faults
        return recording
    }

    /// When all events are claimed and all actors have left, the router must be empty.
    private mutating func clearUp() {
        let recorded = recording
        perform(.well)
        for id in occurrences.keys.sorted() { feed(.claimed(id, by: "nobody")) }
        for name in scenario.programs.keys.sorted() { feed(.peer(name, .left)) }
        if router.undecidedCount + router.openWindows + router.rememberedEvents > 0 {
            watch.faults.append(
                "with everything claimed the router still has \(router.undecidedCount) undecided events, "
                    + "\(router.openWindows) windows, \(router.rememberedEvents) held events")
        }
        if router.screenCount > 0 {
            watch.faults.append("after all actors have left the router still has \(router.screenCount) screens")
        }
        for banner in server.banners.values {
            watch.faults.append("with everything claimed the banner that speaks of \(banner) is still up")
        }
        recording = recorded
    }

    // MARK: Time

    private mutating func fireTimers() {
        guard [timer, lifetimeTimer].compactMap(\.self).contains(where: { $0 <= now }) else { return }
        if let timer, timer <= now { self.timer = nil }
        if let lifetimeTimer, lifetimeTimer <= now { self.lifetimeTimer = nil }
        feed(.timerFired)
    }

    // MARK: Effects

    @discardableResult
    mutating func feed(_ call: Call) -> Result<Reply, Refusal> {
        let (reply, effects) = router.handle(call, at: now.now)
        watch.check(call, reply, effects, at: now)
        switch reply {
        case .success(.accepted(let id)): accepted(id)
        case .success(.screen(let id)): if let symbol = watch.opening { screens[symbol] = id }
        case .success: break
        case .failure(let refusal):
            if let occurrence = watch.publishing { recording.refusals[occurrence.symbol] = refusal.errorName }
        }
        perform(effects)
        return reply
    }

    mutating func feed(_ happening: Happening) {
        let effects = router.handle(happening, at: now.now)
        watch.check(happening, effects, at: now)
        perform(effects)
    }

    private mutating func perform(_ effects: [Effect]) {
        for effect in effects { perform(effect) }
        emptyInbox()
    }

    mutating func emptyInbox() {
        while !inbox.isEmpty {
            switch inbox.removeFirst() {
            case .happening(let happening): feed(happening)
            case .digest(let count):
                watch.publishing = digests.first.map { Occurrence($0) }
                feed(.digestsCounted(count))
            }
        }
    }

    private mutating func perform(_ effect: Effect) {
        switch effect {
        case .announce(let event, let announcement):
            announced[event.id] = event
            if event.topic == DigestTally.topic { digestPublished(event.id) }
            if announcement.silence != nil { note("silent", event.id) }
        case .resolve(let id, _, let resolution):
            note(resolution.outcome.rawValue, id)
            if let digest = resolution.digest { heldBack[id] = (announced[id]!, digest) }
        case .noteClaim(let id, _): heldBack[id] = nil
        case .countDigests: inbox.append(.digest(count(router.dueDigests)))
        case .relayAction(let event, _): note("action", event.id)
        case .showBanner(let request):
            let newest = occurrences[request.newest.id]!
            if let replaced = request.replaces, server.banners[replaced] == nil {
                watch.faults.append("banner \(replaced) is to be updated at \(now.milliseconds), but it is not up")
            }
            recording.note(request.replaces == nil ? "banner" : "update", newest, at: now, count: request.count)
            ask(request, newest)
        case .keepBanner(.closed(let id)):
            guard let banner = server.banners[id] else {
                watch.faults.append("banner \(id) is to be closed at \(now.milliseconds), but it is not up")
                return
            }
            recording.note("close", banner, at: now)
            server.close(id)
            inbox.append(.happening(.bannerClosed(id, .other)))
        case .remove, .read, .awaited, .screensChanged, .startServer, .keepBanner,
            .changed:
            break
        case .armTimer(let moment, let lifetime):
            if let moment { timer = .microseconds(moment.microseconds - Duration.windowsEpoch) }
            if let lifetime { lifetimeTimer = .microseconds(lifetime.microseconds - Duration.lifetimesEpoch) }
        }
    }

    mutating func ask(_ request: BannerRequest, _ newest: Occurrence) {
        inbox.append(.happening(.banner(request.call, .sent)))
        if let answer = server.show(request, newest: newest, givenUpAt: now + Self.memory) {
            inbox.append(.happening(answer))
        }
    }

    /// What the daemon counts in the journal.
    private func count(_ digests: [OwedDigest]) -> DigestCount {
        var tally = DigestTally()
        for (_, (event, digest)) in heldBack where digests.contains(where: { $0.name == digest }) { tally.add(event) }
        return DigestCount(digests, tally.count == 0 ? .none : .found(tally.publication(received: 0)))
    }

    private mutating func digestPublished(_ id: EventID) {
        guard let occurrence = occurrences[id] else {
            return watch.faults.append("a digest is published at \(now.milliseconds)")
        }
        digests.removeFirst()
        recording.published[occurrence] = now
        note(Lane.digest, id)
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
package struct StageError: Error, CustomStringConvertible {
    package let description: String
}

/// The two clocks of the router start at different times, so that tests detect code that confuses them.
extension Duration {
    fileprivate static let windowsEpoch: Int64 = 1_000_000_000
    fileprivate static let lifetimesEpoch: Int64 = 7_000_000_000

    var now: Now {
        Now(
            instant: Instant(microseconds: Self.windowsEpoch + microseconds),
            uptime: Uptime(microseconds: Self.lifetimesEpoch + microseconds))
    }
}

extension Refusal {
    /// The last part of the name of the D-Bus error.
    package var errorName: String {
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
        case .commandNotStarted: "Failed"
        }
    }
}
