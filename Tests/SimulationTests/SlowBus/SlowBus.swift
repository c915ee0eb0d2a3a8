import Journal
import Logging
import Routing
import Systemd

@testable import NotifyDaemon

/// A daemon on a bus that takes nothing until it is told to: what is sent to it stays queued, and is counted.
final class SlowBus {
    enum Message: Equatable {
        case accepted(EventID)
        case refused(Refusal)
        case event(title: String, bytes: Int)
        case resolved(EventID)
        case removed(EventID)
        case action(EventID)
    }

    /// Everything that was sent, in its order, taken or not.
    private(set) var sent: [Message] = []
    private(set) var queuedBytes = 0
    private(set) var now = Now(instant: Instant(microseconds: 1_000_000), uptime: Uptime(microseconds: 1_000_000))
    /// When the daemon wants to look again whether there is room.
    private(set) var recoveryTimer: Instant?
    private var windowTimer: Instant?
    private var isTurnOpen = false
    /// What the notification server was asked to show, while there is one.
    private(set) var banners: [EventID] = []
    let disk = SimulatedDisk(seed: 1)
    private(set) var daemon: Daemon<SlowBus>!

    init() {
        let logger = Logger(label: "slow bus") { _ in SwiftLogNoOpLogHandler() }
        daemon = Daemon(
            configuration: Simulation.configurations[0], storage: Storage(disk: disk, logger: logger), link: self,
            host: self, logger: logger)
        daemon.start()
        endTurn()
    }

    /// Publishes an event that nobody waits for: it is announced, and that is all.
    func publish(title: String, body: String) {
        var options = PublishOptions()
        options.banner = false
        perform(
            .published(Publication(topic: World.topics[0], title: title, body: body, options: options, sender: ":1.1")))
    }

    /// Has so many events of an earlier run expire at once: everybody is told of each.
    func expireOldEvents(_ count: Int) {
        let event = Event(
            id: EventID(1), topic: World.topics[0], title: "", body: "", fields: [], published: 0, sender: ":1.1",
            origin: Origin(), urgency: nil, retained: false, route: Route(pattern: nil, window: .zero))
        var restoration = Restoration()
        restoration.undecided = Array(
            repeating: Restoration.Remembered((event: event, window: .zero), left: .zero), count: count)
        daemon.take(.restored(restoration))
        endTurn()
    }

    /// Publishes an event with a window of its own.
    func publish(_ topic: Topic, window: Duration) {
        var options = PublishOptions()
        options.window = window
        perform(.published(Publication(topic: topic, title: "", body: "", options: options, sender: ":1.1")))
    }

    func startServer() {
        daemon.server.ownerIs(":1.7")
        endTurn()
    }

    /// Time passes in which the daemon does nothing.
    func pass(_ time: Duration) {
        now = Now(instant: now.instant + time, uptime: now.uptime)
    }

    private func perform(_ input: Input) {
        do throws(Refusal) {
            try daemon.answer(input, to: 0)
        } catch {
            send(.refused(error))
        }
    }

    /// Serves the timer, and ends turns until the daemon has nothing more to do now.
    func endTurn() {
        if let timer = windowTimer, timer <= now.instant {
            windowTimer = nil
            daemon.take(.timerFired)
        }
        while isTurnOpen {
            isTurnOpen = false
            daemon.turnIsOver()
        }
    }

    /// The bus takes what is queued, and the daemon finds out when it looks.
    func takeAll() {
        queuedBytes = 0
        guard let timer = recoveryTimer else { return }
        recoveryTimer = nil
        now = Now(instant: max(now.instant, timer), uptime: now.uptime)
        endTurnWhenIdle()
        endTurn()
    }
}

extension SlowBus: Host {
    var wall: Int64 { now.instant.microseconds + 1_700_000_000_000_000 }
    var boot: String { "boot" }

    func armWindowTimer(at moment: Instant) { windowTimer = moment }
    func armLifetimeTimer(at moment: Uptime) {}
    func armRetryTimer(at moment: Instant) {}
    func armRecoveryTimer(at moment: Instant) { recoveryTimer = moment }
    func endTurnWhenIdle() { isTurnOpen = true }

    func reply(_ reply: Reply, to call: Int) -> Message {
        guard case .accepted(let id) = reply else { preconditionFailure("nothing but events is published here") }
        return .accepted(id)
    }

    func refusal(_ refusal: Refusal, of call: Int) -> Message { .refused(refusal) }
    func announcement(_ event: Event, _ announcement: Announcement) -> Message {
        .event(title: event.title, bytes: event.body.utf8.count)
    }

    func resolution(_ id: EventID, _ topic: Topic, _ resolution: Resolution) -> Message { .resolved(id) }
    func removal(_ topic: Topic, _ id: EventID) -> Message { .removed(id) }
    func action(_ event: Event, _ action: String) -> Message { .action(event.id) }

    func send(_ message: Message) {
        sent.append(message)
        if case .event(_, let bytes) = message { queuedBytes += bytes }
    }

    var queuedMessages: UInt64 { 0 }

    func releaseMemory() {}
    func examine(_ file: String, _ ended: @escaping (Examination) -> Void) {}
    func run(_ action: String, of event: Event, by route: Route, token: String?) {}
    func degradationChanged() {}
    func defaultWindowChanged() {}
    func statusChanged() {}
}

/// The notification server takes what it is given, and does not say so.
extension SlowBus: NotificationLink {
    func askForCapabilities(
        of server: String, within time: Duration, _ answer: @escaping (Result<Set<String>, BusFailure>) -> Void
    ) { answer(.success(["body"])) }

    func notify(
        _ server: String, _ request: BannerRequest, _ text: BannerText, hasButtons: Bool, within time: Duration,
        _ answer: @escaping (Result<BannerID, BusFailure>) -> Void
    ) { banners.append(request.newest.id) }

    func close(_ banner: BannerID, at server: String) {}
}
