import Journal
import NotifyText
import Routing
import Systemd

/// `Press`: a button without a banner. Its command runs and it is announced, as for the button of a banner; then the
/// caller claims the event. The command is started first, so that a press whose command cannot be started changes
/// nothing.
extension Daemon {
    func press(_ action: String, of id: EventID, by caller: String, for call: RetainedMessage) throws(Refusal) {
        endTurnIfTooLong()
        let event = try pressable(id)
        let appearance = event.appearance
        guard appearance.actions.contains(where: { $0.key.bytes == action.bytes }) else {
            let keys = appearance.actions.map { "'\($0.key)'" }.joined(separator: ", ")
            throw .invalidEvent(
                "event \(id) has no button '\(action.quotable)'; "
                    + (keys.isEmpty ? "it has no buttons" : "its buttons are \(keys)"))
        }
        // As with a banner, a resident event is still there afterwards.
        let isResident = appearance.resident == true
        // The event may have been published in this turn, and its command has to find it in the journal.
        endTurn()
        if let refusal = host.run(action, of: event, token: nil) { throw refusal }
        sendAfterCommit(.reply(.done, to: call))
        announce(action, of: event)
        if !isResident { handle(.claimed(id, by: caller, pressing: action)) }
    }

    /// An unread event. Nobody presses a button of one that was claimed, closed or taken back.
    private func pressable(_ id: EventID) throws(Refusal) -> Event {
        if let event = router.event(id) { return event }
        endTurn()
        let stored = try storage.read { journal throws(JournalError) in try journal.event(id) }
        guard let stored = stored.map(storage.current) else { throw .noEvent(id) }
        guard stored.isUnread else {
            let outcome = stored.decision?.outcome.rawValue ?? "undecided"
            throw .notClaimant("event \(id) is \(outcome) and read; a button can be pressed while its event is unread")
        }
        return routed(stored)
    }
}
