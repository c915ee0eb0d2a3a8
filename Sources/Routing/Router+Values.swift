/// Live values: an event published to be kept is the current value of its topic, until it is replaced, removed, or its
/// lifetime ends.
extension Router {
    /// The current value of a topic.
    struct LiveValue {
        let id: EventID
        /// Stands for the end of its lifetime.
        let ticket: LifetimeClock.Ticket
    }

    mutating func keepValue(_ id: EventID, of topic: Topic, until expires: Uptime) {
        values[topic] = LiveValue(id: id, ticket: lifetimes.put(.value(topic), at: expires))
    }

    mutating func acceptRemoval(_ publication: Publication, at now: Now) {
        let id = takeID()
        statistics.published += 1
        repeats.remember(publication.options.origin, as: id, at: now.uptime)
        effects.append(.reply(.accepted(id)))
        let hadValue = values.removeValue(forKey: publication.topic) != nil
        effects.append(.remove(publication.topic, id, publication.options.origin, isNews: hadValue))
    }

    /// The value's lifetime is over; the removal gets an id of its own, so that it has its place among the events.
    mutating func removeValue(at topic: Topic) {
        guard values.removeValue(forKey: topic) != nil else { return }
        effects.append(.remove(topic, takeID(), Origin(), isNews: true))
    }

    func checkRoom(forValueAt topic: Topic) -> Refusal? {
        guard values[topic] == nil, values.count >= limits.values else { return nil }
        return .limitExceeded("live values: \(limits.values) topics have one; remove one with the option 'remove'")
    }

    /// The highest id there is.
    public var lastID: EventID { EventID(nextID.rawValue - 1) }
}
