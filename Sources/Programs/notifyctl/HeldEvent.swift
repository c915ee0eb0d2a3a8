import NotifyClient

/// An event that `listen --claim --exec` held while its command ran.
struct HeldEvent: Sendable {
    let id: EventID
    let client: NotifyClient
    /// How long it could be held.
    let limit: Duration

    /// Claims or releases it, also after the task was cancelled.
    ///
    /// - Parameter isDone: whether the command succeeded.
    /// - Returns: what went wrong, in words; `nil` if nothing did.
    func settle(isDone: Bool) async -> String? {
        await Task { await settleOrSay(isDone: isDone) }.value
    }

    private func settleOrSay(isDone: Bool) async -> String? {
        do throws(NotifyError) {
            do throws(NotifyError) {
                try await client.settle(id, isDone: isDone)
                return nil
            } catch  where error.name?.hasSuffix(".NotClaimant") == true {
                return try await settleUnheld(isDone: isDone)
            }
        } catch {
            return "The claim of event \(id) was not settled: \(error.advice)"
        }
    }

    /// The hold is gone: its time ran out, or notifyd was restarted. The event may still be undecided.
    private func settleUnheld(isDone: Bool) async throws(NotifyError) -> String? {
        var explanation = try await client.explain(id)
        if explanation.outcome == nil {
            guard isDone, try await client.claim(id) != .suppressed else { return nil }
            explanation = try await client.explain(id)
        }
        return Self.complaint(explanation, limit: limit)
    }

    /// What happened to an event that could not be claimed as its command ended.
    static func complaint(_ explanation: Explanation, limit: Duration) -> String {
        let id = explanation.id
        if explanation.outcome == .shown, explanation.claims.last(where: { $0.isEnd })?.form == "ranout" {
            return "The command for event \(id) took longer than \(limit.shortText): a banner was shown. "
                + "Allow more with --within."
        }
        let cause = explanation.isReplayed ? "notifyd was restarted, and the hold was lost" : "the hold was lost"
        let outcome = explanation.outcome?.rawValue ?? "undecided"
        return "Event \(id) was not held any more when its command ended: \(cause). "
            + "It is \(Terminal.plain(outcome)): \(Terminal.plain(explanation.reason))"
    }
}

/// The events that the command of `listen --claim --exec` was run for, or will be. notifyd announces an undecided event
/// again after a restart; its command does not run a second time for that.
struct HandledEvents: Sendable {
    enum Stage: Sendable {
        case new
        /// The command waits for its turn or runs.
        case inHand
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
