import Logging
import NotifyTestSupport
import Routing
import Systemd
import Testing

@testable import Journal
@testable import NotifyDaemon

/// A daemon on a bus that takes nothing until it is told to: what is sent to it stays queued, and is counted.
final class SlowBus {
    let machine = SlowMachine()
    let calls = MadeUpCalls()
    let daemon: Daemon

    /// - Parameters:
    ///   - isRestoring: whether the notification server of an earlier run is still there. The daemon has then loaded
    ///     the first of that run's banners, and loads another one each turn.
    ///   - prepare: what is to happen to the disk before the daemon starts.
    init(
        isRestoring: Bool = false, limits: Limits = Limits(),
        configuration: Configuration = Simulation.configurations[0], _ prepare: (SimulatedDisk) -> Void = { _ in }
    ) {
        machine.disk.files.segmentBytes = 128 << 10
        machine.disk.wall = { [weak machine] in machine?.wall ?? 0 }
        machine.disk.onFault = { Issue.record("\($0)") }
        prepare(machine.disk)
        let logger = Logger(label: "slow bus") { _ in SwiftLogNoOpLogHandler() }
        daemon = Daemon(
            configuration: configuration, limits: limits,
            recoveryPortion: isRestoring ? 1 : Recovery.usualPortion,
            storage: Storage(machine.disk.openJournal(limits), logger: logger), link: machine, host: machine,
            logger: logger)
        machine.disk.journal = { [weak daemon] in daemon?.storage.journal }
        machine.holdsCapabilities = isRestoring
        if isRestoring { daemon.server.ownerIs(Self.server) }
        daemon.start()
        if isRestoring { machine.answerCapabilities() } else { endTurn() }
    }

    static let server = ":1.7"
    /// Broadcasts what happens to banners of an earlier run.
    static let shell = ":1.8"

    /// Everything that was sent, in its order, taken or not.
    var sent: [SlowMachine.Message] { machine.sent }
    var disk: SimulatedDisk { machine.disk }
    /// The events that were accepted, in the order of the replies.
    var accepted: [EventID] { sent.compactMap { if case .accepted(let id) = $0 { id } else { nil } } }

    /// Publishes an event that nobody waits for: it is announced, and that is all.
    func publish(title: String, body: String) {
        var options = PublishOptions()
        options.banner = false
        publish(
            Publication(topic: World.topics[0], title: title, body: body, options: options, sender: ":1.1"))
    }

    /// Publishes an event with a window of its own.
    func publish(_ topic: Topic, window: Duration) {
        var options = PublishOptions()
        options.window = window
        publish(Publication(topic: topic, title: "", body: "", options: options, sender: ":1.1"))
    }

    /// Publishes an event with a global id, as a call on the bus does.
    func publish(_ origin: Origin) {
        var options = PublishOptions()
        options.origin = origin
        publish(Publication(topic: World.topics[0], title: "", body: "", options: options, sender: ":1.1"))
    }

    private func publish(_ push: Publication) {
        call(.published(push))
    }

    /// Has the journal keep events that were muted.
    func keepMuted(_ count: Int) { disk.keepMuted(count) }

    /// Has the journal keep a banner of two events, which the server has given another number with the second one.
    func keepRenumberedBanner(_ old: UInt32, _ new: UInt32) {
        disk.keepShown(1, World.topics[0], in: old, of: 1)
        disk.keepShown(2, World.topics[0], in: new, of: 1)
        disk.keep([.bannerGone(old)])
    }

    func markRead(_ topic: TopicPrefix) {
        call(.topicClaimed(topic, .read(upTo: EventID(0)), by: ":1.2"))
    }

    func forget(_ topic: TopicPrefix, by caller: String = ":1.2") {
        do throws(Refusal) {
            try daemon.forget(topic, upTo: EventID(0), by: caller, for: calls.make())
        } catch {
            machine.send(.refused(error))
        }
    }

    /// Events in the journal.
    var stored: Int { machine.disk.contents.ids.count }
    /// Events of the journal that nobody has seen.
    var unread: Int { machine.disk.contents.events.values.filter(\.isUnread).count }

    /// - Returns: whether there was one.
    func endOneTurn() -> Bool {
        guard machine.isTurnOpen else { return false }
        machine.isTurnOpen = false
        daemon.finishTurn()
        return true
    }

    func claim(_ id: EventID) {
        call(.claimed(id, by: ":1.2"))
    }

    private func call(_ call: Call) {
        do throws(Refusal) {
            try daemon.answer(call, to: calls.make())
        } catch {
            machine.send(.refused(error))
        }
    }

    func startServer() {
        daemon.server.ownerIs(Self.server)
        endTurn()
    }

    /// The server answers the last call, that the banner is there.
    func showBanner(_ id: BannerID) {
        answerBanner(id)
        endTurn()
    }

    /// The same, and the turn goes on.
    func answerBanner(_ id: BannerID) {
        machine.answerBanner?(.success(id))
    }

    /// The user closes a banner.
    func dismiss(_ id: BannerID, says sender: String = SlowBus.server) {
        daemon.server.receive(.closed(reason: 2), about: id, says: sender)
    }

    /// The user presses its button.
    func press(_ id: BannerID) {
        daemon.server.receive(.pressed("accept"), about: id, says: Self.server)
    }

    /// Has so many events of an earlier run expire at once: everybody is told about each.
    func expireOldEvents(_ count: Int) {
        let event = Event(
            id: EventID(1), topic: World.topics[0], title: "", body: "", fields: [], published: 0, sender: ":1.1",
            origin: Origin(), urgency: nil, retained: false, route: Route(pattern: nil, window: .zero))
        var restoration = Restoration()
        restoration.undecided = Array(
            repeating: Restoration.Remembered((event: event, window: .zero, age: nil), left: .zero), count: count)
        daemon.handle(.restored(restoration))
        endTurn()
    }

    /// Time passes on all clocks, and the daemon does nothing.
    func sleep(_ time: Duration) {
        machine.now = Now(instant: machine.now.instant + time, uptime: machine.now.uptime + time)
    }

    /// Time passes in which the daemon does nothing.
    func pass(_ time: Duration) {
        machine.now = Now(instant: machine.now.instant + time, uptime: machine.now.uptime)
    }

    /// Serves the timer, and ends turns until the daemon has nothing more to do now.
    func endTurn() {
        if let timer = machine.windowTimer, timer <= machine.now.instant {
            machine.windowTimer = nil
            daemon.handle(.timerFired)
        }
        while machine.isTurnOpen {
            machine.isTurnOpen = false
            daemon.finishTurn()
        }
    }

    /// The bus takes what is queued, and the daemon has not looked yet.
    func takeUnnoticed() { machine.queuedBytes = 0 }

    /// The bus takes what is queued, and the daemon finds out when it looks.
    func takeAll() {
        machine.queuedBytes = 0
        guard let timer = machine.jobTimer else { return }
        machine.jobTimer = nil
        machine.now = Now(instant: max(machine.now.instant, timer), uptime: machine.now.uptime)
        machine.endTurnWhenIdle()
        endTurn()
    }
}

extension SimulatedDisk {
    /// Keeps a banner and an event that it shows.
    func keepShown(_ id: UInt64, _ topic: Topic, in number: UInt32, of first: UInt64) {
        var decision = StoredDecision(outcome: .shown, resolved: 0)
        decision.banner = number
        decision.server = SlowBus.server
        decision.shownWith = EventID(first)
        keep([.accepted(event(id, topic)), .decided(EventID(id), decision)])
        let banner = StoredBanner(
            number: number, server: "bus \(SlowBus.server)", first: EventID(first), isSummary: false)
        keep([.bannerUp(banner)])
    }

    func keepMuted(_ count: Int) {
        keep(
            (1...count).flatMap { number in
                let decision = StoredDecision(outcome: .muted, resolved: 0)
                return [
                    Record.accepted(event(UInt64(number), World.topics[number % 3])),
                    .decided(EventID(UInt64(number)), decision),
                ]
            })
    }

    /// An event of an earlier run.
    func event(_ id: UInt64, _ topic: Topic) -> StoredEvent {
        StoredEvent(
            id: EventID(id), topic: topic, title: "", body: "", fields: [], published: 0, sender: ":1.1",
            origin: Origin(), urgency: nil, retained: false, route: "", key: "", window: 0, accepted: 0,
            expires: Expiry(wall: .max / 2, uptime: 0, boot: ""))
    }
}

/// What the daemon on a slow bus runs on.
final class SlowMachine: Host {
    enum Message: Equatable {
        case accepted(EventID)
        case verdict(Verdict)
        case count(Int)
        case refused(Refusal)
        case event(title: String, bytes: Int)
        case resolved(EventID)
        case removed(EventID)
        case action(EventID)
    }

    let disk = SimulatedDisk(seed: 1)
    fileprivate(set) var sent: [Message] = []
    fileprivate(set) var queuedBytes = 0
    fileprivate(set) var now = Now(instant: Instant(microseconds: 1_000_000), uptime: Uptime(microseconds: 1_000_000))
    /// When the daemon wants to look again whether there is room.
    fileprivate(set) var jobTimer: Instant?
    /// How often memory was given back.
    private(set) var releases = 0
    fileprivate var windowTimer: Instant?
    fileprivate var isTurnOpen = false
    /// What the notification server was asked to show, while there is one.
    private(set) var banners: [EventID] = []
    /// What it was asked to close.
    private(set) var closed: [BannerID] = []
    fileprivate var answerBanner: ((Result<BannerID?, BusFailure>) -> Void)?
    /// Whether the server is slow to say what it can do.
    fileprivate var holdsCapabilities = false
    private var heldAnswer: (() -> Void)?

    var wall: Int64 { now.instant.microseconds + 1_700_000_000_000_000 }
    var boot: String { "boot" }

    func armWindowTimer(at moment: Instant) { windowTimer = moment }
    func armLifetimeTimer(at moment: Uptime) {}
    func armJobTimer(at moment: Instant) { jobTimer = moment }
    func watchNames(in directory: String) {}
    func armWallTimer(at moment: Int64?) {}
    var calendar: LocalCalendar { LocalCalendar { _ in 0 } }
    func endTurnWhenIdle() { isTurnOpen = true }

    func send(_ message: Outgoing) {
        switch message {
        case .reply(.accepted(let id), _): send(.accepted(id))
        case .reply(.verdict(let verdict), _): send(.verdict(verdict))
        case .reply(.count(let count), _): send(.count(count))
        case .reply, .encoded: preconditionFailure("events are published, claimed and marked here, and that is all")
        case .error(let refusal, _): send(.refused(refusal))
        case .signal(.event(let event, _)): send(.event(title: event.title, bytes: event.body.utf8.count))
        case .signal(.resolved(let id, _, _)): send(.resolved(id))
        case .signal(.removed(_, let id)): send(.removed(id))
        case .signal(.action(let event, _)): send(.action(event.id))
        case .signal(.screens): break
        case .propertiesChanged: break
        }
    }

    func send(_ message: Message) {
        sent.append(message)
        if case .event(_, let bytes) = message { queuedBytes += bytes }
    }

    var queuedMessages: UInt64 { 0 }

    func device(of seed: String) -> String { seed }
    func lookUpProgram(of claimant: String) -> ProgramDirectory.Lookup { .none }
    func owner(of caller: String) -> String { caller }
    func releaseMemory() { releases += 1 }
    func changesCommitted() {}
    func checkIntegrity(of file: String, _ ended: @escaping (IntegrityCheck) -> Void) {}
    func run(_ action: String, of event: Event, token: String?) -> Refusal? { nil }
    var failedCommands: UInt64 { 0 }
    var knowsSession: Bool { true }
    func show(status: String) {}
}

/// The notification server takes what it is given, and says so when it is told to.
extension SlowMachine: NotificationLink {
    func start(_ answer: @escaping (BusFailure?) -> Void) {}
    var bus: String { "bus" }

    func askForCapabilities(
        of server: String, within time: Duration, _ answer: @escaping (Result<Set<String>, BusFailure>) -> Void
    ) {
        guard holdsCapabilities else { return answer(.success(["body"])) }
        heldAnswer = { answer(.success(["body"])) }
    }

    fileprivate func answerCapabilities() {
        holdsCapabilities = false
        heldAnswer?()
        heldAnswer = nil
    }

    func notify(
        _ server: String, _ request: BannerRequest, _ text: BannerText, hasButtons: Bool, within time: Duration,
        _ answer: @escaping (Result<BannerID?, BusFailure>) -> Void
    ) {
        banners.append(request.newest.id)
        answerBanner = answer
    }

    func watchOldBanners(of server: String, _ answer: @escaping (String?) -> Void) { answer(SlowBus.shell) }

    func close(_ banner: BannerID, at server: String) { closed.append(banner) }
}

/// Calls that came from no bus. The daemon only hands them back with its answer.
struct MadeUpCalls {
    private let bus = try! BusConnection(toNobody: ())

    func make() -> RetainedMessage {
        RetainedMessage(bus.methodCall(to: "org.notifyd", path: "/", interface: "org.notifyd.Router1", member: "Call"))
    }
}
