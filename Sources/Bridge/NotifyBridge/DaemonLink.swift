public import NotifyClient
import Synchronization
import Systemd

/// What a ``DaemonLink`` reports about notifyd.
public enum DaemonNotice: Sendable {
    /// notifyd is on the bus, for the first time or again.
    case appeared
    /// notifyd is not on the bus. Calls without an answer get one: ``DaemonAnswer/refusedForNow(_:)``.
    case vanished
    /// The signal `Event`.
    case event(Event)
    /// The signal `Resolved`.
    case resolved(Outcome)
    /// The signal `Removed`.
    case removed(Removal)
    /// The signal `ScreensChanged`.
    case attention(Attention)
    /// The signal `ActionInvoked`.
    case action(Action)
}

/// The signals of notifyd that a bridge may ask for. What nobody asks for is not sent to the bridge at all.
public enum DaemonSignal: String, CaseIterable, Sendable {
    case event = "Event"
    case resolved = "Resolved"
    case removed = "Removed"
    case attention = "ScreensChanged"
    case action = "ActionInvoked"
}

/// The connection of a bridge to the bus, and so to notifyd.
///
/// Calls reach notifyd in the order in which they are submitted, and any number of them may be under way. Notices and
/// answers are delivered on one thread, in the order in which the bus delivers them: handlers return at once and never
/// block.
public final class DaemonLink: Sendable {
    /// The one connection: it owns the name of the bridge and exports its objects.
    package let connection: Connection
    private let notices: NoticeTable
    /// Why notifyd takes no events now; `nil` while it does.
    private let refusal = Locked<String?>(nil)
    private let onRefusal: @Sendable (_ reason: String?) -> Void

    /// The longest message that a bridge receives, in bytes. A page of notifyd has some 100 KiB; whoever is on the bus
    /// may send 128 MiB, and a bridge has less memory than that.
    package static let maximumMessage = 8 << 20

    /// Why a connection was lost, for the log.
    package static let lossReason = "The bus is gone"

    /// Why a connection was cut here, and what follows, for the log.
    package static let cutReason =
        "Somebody on the bus has sent a message of more than \(maximumMessage >> 20) MiB, or a damaged one. That ends "
        + "the connection, and with it this process; it is started again"

    private init(
        connection: Connection, notices: NoticeTable, onRefusal: @escaping @Sendable (_ reason: String?) -> Void
    ) {
        self.connection = connection
        self.notices = notices
        self.onRefusal = onRefusal
    }

    /// Connects to the bus. notifyd need not be there.
    ///
    /// - Parameters:
    ///   - address: of the bus.
    ///   - loop: where notices and answers are delivered; with `nil` the connection has a loop of its own.
    ///   - onLoss: called once when the bus is gone, or has delivered what is longer than ``maximumMessage``, with the
    ///     reason.
    ///   - onRefusal: called with the reason when notifyd is there and takes no events for now, and with `nil`
    ///     when it takes them again.
    package static func open(
        _ address: String, on loop: WorkLoop? = nil,
        onLoss: @escaping @Sendable (_ reason: String) -> Void = { _ in },
        onRefusal: @escaping @Sendable (_ reason: String?) -> Void = { _ in }
    ) async throws(NotifyError) -> DaemonLink {
        let notices = NoticeTable()
        let connection = try await Connection.open(
            address, on: loop, maximumMessage: maximumMessage,
            isOwner: { connection, name in name != Router.name || connection == notices.daemon },
            onSignal: { notices.receive($0) }, onClose: { onLoss(lossReason) },
            onCut: { onLoss(cutReason) })
        do throws(NotifyError) {
            try await connection.addMatch(.ownerChanged(of: Router.name))
        } catch {
            connection.close()
            throw error
        }
        // The answer is handled on the loop, in order with the signals about the owner.
        await withCheckedContinuation { continuation in
            connection.call(.toBus("GetNameOwner", [.string(Router.name)])) { answer in
                notices.setDaemon((try? answer.get())?.arguments.first?.string)
                continuation.resume()
            }
        }
        return DaemonLink(connection: connection, notices: notices, onRefusal: onRefusal)
    }

    /// Whether notifyd is on the bus.
    public var isThere: Bool { notices.daemon != nil }

    // MARK: Notices

    /// Delivers notices from now on, until the observation is released. The first one says whether notifyd is there.
    /// What is submitted after this is done after the signals are asked for, so that its signals are delivered.
    ///
    /// - Parameters:
    ///   - signals: the signals that are wanted beside ``DaemonNotice/appeared`` and ``DaemonNotice/vanished``.
    ///   - handler: runs on the thread of the notices.
    public func observe(
        _ signals: Set<DaemonSignal> = [], _ handler: @escaping @Sendable (DaemonNotice) -> Void
    ) -> DaemonObservation {
        let observation = DaemonObservation { [connection, notices] id in
            connection.perform { notices.remove(id, on: connection) }
        }
        notices.want(signals, on: connection)
        connection.perform { [notices, id = observation.id] in
            notices.add(NoticeTable.Entry(id: id, signals: signals, handler: handler))
        }
        return observation
    }

    // MARK: Calls

    /// Sends a call, and returns at once.
    ///
    /// - Parameters:
    ///   - call: what to do.
    ///   - completion: runs on the thread of the notices.
    public func submit(_ call: DaemonCall, _ completion: @escaping @Sendable (DaemonAnswer) -> Void = { _ in }) {
        Failpoint.beforeCall.hit()
        let member = call.member
        do throws(NotifyError) {
            connection.call(try call.message(), timeout: call.timeout) { answer in
                Failpoint.afterAnswer.hit()
                completion(self.noted(DaemonAnswer(answer, to: member), to: member))
            }
        } catch {
            connection.perform { completion(.refused(error)) }
        }
    }

    /// Sends a call and waits for its answer, at most 25 seconds unless the call says something else. A cancelled task
    /// gets ``DaemonAnswer/refusedForNow(_:)``; the call may have taken effect then.
    public func perform(_ call: DaemonCall) async -> DaemonAnswer {
        Failpoint.beforeCall.hit()
        defer { Failpoint.afterAnswer.hit() }
        do throws(NotifyError) {
            let reply = try await connection.call(try call.message(), timeout: call.timeout)
            return noted(DaemonAnswer(.success(reply), to: call.member), to: call.member)
        } catch {
            return noted(DaemonAnswer(.failure(error), to: call.member), to: call.member)
        }
    }

    /// Tells when notifyd begins to refuse events for now, and when it takes them again.
    private func noted(_ answer: DaemonAnswer, to member: String) -> DaemonAnswer {
        guard member == "Publish", isThere else { return answer }
        let reason: String? = if case .refusedForNow(let error) = answer { error.message } else { nil }
        let isNew = refusal.withLock { refusal in
            defer { refusal = reason }
            return refusal != reason
        }
        if isNew { onRefusal(reason) }
        return answer
    }

    /// Asks the bus to start notifyd if it is not there. Nobody waits for it.
    func startDaemon() {
        connection.call(.toBus("StartServiceByName", [.string(Router.name), .uint32(0)])) { _ in }
    }

    /// The highest number of the journal; 0 if it is empty.
    ///
    /// - Throws: the error of a call.
    public func newestChange() async throws(NotifyError) -> UInt64 {
        // Nothing lies above `high`, and something above `low`, or nothing at all.
        var (low, high): (UInt64, UInt64) = (0, .max)
        while low < high {
            let middle = low + (high - low) / 2
            let answer = await perform(.changes(after: middle, limit: 1))
            guard let page = answer.changes else { throw answer.error ?? .strangeReply }
            if let row = page.rows.first { low = row.number } else { high = middle }
        }
        return low
    }

    /// Waits until everything that was sent has reached the bus.
    func flush() async { _ = try? await connection.call(.toBus("GetId"), timeout: .seconds(1)) }
}

/// Delivers notices for as long as it is retained.
public final class DaemonObservation: Sendable {
    let id: UInt64
    private let end: @Sendable (UInt64) -> Void

    private static let lastID = Atomic<UInt64>(0)

    /// - Parameter end: called with the id when it is released.
    init(_ end: @escaping @Sendable (UInt64) -> Void) {
        id = Self.lastID.add(1, ordering: .relaxed).newValue
        self.end = end
    }

    deinit { end(id) }
}

/// Who gets the notices of a connection, and which signals are asked for.
final class NoticeTable: Sendable {
    struct Entry: Sendable {
        let id: UInt64
        let signals: Set<DaemonSignal>
        let handler: @Sendable (DaemonNotice) -> Void
    }

    private struct State {
        /// The unique name of the daemon, while it is there.
        var daemon: String?
        var entries: [Entry] = []
        /// How many observations want a signal.
        var wants: [DaemonSignal: Int] = [:]
    }

    private let state = Locked(State())

    var daemon: String? { state.withLock { $0.daemon } }

    // MARK: Signals

    /// Asks the bus for signals. What is sent on the connection after this is done after it. On any thread: the bus
    /// counts rules that are equal, so that the order of asking and of ending does not matter.
    func want(_ signals: Set<DaemonSignal>, on connection: Connection) {
        for signal in signals where count(signal, 1) == 1 { connection.requestMatch(Self.rule(for: signal)) }
    }

    private func endWanting(_ signals: Set<DaemonSignal>, on connection: Connection) {
        for signal in signals where count(signal, -1) == 0 { connection.removeMatch(Self.rule(for: signal)) }
    }

    /// - Returns: how many observations want the signal now.
    private func count(_ signal: DaemonSignal, _ change: Int) -> Int {
        state.withLock { state in
            state.wants[signal, default: 0] += change
            return state.wants[signal] ?? 0
        }
    }

    private static func rule(for signal: DaemonSignal) -> MatchRule {
        MatchRule(sender: Router.name, interface: Router.interface, member: signal.rawValue)
    }

    // MARK: On the loop of the connection

    func add(_ entry: Entry) {
        let isThere = state.withLock { state in
            state.entries.append(entry)
            return state.daemon != nil
        }
        entry.handler(isThere ? .appeared : .vanished)
    }

    func remove(_ id: UInt64, on connection: Connection) {
        // The handler is released without the lock: what it has captured may hold another observation.
        let removed = state.withLock { state in
            state.entries.firstIndex { $0.id == id }.map { state.entries.remove(at: $0) }
        }
        if let removed { endWanting(removed.signals, on: connection) }
    }

    func setDaemon(_ name: String?) {
        let changes: [DaemonNotice] = state.withLock { state in
            let before = state.daemon
            state.daemon = name
            if before == name { return [] }
            return (before == nil ? [] : [.vanished]) + (name == nil ? [] : [.appeared])
        }
        for notice in changes {
            for entry in state.withLock({ $0.entries }) { entry.handler(notice) }
        }
    }

    /// Handles every signal of the connection, in order. The bus delivers unicast signals of anybody, so the sender is
    /// checked.
    func receive(_ message: Message) {
        if let change = message.ownerChange {
            if change.name == Router.name { setDaemon(change.owner) }
        } else if let sender = message.sender, sender == daemon, let announced = message.announced,
            let signal = DaemonSignal(rawValue: type(of: announced).signal)
        {
            let notice = DaemonNotice(announced)
            for entry in state.withLock({ $0.entries }) where entry.signals.contains(signal) { entry.handler(notice) }
        }
    }
}

extension DaemonNotice {
    fileprivate init(_ announced: any Announced) {
        switch announced {
        case let event as Event: self = .event(event)
        case let outcome as Outcome: self = .resolved(outcome)
        case let removal as Removal: self = .removed(removal)
        case let attention as Attention: self = .attention(attention)
        case let action as Action: self = .action(action)
        default: preconditionFailure("a signal is announced that no notice is for")
        }
    }
}
