/// The current values of topics: ids of retained events, each until it is replaced or removed or its lifetime ends.
struct LiveValues {
    struct Entry {
        let id: EventID
        let bytes: Int
        /// Armed for the end of its lifetime.
        let timer: Router.LifetimeTimers.TimerID
    }

    private(set) var entries: [Topic: Entry] = [:]
    /// The memory cost of all values.
    private(set) var bytes = 0

    var count: Int { entries.count }

    subscript(topic: Topic) -> Entry? { entries[topic] }

    mutating func set(_ id: EventID, of topic: Topic, bytes: Int, timer: Router.LifetimeTimers.TimerID) {
        remove(topic)
        self.bytes += bytes
        entries[topic] = Entry(id: id, bytes: bytes, timer: timer)
    }

    /// - Returns: whether the topic had a value.
    @discardableResult
    mutating func remove(_ topic: Topic) -> Bool {
        guard let entry = entries.removeValue(forKey: topic) else { return false }
        bytes -= entry.bytes
        return true
    }

    /// Removes the values that are events which could not be stored.
    mutating func remove(_ ids: [EventID]) {
        for (topic, entry) in entries where ids.contains(entry.id) { remove(topic) }
    }

    /// - Returns: why there is no room for another value; `nil` where there is.
    func refusal(of topic: Topic, bytes added: Int, limits: Limits) -> Refusal? {
        let present = entries[topic]
        if present == nil, count >= limits.values {
            return .limitExceeded(
                "current values: \(limits.values) topics have one; remove one with the option 'remove'")
        }
        guard bytes - (present?.bytes ?? 0) + added > limits.valueBytes else { return nil }
        return .limitExceeded(
            "bytes of current values: with this one it would be more than \(limits.valueBytes); "
                + "remove one with the option 'remove'")
    }
}

extension Router {
    mutating func setValue(_ id: EventID, of topic: Topic, bytes: Int, until expires: Uptime) {
        values.set(id, of: topic, bytes: bytes, timer: lifetimeTimers.schedule(.value(topic), at: expires))
    }

    mutating func acceptRemoval(_ publication: Publication, at now: Now) {
        let id = takeID()
        statistics.published += 1
        deduplicator.record(publication.options.origin, as: id, at: now.uptime)
        effects.append(.reply(.accepted(id)))
        let hadValue = values.remove(publication.topic)
        let published = publication.options.published ?? publication.received
        effects.append(
            .remove(publication.topic, id, publication.options.origin, published: published, isNews: hadValue))
    }

    /// The removal gets an id of its own, which gives it a position among the events.
    mutating func expireValue(of topic: Topic) {
        guard values.remove(topic) else { return }
        effects.append(.remove(topic, takeID(), Origin(), published: nil, isNews: true))
    }
}
