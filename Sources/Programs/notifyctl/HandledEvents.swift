import NotifyClient

/// The events that the command of `listen --claim --exec` was run for, or will be. notifyd announces an undecided event
/// again after a restart; its command does not run a second time for that.
struct HandledEvents: Sendable {
    enum Stage: Sendable {
        case new
        /// The command waits for its turn or runs.
        case inHand
        /// The command has succeeded.
        case done
    }

    /// How many events whose command has succeeded are remembered.
    private static let memory = 1000

    private var inHand: Set<EventID> = []
    private var done: [EventID] = []

    /// What was done for an event that is heard now. A new one is in hand from now on.
    mutating func hear(_ event: Event) -> Stage {
        if inHand.contains(event.id) { return .inHand }
        if event.isReplayed, done.contains(event.id) { return .done }
        inHand.insert(event.id)
        return .new
    }

    mutating func end(_ id: EventID, isDone: Bool) {
        inHand.remove(id)
        guard isDone else { return }
        done.append(id)
        if done.count > Self.memory { done.removeFirst() }
    }
}
