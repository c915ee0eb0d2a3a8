import NotifyText

/// The calls of a connection that wait for a reply, by serial number. A call that waits for too long fails.
final class ReplyTable: @unchecked Sendable {
    // Proof: everything runs on `loop`.

    private struct Pending {
        let callID: UInt64
        let destination: String
        let deadline: SuspendingClock.Instant
        let completion: Connection.Completion
    }

    private let loop: WorkLoop
    private var pending: [UInt32: Pending] = [:]
    private var timer: (deadline: SuspendingClock.Instant, timer: WorkTimer)?

    /// Whether a connection owns a well-known name.
    private let isOwner: Connection.OwnerCheck

    init(loop: WorkLoop, isOwner: @escaping Connection.OwnerCheck) {
        self.loop = loop
        self.isOwner = isOwner
    }

    /// - Parameters:
    ///   - destination: the destination of the call.
    ///   - callID: identifies the call for `cancel`.
    func add(
        _ serial: UInt32, to destination: String, callID: UInt64, timeout: Duration,
        _ completion: @escaping Connection.Completion
    ) {
        let deadline = SuspendingClock.now + timeout
        pending[serial] = Pending(callID: callID, destination: destination, deadline: deadline, completion: completion)
        arm(deadline)
    }

    /// Handles a reply. A reply from a connection other than the callee is ignored: a bus may deliver unrequested
    /// replies, and serial numbers can be guessed.
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

    /// Completes a call. A reply to a call that no longer waits is ignored.
    func answer(_ serial: UInt32, _ result: Result<Message, NotifyError>) {
        pending.removeValue(forKey: serial)?.completion(result)
    }

    func cancel(_ callID: UInt64) {
        guard let serial = pending.first(where: { $0.value.callID == callID })?.key else { return }
        answer(serial, .failure(.cancelled))
    }

    /// Fails all calls, in the order of their ids.
    func failAll(_ error: NotifyError) {
        timer?.timer.cancel()
        timer = nil
        let unanswered = pending.values.sorted { $0.callID < $1.callID }
        pending = [:]
        for reply in unanswered { reply.completion(.failure(error)) }
    }

    /// There is one timer, for the earliest deadline. A reply does not disarm it: when it fires, `expire` checks every
    /// deadline.
    private func arm(_ deadline: SuspendingClock.Instant) {
        if let timer {
            guard deadline < timer.deadline else { return }
            timer.timer.cancel()
        }
        timer = (deadline, loop.perform(after: deadline - .now) { [weak self] in self?.expire() })
    }

    private func expire() {
        timer = nil
        for (serial, reply) in pending where reply.deadline <= .now {
            answer(serial, .failure(NotifyError(.timedOut, "No reply arrived in time.")))
        }
        if let next = pending.values.map(\.deadline).min() { arm(next) }
    }
}
