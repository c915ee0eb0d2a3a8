import Journal
import Routing

/// Telling everybody: at once, or when what came before has left and the bus has room.
extension Daemon {
    /// Tells everybody, now or when what came before has left and the bus has room.
    func announce(_ signal: FanOut.Signal, decided moment: Instant) {
        guard fanOut.isEmpty, host.queuedBytes < FanOut.queueLimit, emit(signal, decided: moment) else {
            fanOut.put(signal, at: moment)
            return armFanOut()
        }
    }

    /// Sends what has waited, as far as there is room.
    func fanOutMore() {
        while let (signal, since) = fanOut.first {
            guard host.queuedBytes < FanOut.queueLimit, emit(signal, decided: since) else {
                return armFanOut()
            }
            fanOut.removeFirst()
        }
    }

    private func armFanOut() {
        host.armRecoveryTimer(at: host.now.instant + FanOut.pause)
    }

    /// - Returns: false when the signal cannot be made now, because the journal cannot be read.
    private func emit(_ signal: FanOut.Signal, decided moment: Instant) -> Bool {
        switch signal {
        case .event(let event, let announcement):
            host.send(host.announcement(event, announcement.after(host.now.instant - moment)))
        case .stored(let id, let announcement):
            guard storage.isWritable else { return false }
            // One that is damaged or out of date is not in the journal any more.
            let found = try? storage.read({ journal throws(JournalError) in try journal.event(id) })
            guard let found = found ?? nil else { return true }
            let event = storage.event(found, routes: configuration.routes)
            return emit(.event(event, announcement), decided: moment)
        case .resolved(let id, let topic, let resolution): host.send(host.resolution(id, topic, resolution))
        case .removed(let topic, let id): host.send(host.removal(topic, id))
        case .action(let event, let action): host.send(host.action(event, action))
        }
        Failpoint.afterSignal.pass()
        return true
    }

    /// Nothing is accepted of which nobody could be told.
    func requireFanOut() throws(Refusal) {
        guard fanOut.isFull else { return }
        throw .limitExceeded(
            "signals that wait for the bus: there are \(fanOut.count) already; try again when the bus has taken some")
    }

    /// Whether signals wait for the bus.
    var hasWaitingSignals: Bool { !fanOut.isEmpty }

    /// Whether everybody is being told more than what is decided now: what waits for the bus, or what earlier runs left.
    var isCatchingUp: Bool { hasWaitingSignals || recovery != nil }
}
