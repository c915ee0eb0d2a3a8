import DequeModule
import NotifyText

/// Which of two values or removals of a topic is newer: the one that was published later, and of two at the same time the one
/// with the greater global name. Every device decides the same, in whatever order they arrive.
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
    func isNewer(than other: ValueVersion, on device: String) -> Bool {
        guard published == other.published else { return published > other.published }
        let (name, otherName) = (origin.name(of: id, on: device), other.origin.name(of: other.id, on: device))
        if name.source.hasBytes(of: otherName.source) {
            return otherName.eventID.utf8.lexicographicallyPrecedes(name.eventID.utf8)
        }
        return otherName.source.utf8.lexicographicallyPrecedes(name.source.utf8)
    }
}

extension Origin {
    /// The global name: source and event-id, or the device and the id in decimal where one of them is missing.
    public func name(of id: EventID, on device: String) -> (source: String, eventID: String) {
        if let source, let eventID { return (source, eventID) }
        return (Self.source(of: device), id.description)
    }

    /// The source of the events that have no global name of their own.
    public static func source(of device: String) -> String { "notifyd:" + device }
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
