/// What somebody has seen: what is undecided or shown counts as claimed. What was never shown is marked where it is kept.
extension Router {
    /// - Parameter last: events with higher ids stay as they are; 0 means all.
    mutating func markRead(_ topic: TopicPrefix, upTo last: EventID, by claimant: String, at now: Now) {
        let last = last == EventID(0) ? lastID : min(last, lastID)
        let found = claimable(atOrBelow: topic).filter { $0 <= last }
        effects.append(.reply(.count(found.count)))
        takeAll(found, by: claimant, as: .read, at: now)
        effects.append(.markRead(topic, upTo: last, by: claimant, as: .read))
        sendBanners(at: now)
    }

    /// What is in memory has been claimed already, and is left out.
    mutating func settleLate(_ claims: [LateClaim]) {
        for claim in claims where !events.contains(claim.id) {
            statistics.count(claim.resolution.outcome)
            effects.append(.resolve(claim.id, claim.topic, claim.resolution))
        }
    }
}
