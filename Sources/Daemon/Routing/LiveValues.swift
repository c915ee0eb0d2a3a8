import DequeModule
public import NotifyText

/// The current values of topics: ids of retained events, each until it is replaced or removed or its lifetime ends. The
/// removals of recent weeks are remembered.
struct LiveValues {
    struct Entry {
        let version: ValueVersion
        let bytes: Int
        /// Armed for the end of its lifetime.
        let timer: Router.Timers.LifetimeID

        var id: EventID { version.id }
    }

    private(set) var entries: [Topic: Entry] = [:]
    /// The memory cost of all values.
    private(set) var bytes = 0
    private var tombstones = Tombstones()

    var count: Int { entries.count }
    /// In the order of the removals.
    var removals: [Tombstone] { tombstones.all }

    subscript(topic: Topic) -> Entry? { entries[topic] }

    /// The version of a topic's value, or of its last removal.
    func last(of topic: Topic, at now: Uptime) -> ValueVersion? {
        entries[topic]?.version ?? tombstones.version(of: topic, at: now)
    }

    mutating func remember(_ tombstone: Tombstone, for time: Duration, limits: Limits, at now: Uptime) {
        tombstones.add(tombstone, until: now + time, limit: limits.removals, at: now)
    }

    mutating func set(_ version: ValueVersion, of topic: Topic, bytes: Int, timer: Router.Timers.LifetimeID) {
        remove(topic)
        self.bytes += bytes
        entries[topic] = Entry(version: version, bytes: bytes, timer: timer)
    }

    /// - Returns: the value that the topic had.
    @discardableResult
    mutating func remove(_ topic: Topic) -> Entry? {
        guard let entry = entries.removeValue(forKey: topic) else { return nil }
        bytes -= entry.bytes
        return entry
    }

    /// Removes the values that are events which could not be stored.
    mutating func remove(_ ids: [EventID]) {
        for (topic, entry) in entries where ids.contains(entry.id) { remove(topic) }
    }

    /// - Returns: why there is no room for another value; `nil` where there is.
    func checkRoom(for topic: Topic, bytes added: Int, limits: Limits) throws(Refusal) {
        let present = entries[topic]
        if present == nil, count >= limits.values {
            throw .limitExceeded(
                "current values: \(limits.values) topics have one; remove one with the option 'remove'")
        }
        guard bytes - (present?.bytes ?? 0) + added > limits.valueBytes else { return }
        throw .limitExceeded(
            "bytes of current values: with this one it would be more than \(limits.valueBytes); "
                + "remove one with the option 'remove'")
    }
}

extension Router {
    /// Removals that are remembered, in the order of their ids.
    public var rememberedRemovals: [Tombstone] { names.values.removals }

    mutating func acceptRemoval(_ publication: Publication, at now: Now) -> EventID {
        let id = events.takeID()
        let (version, isOutdated) = names.version(of: publication, as: id, at: now.uptime)
        output.statistics[.published] += 1
        names.deduplicator.record(publication.options.origin, as: id, at: now.uptime)
        let removal = ValueRemoval(
            id: id, topic: publication.topic, origin: publication.options.origin, published: version.published,
            cause: .publisher)
        if isOutdated {
            output.append(.remove(removal, leaving: nil, isNews: false))
        } else {
            let hadValue = names.removeValue(of: publication.topic) != nil
            remember(removal, version, at: now)
            output.append(.remove(removal, leaving: version, isNews: hadValue))
        }
        return id
    }

    /// The removal gets an id of its own, which gives it a position among the events.
    mutating func endValue(of topic: Topic, _ cause: ValueRemoval.Cause, at now: Now) {
        guard let version = names.removeValue(of: topic) else { return }
        let published = cause == .replaced ? version.published : nil
        let removal = ValueRemoval(
            id: events.takeID(), topic: topic, origin: Origin(), published: published, cause: cause)
        remember(removal, version, at: now)
        output.append(.remove(removal, leaving: version, isNews: true))
    }

    private mutating func remember(_ removal: ValueRemoval, _ version: ValueVersion, at now: Now) {
        names.remember(Tombstone(topic: removal.topic, version: version, removal: removal.id), at: now.uptime)
    }
}

/// A value or removal of a topic, by what decides which of two is newer; see `ValueStamp`.
public struct ValueVersion: Sendable, Equatable {
    /// Microseconds since the epoch.
    public let published: Int64
    /// The value or the removal.
    public let id: EventID
    /// Its global name, if it was published with one.
    public let origin: Origin

    public init(published: Int64, id: EventID, origin: Origin) {
        self.published = published
        self.id = id
        self.origin = origin
    }

    /// - Parameter device: this device, which names what has no global name of its own.
    func isNewer(than other: ValueVersion, on device: String) -> Bool { stamp(on: device) > other.stamp(on: device) }

    private func stamp(on device: String) -> ValueStamp {
        ValueStamp(published: published, name: origin.name(of: id, on: device))
    }
}

extension Origin {
    /// The global name: source and event-id, or the device and the id in decimal where one of them is missing.
    public func name(of id: EventID, on device: String) -> GlobalName {
        if let source, let eventID { return GlobalName(source: source, eventID: eventID) }
        return GlobalName(device: device, id: id.rawValue)
    }
}

/// A removal that is remembered, so that an older value does not come back.
public struct Tombstone: Sendable, Equatable {
    /// The topic, which had a value.
    public let topic: Topic
    /// What a later value must be newer than: the removal, or the value whose lifetime ended.
    public let version: ValueVersion
    /// The id of the removal.
    public let removal: EventID

    public init(topic: Topic, version: ValueVersion, removal: EventID) {
        self.topic = topic
        self.version = version
        self.removal = removal
    }
}

/// The removals of recent weeks; the oldest are forgotten first.
struct Tombstones {
    private var entries: [Topic: (tombstone: Tombstone, ends: Uptime)] = [:]
    /// In the order in which they were added. Those that a later removal has replaced are skipped.
    private var order = Deque<(topic: Topic, removal: EventID)>()

    var count: Int { entries.count }

    /// In the order of the removals.
    var all: [Tombstone] { entries.values.map(\.tombstone).sorted { $0.removal < $1.removal } }

    /// The version of a topic's last removal; `nil` where there was none lately.
    func version(of topic: Topic, at now: Uptime) -> ValueVersion? {
        guard let entry = entries[topic], entry.ends > now else { return nil }
        return entry.tombstone.version
    }

    /// - Parameter limit: how many are kept.
    mutating func add(_ tombstone: Tombstone, until ends: Uptime, limit: Int, at now: Uptime) {
        // After a failure of the journal, what it has is added again.
        if let present = entries[tombstone.topic], present.tombstone.removal >= tombstone.removal { return }
        entries[tombstone.topic] = (tombstone, ends)
        order.append((tombstone.topic, tombstone.removal))
        while let oldest = order.first {
            if let entry = entries[oldest.topic], entry.tombstone.removal == oldest.removal {
                guard entry.ends <= now || entries.count > limit else { break }
                entries[oldest.topic] = nil
            }
            order.removeFirst()
        }
        if order.count > 2 * entries.count + 64 {
            order.removeAll { entries[$0.topic]?.tombstone.removal != $0.removal }
        }
    }
}
