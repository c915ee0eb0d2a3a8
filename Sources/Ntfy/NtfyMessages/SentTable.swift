import NotifyJSON
import NotifyText

/// What was sent out, so that it is not sent twice, and that a claim finds its message.
public struct SentTable: Equatable, Sendable {
    /// A message, by where it is.
    public struct Key: Hashable, Sendable {
        public var topic: String
        public var sequence: String

        public init(topic: String, sequence: String) {
            self.topic = topic
            self.sequence = sequence
        }
    }

    public enum State: String, Sendable {
        /// It was about to be sent: after a crash nobody knows whether it was.
        case sending
        case sent
        /// It was cleared, there or here.
        case ended
    }

    public struct Entry: Equatable, Sendable {
        public var state: State
        public var source: String
        public var eventID: String
        /// When it was sent, in microseconds since the epoch.
        public var at: Int64
    }

    static let maximumEntries = 2000

    private var entries: [Key: Entry] = [:]
    private var changed: Set<Key> = []

    public init() {}

    public subscript(key: Key) -> Entry? { entries[key] }

    /// The messages of an event.
    ///
    /// - Parameter source: empty: the event was published on this machine, without a name of its own.
    public func messages(source: String, eventID: String) -> [(key: Key, entry: Entry)] {
        entries.filter { SentTable.isSource($0.value.source, source) && $0.value.eventID.hasBytes(of: eventID) }
            .map { ($0.key, $0.value) }.sorted { $0.key.topic < $1.key.topic }
    }

    /// Whether an event with this source is the one that is asked for.
    public static func isSource(_ source: String, _ wanted: String) -> Bool {
        wanted.isEmpty ? source.utf8.starts(with: "notifyd:".utf8) : source.hasBytes(of: wanted)
    }

    /// An event is about to be sent.
    public mutating func begin(_ key: Key, source: String, eventID: String, at time: Int64) {
        guard entries[key] == nil else { return }
        entries[key] = Entry(state: .sending, source: source, eventID: eventID, at: time)
        changed.insert(key)
        guard entries.count > Self.maximumEntries else { return }
        // A tenth at once, so that this is rare.
        for (key, _) in entries.sorted(by: { $0.value.at < $1.value.at }).prefix(Self.maximumEntries / 10) {
            entries[key] = nil
            changed.insert(key)
        }
    }

    /// It was sent, or has ended. An end is final.
    public mutating func set(_ key: Key, _ state: State) {
        guard let entry = entries[key], entry.state != state, entry.state != .ended else { return }
        entries[key]?.state = state
        changed.insert(key)
    }

    /// It is not sent at all.
    public mutating func forget(_ key: Key) {
        if entries.removeValue(forKey: key) != nil { changed.insert(key) }
    }

    // MARK: On disk

    /// What has changed since the last call: the value of a key, `nil` if it is gone.
    public mutating func takeChanges() -> [(key: Key, value: [UInt8]?)] {
        defer { changed = [] }
        return changed.map { key in
            let value = entries[key].map { entry in
                JSON.object([
                    ("state", .string(entry.state.rawValue)), ("source", .string(entry.source)),
                    ("event-id", .string(entry.eventID)), ("at", .integer(entry.at)),
                ]).bytes
            }
            return (key, value)
        }
    }

    /// Takes a value from the disk; what is not understood is left out.
    public mutating func restore(_ key: Key, _ value: [UInt8]) {
        guard let json = try? JSONParser.parse(value), let state = json["state"]?.string.flatMap(State.init),
            let source = json["source"]?.string, let eventID = json["event-id"]?.string,
            let at = json["at"]?.integer(as: Int64.self)
        else { return }
        entries[key] = Entry(state: state, source: source, eventID: eventID, at: at)
    }
}
