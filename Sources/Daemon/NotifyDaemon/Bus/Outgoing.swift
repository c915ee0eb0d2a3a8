import DequeModule
import Journal
import Logging
import Routing
import Systemd

/// What the daemon sends over the bus.
enum Outgoing {
    case reply(Reply, to: RetainedMessage)
    case error(Refusal, to: RetainedMessage)
    /// A reply that was written while the journal was read.
    case encoded(RetainedMessage)
    case signal(Signal)
    case propertiesChanged([Property])
}

/// A signal of `org.notifyd.Router1`.
enum Signal {
    case event(Event, Announcement)
    /// Allocated separately, because there may be one for every event in memory.
    indirect case resolved(EventID, Topic, Resolution)
    case removed(Topic, EventID)
    case action(Event, String)
    case screens(TopicPrefix, isAttended: Bool)

    /// About how long it is; 0 for a short one.
    var bytes: Int { if case .event(let event, _) = self { event.memoryCost } else { 0 } }
}

/// Replies, signals and calls to the notification server that are sent at the end of a turn, in the order of their
/// decisions. All are sent after the commit, except banners that need not wait for it.
///
/// Sending all replies before all signals would wake the bus and its clients less often, for about 5 % more events per
/// second. But a client that subscribes after its last reply would get signals of its own earlier events, and a reader
/// would read events before their signals.
final class Outbox {
    enum Item {
        /// A reply or an error.
        case message(Outgoing)
        /// A signal, the event that it needs to be committed, and when it was decided.
        case signal(Signal, about: EventID?, at: Instant)
        case show(BannerRequest)
        case close(BannerID)
        /// A pressed button, with the activation token for the application.
        case relay(Event, action: String, token: String?)
    }

    private static let reservedItems = 128

    var turn = Turn()
    /// Signals that have left the turn and wait for the bus.
    var signals = SignalQueue()
    private var items: [Item] = []
    /// Whether there are calls to the notification server.
    private var hasBanners = false
    /// The oldest event that is not announced yet.
    private var oldest: EventID?
    /// Whether a shown banner is not in the journal yet: after a crash now, a later run would show it again.
    private var hasUnwrittenBanner = false

    func append(_ item: Item) {
        switch item {
        case .signal(.event, about: let id?, at: _): oldest = min(oldest ?? id, id)
        case .signal(.resolved(_, _, let resolution), about: _, at: _) where resolution.outcome == .shown:
            hasUnwrittenBanner = true
        case .show, .close: hasBanners = true
        case .message, .signal, .relay: break
        }
        items.append(item)
    }

    /// Takes the calls to the notification server that need not wait for the commit, because a later run can repair
    /// them:
    ///
    /// - Banners without events that are still to be announced, which all are in the journal. But while the entry of
    ///   another shown banner is not written, a crash would repeat both banners, and at most one may be repeated.
    /// - Closing of banners. If a crash prevents it after the commit, the banner stays up for ever; if a banner is
    ///   closed before, the next claim closes it again, which does no harm.
    func takeBannersReadyBeforeCommit() -> [Item] {
        guard hasBanners else { return [] }
        var ready: [Item] = []
        items.removeAll { item in
            switch item {
            case .show(let request):
                guard !hasUnwrittenBanner, oldest.map({ request.newest.id < $0 }) ?? true else { return false }
            case .close: break
            case .message, .signal, .relay: return false
            }
            ready.append(item)
            return true
        }
        return ready
    }

    func takeAll() -> [Item] {
        defer {
            // The next turn is about as long, and an array that grows moves its items.
            let length = min(items.count, Self.reservedItems)
            (items, hasBanners, oldest, hasUnwrittenBanner) = ([], false, nil, false)
            items.reserveCapacity(length)
        }
        return items
    }
}

/// A turn of the loop: all readable messages are handled, the journal commits once, and then the outbox is sent.
///
/// Messages have priority over timers, so that a claim that is in the socket before a deadline is in time. A stream of
/// messages must not starve other work, so a turn is limited in messages and in time.
struct Turn {
    private static let messages = 512
    private static let length: Duration = .milliseconds(2)

    private var count = 0
    private var began = Instant(microseconds: 0)

    /// Whether the turn has to end before the next message.
    func isTooLong(at now: Instant) -> Bool {
        count >= Self.messages || count > 0 && now - began >= Self.length
    }

    mutating func messageArrived(at now: Instant) {
        if count == 0 { began = now }
        count += 1
    }

    mutating func ended() {
        count = 0
    }
}

/// Signals that wait until the bus takes them.
///
/// A bus that is stopped or overloaded must not fill our memory. A signal becomes a message only when the connection
/// has room for it; replies and the journal go on. Above the memory limit only an event's id is queued, and the event
/// is read from the journal later.
struct SignalQueue {
    /// Unsent bytes above which no signal is sent: enough to keep the bus busy, and a short queue for replies.
    static let queueLimit = 512 << 10
    /// Bytes of queued events above which only ids are queued.
    static let memoryLimit = 8 << 20
    /// Queued signals above which publishing is refused.
    static let lengthLimit = 50_000
    /// How often to check for room, if nothing else wakes the loop.
    static let pause: Duration = .milliseconds(5)

    enum Entry {
        case signal(Signal)
        /// An event that is read from the journal when it is sent.
        case stored(EventID, Announcement)
    }

    private var entries = Deque<(entry: Entry, since: Instant)>()
    private var bytes = 0

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }
    var isFull: Bool { entries.count >= Self.lengthLimit }
    /// The oldest entry, and when it was added.
    var first: (entry: Entry, since: Instant)? { entries.first }

    mutating func enqueue(_ signal: Signal, at now: Instant) {
        if case .event(let event, let announcement) = signal, bytes + signal.bytes > Self.memoryLimit {
            return entries.append((.stored(event.id, announcement), now))
        }
        bytes += signal.bytes
        entries.append((.signal(signal), now))
    }

    mutating func removeFirst() {
        if case .signal(let signal) = entries.removeFirst().entry { bytes -= signal.bytes }
    }
}

/// Sends what a turn has decided. Signals are queued while the bus is behind.
extension Daemon {
    /// - Parameter refused: events that could not be stored. Their publishers get an error; nothing is announced.
    func deliver(_ items: [Outbox.Item], refusing refused: Set<EventID>) {
        for item in items {
            switch item {
            case .message(.reply(.accepted(let id), let call)) where refused.contains(id):
                host.send(.error(.storageUnavailable(storage.degradation), to: call))
            case .message(.reply(.verdict(.awaited), let call)) where !storage.isWritable:
                host.send(.error(.storageUnavailable(storage.degradation), to: call))
            case .message(let message):
                host.send(message)
                Failpoint.afterReply.hit()
            case .signal(let signal, let id, let moment):
                if let id, refused.contains(id) { continue }
                announce(signal, decided: moment)
            case .show(let request): if refused.isEmpty { show(request) }
            case .close(let id): server.close(id)
            case .relay(let event, let action, let token):
                announce(.action(event, action), decided: host.now.instant)
                host.run(action, of: event, token: token)
            }
        }
    }

    private func show(_ request: BannerRequest) {
        Failpoint.beforeNotify.hit()
        server.show(request, BannerText(request))
        Failpoint.afterNotify.hit()
    }

    private func announce(_ signal: Signal, decided moment: Instant) {
        guard outbox.signals.isEmpty, host.queuedBytes < SignalQueue.queueLimit else {
            outbox.signals.enqueue(signal, at: moment)
            return armSignalTimer()
        }
        send(signal, decided: moment)
    }

    /// Sends queued signals until the bus is behind again.
    func sendQueuedSignals() {
        while let (entry, since) = outbox.signals.first {
            guard host.queuedBytes < SignalQueue.queueLimit, send(entry, decided: since) else {
                return armSignalTimer()
            }
            outbox.signals.removeFirst()
        }
    }

    private func armSignalTimer() { jobs.wake(host, after: SignalQueue.pause, at: host.now.instant) }

    private func send(_ signal: Signal, decided moment: Instant) {
        var signal = signal
        if case .event(let event, let announcement) = signal {
            signal = .event(event, announcement.after(host.now.instant - moment))
        }
        host.send(.signal(signal))
        Failpoint.afterSignal.hit()
    }

    /// - Returns: false where the journal cannot be read now.
    private func send(_ entry: SignalQueue.Entry, decided moment: Instant) -> Bool {
        switch entry {
        case .signal(let signal): send(signal, decided: moment)
        case .stored(let id, let announcement):
            guard storage.isReadable else { return false }
            do throws(Refusal) {
                let found = try storage.read { try $0.event(id) }
                // A damaged or expired event is no longer in the journal.
                guard let found else { return true }
                send(.event(routed(found), announcement), decided: moment)
            } catch {
                // Read again once the disk works, unless this event alone cannot be read.
                return storage.isWritable
            }
        }
        return true
    }

    /// Publishing is refused while the queue is full.
    func requireSignalQueueSpace() throws(Refusal) {
        guard outbox.signals.isFull else { return }
        throw .limitExceeded(
            "signals that wait for the bus: there are \(outbox.signals.count) already; try again "
                + "when the bus has taken some"
        )
    }

    var hasQueuedSignals: Bool { !outbox.signals.isEmpty }
    /// Whether jobs wait until the bus has taken more.
    var isBusBehind: Bool { hasQueuedSignals || host.queuedMessages >= Jobs.queueLimit }

    /// Whether queued signals or replayed events are sent beside the current ones.
    var isCatchingUp: Bool { hasQueuedSignals || recovery.isUnderWay }
}

/// The last step: a message for the bus.
extension SystemHost {
    func send(_ message: Outgoing) {
        do throws(SystemdError) {
            switch message {
            case .reply(let reply, let call): try bus.send(self.reply(reply, to: call.message))
            case .error(let refusal, let call): try bus.send(bus.methodError(to: call.message, BusFailure(refusal)))
            case .encoded(let reply):
                try bus.send(reply.message, bytes: reply.bytes)
                reports.receive(.replyHasLeft(bytes: reply.bytes, to: reply.message.destination))
            case .signal(let signal): try bus.send(self.signal(signal), bytes: signal.bytes)
            case .propertiesChanged(let properties):
                bus.propertiesChanged(
                    path: RouterInterface.path, interface: RouterInterface.name, properties.map(\.rawValue))
            }
        } catch {
            logger.record(.messageNotSent, ["error": "\(error)"])
        }
    }

    private func reply(_ reply: Reply, to call: borrowing BusMessage) -> BusMessage {
        let message = bus.methodReturn(to: call)
        switch reply {
        case .accepted(let id): message.append(id.rawValue, as: "t")
        case .verdict(let verdict): message.append(verdict.rawValue)
        case .count(let count): message.append(UInt32(clamping: count), as: "u")
        case .screen(let id): message.append(id.rawValue, as: "t")
        case .done: break
        }
        return message
    }

    /// Dictionaries hold only the keys that apply.
    private func signal(_ signal: Signal) -> BusMessage {
        switch signal {
        case .event(let event, let announcement): self.event(event, announcement)
        case .resolved(let id, let topic, let resolution): resolved(id, topic, resolution)
        case .removed(let topic, let id): message("Removed", topic, id)
        case .action(let event, let key): action(key, of: event)
        case .screens(let topic, let isAttended): screens(topic, isAttended: isAttended)
        }
    }

    private func screens(_ topic: TopicPrefix, isAttended: Bool) -> BusMessage {
        let message = bus.signal(path: RouterInterface.path, interface: RouterInterface.name, member: "ScreensChanged")
        message.append(topic.description)
        message.append(isAttended)
        return message
    }

    private func action(_ key: String, of event: Event) -> BusMessage {
        let message = message("ActionInvoked", event.topic, event.id)
        message.append(key)
        return message
    }

    private func event(_ event: Event, _ announcement: Announcement) -> BusMessage {
        let message = message("Event", event.topic, event.id)
        message.append(event.title)
        message.append(event.body)
        message.append(event.fields)
        message.appendContainer("a", "{sv}") { info in
            info.appendEntry("published", event.published, as: "x")
            info.appendEntry("sender", event.sender)
            info.appendEntry("window", announcement.window?.millisecondsRoundedUp ?? 0, as: "u")
            info.appendEntry("expires", moment(announcement.expires), as: "x")
            info.appendEntry("urgency", (event.urgency ?? event.route.appearance.urgency)?.rawValue, as: "y")
            info.appendEntry("silent", announcement.silence?.decider)
            info.appendEntry("claimed", announcement.isClaimed)
            info.appendEntry("source", event.origin.source)
            info.appendEntry("event-id", event.origin.eventID)
            info.appendEntry("via", event.origin.via)
            info.appendEntry("replayed", announcement.isReplayed)
            info.appendEntry("retained", event.retained)
        }
        return message
    }

    private func resolved(_ id: EventID, _ topic: Topic, _ resolution: Resolution) -> BusMessage {
        let message = message("Resolved", topic, id)
        message.append(resolution.outcome.rawValue)
        message.appendContainer("a", "{sv}") { details in
            details.appendEntry("by", resolution.claimant)
            details.appendEntry("program", resolution.claimant.flatMap(programs.program))
            details.appendEntry("device", resolution.place.device)
            details.appendEntry("latency", resolution.latency.map { UInt64(clamping: $0.microseconds) }, as: "t")
            // `Claim` is the default form and left out.
            details.appendEntry("form", resolution.form == .claim ? nil : resolution.form?.rawValue)
            details.appendEntry("banner", resolution.banner?.rawValue, as: "u")
            details.appendEntry("count", resolution.count.map { UInt32(clamping: $0) }, as: "u")
            details.appendEntry("lateness", resolution.lateness.map { UInt64(clamping: $0.microseconds) }, as: "t")
            details.appendEntry("delay", resolution.delay?.rawValue)
            details.appendEntry("action", resolution.action)
        }
        return message
    }

    /// A signal that begins with a topic and an id.
    private func message(_ member: String, _ topic: Topic, _ id: EventID) -> BusMessage {
        let message = bus.signal(path: RouterInterface.path, interface: RouterInterface.name, member: member)
        message.append(topic.description)
        message.append(id.rawValue, as: "t")
        return message
    }
}
