import Journal
import Routing

/// Sends signals, or queues them while the bus is behind.
extension Daemon {
    func announce(_ signal: Signal, decided moment: Instant) {
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
                let found = try storage.read { journal throws(JournalError) in try journal.event(id) }
                // A damaged or expired event is no longer in the journal.
                guard let found else { return true }
                send(.event(storage.event(found, routes: configuration.routes), announcement), decided: moment)
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
            "signals that wait for the bus: there are \(outbox.signals.count) already; try again when the bus has taken some"
        )
    }

    var hasQueuedSignals: Bool { !outbox.signals.isEmpty }
    /// Whether jobs wait until the bus has taken more.
    var isBusBehind: Bool { hasQueuedSignals || host.queuedMessages >= Jobs.queueLimit }

    /// Whether queued signals or replayed events are sent beside the current ones.
    var isCatchingUp: Bool { hasQueuedSignals || recovery.isUnderWay }
}
