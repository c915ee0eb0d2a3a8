import Dispatch

/// The calls of a connection that are not answered yet, by the serial numbers of their messages. One that has waited for too
/// long fails.
///
/// Everything here runs on the queue of the connection.
final class ReplyTable {
    private struct Pending {
        let ticket: UInt64
        let destination: String
        let deadline: UInt64
        let completion: Connection.Completion
    }

    private let queue: DispatchQueue
    private var pending: [UInt32: Pending] = [:]
    private var alarm: (any DispatchSourceTimer)?
    private var alarmTime = UInt64.max

    /// Whether a connection owns a well-known name.
    private let isOwner: @Sendable (_ connection: String, _ name: String) -> Bool

    init(queue: DispatchQueue, isOwner: @escaping @Sendable (_ connection: String, _ name: String) -> Bool) {
        self.queue = queue
        self.isOwner = isOwner
    }

    /// - Parameters:
    ///   - destination: to whom the call went.
    ///   - ticket: what the call is cancelled by.
    func add(
        _ serial: UInt32, to destination: String, ticket: UInt64, timeout: Duration,
        _ completion: @escaping Connection.Completion
    ) {
        let now = DispatchTime.now().uptimeNanoseconds
        let end = now.addingReportingOverflow(timeout.clampedNanoseconds)
        let deadline = end.overflow ? .max : end.partialValue
        pending[serial] = Pending(
            ticket: ticket, destination: destination, deadline: deadline, completion: completion)
        arm(deadline)
    }

    /// An answer has come from a connection. One that may not come from there is ignored: a bus may hand on answers that
    /// nobody asked for, and numbers can be guessed.
    func answer(_ serial: UInt32, from sender: String?, isError: Bool, _ result: Result<Message, NotifyError>) {
        guard let destination = pending[serial]?.destination else { return }
        if mayAnswer(sender, callTo: destination, isError: isError) { answer(serial, result) }
    }

    private func mayAnswer(_ sender: String?, callTo destination: String, isError: Bool) -> Bool {
        if sender == destination { return true }
        if sender == Bus.name { return isError }
        guard destination != Bus.name, !destination.hasPrefix(":") else { return false }
        return isOwner(sender ?? "", destination)
    }

    /// The answer to a call is there; one that nobody waits for any more is passed over.
    func answer(_ serial: UInt32, _ result: Result<Message, NotifyError>) {
        pending.removeValue(forKey: serial)?.completion(result)
    }

    func cancel(_ ticket: UInt64) {
        guard let serial = pending.first(where: { $0.value.ticket == ticket })?.key else { return }
        answer(serial, .failure(.cancelled))
    }

    /// Ends all waiting, in the order of the tickets.
    func failAll(_ error: NotifyError) {
        alarm?.cancel()
        alarm = nil
        let unanswered = pending.values.sorted { $0.ticket < $1.ticket }
        pending = [:]
        for reply in unanswered { reply.completion(.failure(error)) }
    }

    /// One timer for the earliest deadline. A reply does not disarm it: when it fires it asks what is due by then.
    private func arm(_ deadline: UInt64) {
        guard deadline < alarmTime else { return }
        let timer = alarm ?? DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: DispatchTime(uptimeNanoseconds: deadline), leeway: .milliseconds(1))
        alarmTime = deadline
        guard alarm == nil else { return }
        timer.setEventHandler { [weak self] in self?.expire() }
        timer.activate()
        alarm = timer
    }

    private func expire() {
        alarmTime = .max
        let now = DispatchTime.now().uptimeNanoseconds
        for (serial, reply) in pending where reply.deadline <= now {
            answer(serial, .failure(NotifyError(.timedOut, "No answer came in time.")))
        }
        if let next = pending.values.map(\.deadline).min() { arm(next) }
    }
}
