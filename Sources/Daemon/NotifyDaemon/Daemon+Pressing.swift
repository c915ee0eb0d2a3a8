import Journal
import NotifyText
import Routing

/// `Press`: a button without a banner. It is announced and its command runs, as for the button of a banner; then the caller
/// claims the event.
extension Daemon {
    func press(
        _ action: String, of id: EventID, by caller: String, for call: any MethodCall
    ) throws(Refusal) {
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
        if !isResident { try load(id, toDecide: true) }
        sendAfterCommit(.reply(.done, to: call))
        relay(action, of: event)
        if !isResident { handleWithoutReply(.claimed(id, by: caller)) }
    }

    /// An unread event. Nobody presses a button of one that was claimed, closed or taken back.
    private func pressable(_ id: EventID) throws(Refusal) -> Event {
        if let event = router.event(id) { return event }
        endTurn()
        let stored = try storage.read { journal throws(JournalError) in try journal.event(id) }
        guard let stored = stored.map(storage.current) else { throw .noEvent(id) }
        guard stored.isUnread else {
            let outcome = stored.decision?.outcome.rawValue ?? "undecided"
            throw .notClaimant(
                "event \(id) is \(outcome) and read; a button can be pressed while its event is unread")
        }
        return storage.event(stored, routes: configuration.routes)
    }
}
