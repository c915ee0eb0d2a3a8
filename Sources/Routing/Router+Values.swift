/// Live values: an event published to be kept is the current value of its topic, until it is replaced, removed, or its
/// lifetime ends.
extension Router {
    /// The current value of a topic.
    struct LiveValue {
        let id: EventID
        let bytes: Int
        /// Stands for the end of its lifetime.
        let ticket: LifetimeClock.Ticket
    }

    mutating func keepValue(_ id: EventID, of topic: Topic, bytes: Int, until expires: Uptime) {
        dropValue(of: topic)
        valueBytes += bytes
        values[topic] = LiveValue(id: id, bytes: bytes, ticket: lifetimes.put(.value(topic), at: expires))
    }

    /// - Returns: whether there was one.
    @discardableResult
    mutating func dropValue(of topic: Topic) -> Bool {
        guard let value = values.removeValue(forKey: topic) else { return false }
        valueBytes -= value.bytes
        return true
    }

    mutating func acceptRemoval(_ publication: Publication, at now: Now) {
        let id = takeID()
        statistics.published += 1
        repeats.remember(publication.options.origin, as: id, at: now.uptime)
        effects.append(.reply(.accepted(id)))
        let hadValue = dropValue(of: publication.topic)
        effects.append(.remove(publication.topic, id, publication.options.origin, isNews: hadValue))
    }

    /// The value's lifetime is over; the removal gets an id of its own, so that it has its place among the events.
    mutating func removeValue(at topic: Topic) {
        guard dropValue(of: topic) else { return }
        effects.append(.remove(topic, takeID(), Origin(), isNews: true))
    }

    func checkRoom(forValue event: Event) -> Refusal? {
        let present = values[event.topic]
        if present == nil, values.count >= limits.values {
            return .limitExceeded(
                "current values: \(limits.values) topics have one; remove one with the option 'remove'")
        }
        guard valueBytes - (present?.bytes ?? 0) + event.footprint > limits.valueBytes else { return nil }
        return .limitExceeded(
            "bytes of current values: with this one it would be more than \(limits.valueBytes); "
                + "remove one with the option 'remove'")
    }

    /// The highest id there is.
    public var lastID: EventID { EventID(nextID.rawValue - 1) }
}
