import Logging
import NotifyTestSupport
import Routing
import Systemd

@testable import Journal
@testable import NotifyDaemon
@testable import Routing

/// What was not so in a simulation that should have been, and after which move.
struct Wreck: Error, CustomStringConvertible {
    let move: Int
    let description: String
}

/// A machine of its own, in which a whole daemon runs: its router, storage, turns, outbox and its dealings with the
/// notification server are the code that the program runs; the bus, the disk, the clocks and the server are made up.
/// There is no waiting and no chance in it but the seed's.
final class Simulation {
    /// What lies in the daemon's socket, in the order of the bus.
    enum Incoming {
        case call(Call)
        case peerLeft(String)
        case attention(Bool)
        case owner(String)
        case answer(() -> Void)
        case closed(BannerID, reason: UInt32, server: String)
        case pressed(BannerID, key: String, server: String)
        case paused(Bool)
        case desktop(Bool)
        case read
    }

    final class Call {
        enum Request {
            case call(Routing.Call)
            case forget(TopicPrefix, upTo: EventID)
        }

        /// What the daemon answers.
        let message: RetainedMessage
        let peer: String
        let request: Request
        /// The label of the step that made it.
        let label: Int?
        /// The event that a claim by name is about.
        var known: EventID?
        /// What is deleted when a call of `Forget` is answered.
        var forgettable: [EventID] = []

        init(_ message: RetainedMessage, peer: String, request: Request, label: Int?) {
            self.message = message
            self.peer = peer
            self.request = request
            self.label = label
        }

        var call: Routing.Call? { if case .call(let call) = request { call } else { nil } }
    }

    /// What the daemon lets out to everybody or to one.
    enum Message {
        case reply(Result<Reply, Refusal>, Call)
        case event(Event, Announcement, windowEnds: Instant?)
        case resolved(EventID, Resolution)
        case removed(Topic, EventID)
        case action(EventID)
    }

    struct Awaited {
        let number: Int
        let server: String
        let until: Instant
        let answer: (Result<SimulatedServer.Reply, BusFailure>) -> Void
    }

    static let recoveryWindow: Duration = .seconds(2)
    static let longestClockStep: Int64 = 10 * 24 * 3_600_000_000
    private static let movesBetweenChecks = _isDebugAssertConfiguration() ? 40 : 5

    let setup: Setup
    let disk: SimulatedDisk
    let server = SimulatedServer()
    let witness: Witness
    var daemon: Daemon?
    var life = Life()
    /// Whether somebody has deleted the files.
    var hasVanished = false
    /// Whether the power goes when this life ends.
    var isCutDue = false
    var configuration: Int
    var loaded: [Int]
    var longestOwnWindow = recoveryWindow
    var trace: ((String) -> Void)?

    /// How long the daemon works on a message, and how long the disk on a commit, in microseconds.
    let messageTime: Int64
    let commitTime: Int64
    /// How many events of an earlier run are announced again in a turn.
    let recoveryPortion: Int
    /// How many entries a transaction has.
    let journalPortion: Int
    /// Whether the daemon is killed once more before everything is claimed, and that by its topic.
    let restartsAtTheEnd: Bool

    // The clocks. `time` goes on while the machine runs, and starts again with it.
    var time: Int64 = 1_000_000
    var slept: Int64 = 7_000_000
    var wallOffset: Int64 = 1_700_000_000_000_000
    var wallSteps: Int64 = 0
    var boots = 1
    var windowTimer: Instant?
    var lifetimeTimer: Uptime?
    var jobTimer: Instant?
    /// By the wall clock.
    var wallTimer: Int64?
    var isTurnOpen = false
    /// When the daemon began what it is doing now.
    private var turnBegan: Instant?
    /// When an event was last announced again, which keeps its window open beyond the limit.
    var lastReplay: Instant?

    // The bus.
    let messages = MadeUpCalls()
    /// The calls, by their messages.
    var calls: [ObjectIdentifier: Call] = [:]
    var incoming: [Incoming] = []
    var awaited: [Awaited] = []
    var lastRequest = 0
    /// Until then the bus takes no messages.
    var busStallsUntil = Instant(microseconds: 0)
    var events: [Int: EventID] = [:]
    var screens: [Int: ScreenID] = [:]

    private init(_ passage: Passage, trace: ((String) -> Void)?) {
        setup = passage.setup
        var random = SplitMix64(seed: ~passage.seed)
        messageTime = random.pick([0, 0, 150, 900])
        commitTime = random.pick([0, 0, 100, 30_000])
        recoveryPortion = random.pick([1, 3, 128])
        restartsAtTheEnd = random.chance(50)
        journalPortion = random.pick([1, 3, Storage.usualPortion])
        configuration = setup.configuration
        loaded = [setup.configuration]
        disk = SimulatedDisk(seed: passage.seed)
        witness = Witness(disk: disk, server: server)
        witness.remembersOrigins = !setup.isTight
        witness.awaitTime = setup.limits.minimumAwait.microseconds
        self.trace = trace
        disk.wall = { [unowned self] in wall }
        disk.onWrite = { [unowned self] in time += commitTime }
        disk.journal = { [unowned self] in daemon?.storage.journal }
        disk.onFault = { [unowned witness] in witness.complain($0) }
        server.closesEarly = random.pick([0, 0, 2, 5])
        server.onEarlyClose = { [unowned self] id in
            incoming.append(.closed(id, reason: 2, server: server.name ?? ""))
        }
        server.onAnswer = { [unowned self] number, answer in serverAnswers(number, answer) }
    }

    /// - Returns: what is wrong with the passage, if anything is, and what the last run of the daemon counted.
    static func run(_ passage: Passage, trace: ((String) -> Void)? = nil) -> (wreck: Wreck?, counts: Witness.Counts) {
        let simulation = Simulation(passage, trace: trace)
        let wreck = simulation.run(passage)
        simulation.bury()
        return (wreck, simulation.witness.counts)
    }

    private func run(_ passage: Passage) -> Wreck? {
        if setup.serverIsThere { server.appear() }
        startDaemon()
        runLoop()
        for (index, move) in passage.moves.enumerated() {
            if let trace { trace("\(index): \(move)") }
            switch move.kind {
            case .step(let step): take(step)
            case .fault(let fault): suffer(fault)
            }
            if move.isAlone { runLoop() }
            if move.isAlone, index % Self.movesBetweenChecks == 0 { checkTables() }
            if let complaint = witness.complaint { return Wreck(move: index, description: complaint) }
        }
        trace?("the end")
        drain()
        return witness.complaint.map { Wreck(move: passage.moves.count, description: "after the end: \($0)") }
    }

    // MARK: The daemon's life

    /// Starts the daemon on what is on the disk.
    func startDaemon() {
        life = Life()
        disk.life = life
        isCutDue = false
        let logger = Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }
        let daemon = Daemon(
            configuration: Self.configurations[configuration], limits: limits, recoveryPortion: recoveryPortion,
            storage: Storage(disk.openJournal(limits), logger: logger, portion: journalPortion), link: self,
            host: self,
            logger: logger)
        self.daemon = daemon
        beginTurn()
        daemon.server.ownerIs(server.name)
        daemon.start()
        guard !life.isOver else { return }
        witness.started(daemon.storage.journal)
        checkRestoredQuiet()
    }

    /// Whether events of an earlier run are still to be announced again.
    var isRecovering: Bool { daemon.map { $0.router.events.unrestored > 0 } ?? false }

    /// The daemon is gone, and with it all it had not done yet.
    func bury(isPowerCut: Bool = false) {
        let isRecovering = isRecovering
        let isDegraded = !(daemon?.storage.degradation.isEmpty ?? true)
        noteLettingGo()
        life.end()
        disk.endLife(isPowerCut: isPowerCut)
        daemon = nil
        windowTimer = nil
        lifetimeTimer = nil
        jobTimer = nil
        wallTimer = nil
        busStallsUntil = Instant(microseconds: 0)
        isTurnOpen = false
        turnBegan = nil
        lastReplay = nil
        incoming = []
        awaited = []
        server.forgetClosedEarly()
        witness.daemonDied(isRecovering: isRecovering, isDegraded: isDegraded)
    }

    func beginTurn() {
        if turnBegan == nil { turnBegan = now.instant }
    }

    func endTurn(of daemon: Daemon) {
        isTurnOpen = false
        let end = now.instant
        daemon.finishTurn()
        // It may have begun the next one.
        turnBegan = isTurnOpen ? end : nil
    }

    /// How long the present turn has taken, with all its commits.
    var turn: Duration { turnBegan.map { now.instant - $0 } ?? .zero }

    func noteLettingGo() {
        if let daemon, daemon.router.statistics[.forgotten] > 0 { witness.hasLetGo = true }
    }

    /// A banner that comes so late that its call is forgotten stays, and is not a fault of what is looked at here.
    private var limits: Limits {
        var limits = setup.limits
        limits.timedOutCalls = Limits().timedOutCalls
        // What is forgotten of removals lets older values come back.
        limits.removals = Limits().removals
        limits.removalTime = Limits().removalTime
        // What is lost of awaited claims gets a banner.
        limits.awaited = Limits().awaited
        return limits
    }

    static let configurations = World.configurations.indices.map { index in
        Configuration(
            routes: World.tables[index], banners: World.configurations[index].banners,
            screens: World.configurations[index].screens, policy: Policy(), schedules: schedules(index),
            recoveryWindow: recoveryWindow, history: Retention(age: .seconds(3650 * 24 * 3600)), logLevel: .critical,
            files: [])
    }

    /// The wall clock starts on a Tuesday at 23:13:20.
    private static func schedules(_ index: Int) -> [Schedule] {
        guard index % 2 == 1 else { return [] }
        let night = Schedule(
            from: 23 * 60 + 14, to: 23 * 60 + 16, days: Schedule.Day.allCases, topics: [.all], hasDigest: true)
        let posts = Schedule(
            from: 12 * 60, to: 23 * 60 + 15, days: [.tue, .fri],
            topics: [try! TopicPrefix("/post"), try! TopicPrefix("/run")])
        return [night, posts]
    }

    // MARK: What must hold

    /// A pause or a mute that is acknowledged is on disk, where that can be written.
    func checkQuiet(after call: Routing.Call?) {
        guard let daemon, daemon.storage.degradation.isEmpty else { return }
        switch call {
        case .quieted: break
        default: return
        }
        let kept = disk.contents.quiet.filter { $0.cause != .schedule }.map {
            Quiet($0.topic, $0.cause, ends: $0.end.map { Uptime(microseconds: $0.moment.uptime) })
        }
        let quiet = daemon.router.quiet.filter { $0.cause != .schedule && $0.cause != .desktop }
        if kept != quiet { witness.complain("quiet is \(quiet), and \(kept) on disk") }
        // A period that has ended since stays on disk until the next change.
        let on = Set(activePeriods(daemon))
        let lifted = disk.contents.quiet.compactMap { quiet in
            quiet.began.map { ActiveSchedule.Period(quiet.topic, began: $0) }
        }.filter(on.contains)
        if lifted != daemon.router.liftedSchedules.filter(on.contains) {
            witness.complain("lifted are \(daemon.router.liftedSchedules), and \(lifted) on disk")
        }
    }

    /// A snooze that is acknowledged is on disk, where that can be written.
    func checkSnoozes(after call: Routing.Call?) {
        guard let daemon, daemon.storage.degradation.isEmpty, case .snoozed = call else { return }
        let kept = disk.contents.snoozes.map {
            Router.Snoozed(id: $0.event, due: Uptime(microseconds: $0.end.moment.uptime))
        }
        if kept != daemon.router.snoozed {
            witness.complain("snoozed are \(daemon.router.snoozed), and \(kept) on disk")
        }
    }

    /// What is marked as read up to an id is not unread any more, and that is on disk.
    func checkRead(after call: Routing.Call?) {
        guard let daemon, daemon.storage.degradation.isEmpty, case .topicClaimed(let topic, .read(let last), _) = call
        else {
            return
        }
        for event in disk.contents.ids.prefix(while: { $0 <= last }).compactMap({ disk.contents.events[$0] })
        where topic.covers(event.topic) && event.isUnread {
            witness.complain("event \(event.id) is unread, and \(topic) was marked as read up to \(last)")
        }
        witness.noteReading()
    }

    /// The decided events that are not a current value.
    func forgettable(_ topic: TopicPrefix, upTo last: EventID) -> [EventID] {
        let contents = disk.contents
        return contents.ids.filter { id in
            guard let event = contents.events[id], event.decision != nil else { return false }
            guard topic.covers(event.topic) else { return false }
            return contents.values[event.topic] != id && (last == EventID(0) || id <= last)
        }
    }

    /// What the disk says of pauses and mutes goes on in a new run, and ends when it was to end.
    private func checkRestoredQuiet() {
        guard let daemon, daemon.isRestored else { return }
        let clock = daemon.clock
        let kept = disk.contents.quiet
        let standing = kept.filter { $0.cause != .schedule && $0.end.map { clock.left($0) > .zero } ?? true }
        let quiet = daemon.router.quiet.filter { $0.cause != .schedule && $0.cause != .desktop }
        if Set(standing.map(\.topic)) != Set(quiet.map(\.topic)) {
            witness.complain("quiet is \(standing.map(\.topic)) on disk, and \(quiet) after a start")
        }
        // A lifted schedule that is on stays lifted, and one that was not lifted is on.
        let lifted = activePeriods(daemon).filter { period in
            kept.contains { $0.topic == period.topic && $0.began == period.began }
        }
        if Set(lifted) != Set(daemon.router.liftedSchedules) {
            witness.complain("lifted are \(daemon.router.liftedSchedules) after a start, not \(lifted)")
        }
        checkSchedules()
    }

    private func activePeriods(_ daemon: Daemon) -> [ActiveSchedule.Period] {
        Schedule.snapshot(of: daemon.configuration.schedules, at: daemon.clock.wall, in: calendar).active.map(\.period)
    }

    /// What is on by the clock is quiet or lifted, and nothing else is.
    func checkSchedules() {
        guard let daemon, !life.isOver else { return }
        let on = Schedule.snapshot(of: daemon.configuration.schedules, at: wall, in: calendar).active.map(\.period)
        let unlifted = Set(on).subtracting(daemon.router.liftedSchedules).map(\.topic)
        let quiet = daemon.router.quiet.filter { $0.cause == .schedule }.map(\.topic)
        if Set(unlifted) != Set(quiet) { witness.complain("on by schedule is \(unlifted), and quiet \(quiet)") }
    }

    /// Whether nothing is still to be written or to be read.
    private func knowsItsBanners(_ daemon: Daemon) -> Bool {
        daemon.storage.degradation.isEmpty && daemon.isRestored && !daemon.recovery.hasBanners
            && !isTurnOpen && !life.isOver
    }

    func checkTables() {
        guard let router = daemon?.router else { return }
        let broken = router.brokenPromise(lastReplay: lastReplay) { topic in
            max(longestOwnWindow, loaded.map { World.tables[$0].route(for: topic).maximumWindow }.max()!)
        }
        if let broken { witness.complain(broken) }
        if let daemon, knowsItsBanners(daemon) { witness.checkBanners(router) }
        if !isTimerDue { checkSchedules() }
        checkDigests()
        follow()
        checkAwaited()
    }

    /// Reads what `Changes` has that is new, in pages.
    func follow() {
        guard let daemon, daemon.storage.degradation.isEmpty, !life.isOver else { return }
        var position: Journal.ChangePosition? = Journal.ChangePosition(after: witness.follower.cursor)
        while let start = position {
            let page = try? daemon.storage.read { try $0.changes(after: start, limit: recoveryPortion, bytes: .max) }
            guard let page else { return }
            for change in page.changes { witness.followed(change) }
            position = page.position
        }
        witness.checkFollower(device: daemon.router.device)
    }

    /// What is awaited is on disk, and nothing else is.
    private func checkAwaited() {
        guard let daemon, knowsItsBanners(daemon) else { return }
        let awaited = Set(daemon.router.awaitedClaims.map(\.claim.origin))
        let kept = disk.contents.awaited
        if awaited != kept { witness.complain("awaited are \(awaited), and \(kept) on disk") }
    }

    /// What is owed is on disk, and what is due is being counted.
    private func checkDigests() {
        guard let daemon, knowsItsBanners(daemon) else { return }
        let owed = daemon.router.owedDigests
        if disk.contents.digests != owed {
            witness.complain("digests are owed of \(owed), and of \(disk.contents.digests) on disk")
        }
    }
}
