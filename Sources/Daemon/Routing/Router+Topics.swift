/// Claims of whole topics: events in memory, and during the grace those that arrive.
extension Router {
    mutating func claimTopic(_ topic: TopicPrefix, grace: Duration, by claimant: String, at now: Now) throws(Refusal)
        -> Int
    {
        guard grace <= limits.maximumGrace else {
            throw .limitExceeded(
                "the grace is \(grace.text); it is at most \(limits.maximumGrace.text), in milliseconds")
        }
        guard grace == .zero || graces.count < limits.graces else {
            throw .limitExceeded("topic claims with a grace: \(limits.graces) are running; try again in a moment")
        }
        guard grace == .zero || owners[claimant].graces < limits.gracesPerProgram else {
            throw .limitExceeded(
                "topic claims with a grace of one program: \(limits.gracesPerProgram) of yours are running; "
                    + "try again in a moment")
        }
        let found = claimable(atOrBelow: topic)
        applyClaims(found, by: claimant, as: .topic, at: now)
        effects.append(.markRead(topic, upTo: lastID, by: claimant, as: .topic))
        if grace > .zero {
            let id = graces.begin(topic, by: claimant, in: &owners)
            _ = timers.schedule(.grace(id), at: now.instant + grace)
        }
        sendBanners(at: now)
        return found.count
    }

    /// Who claims an event with this topic on arrival: a screen, or a topic claim with a grace.
    func standingClaim(on topic: Topic) -> (claimant: String, form: ClaimForm)? {
        if let screen = screens.claimant(of: topic) { return (screen.owner, .screen) }
        return graces.claimant(of: topic).map { ($0, .topic) }
    }

    /// The events in memory at or below a topic, oldest first.
    func claimable(atOrBelow topic: TopicPrefix) -> [EventID] {
        events.values.lazy.filter { topic.covers($0.event.topic) }.map(\.event.id).sorted()
    }
}
