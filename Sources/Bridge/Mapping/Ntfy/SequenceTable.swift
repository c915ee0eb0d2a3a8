import NotifyText

/// What is known about sequences, and which of it is not on disk yet.
private struct RecordTable<Entry: Equatable & Sendable>: Equatable, Sendable {
    typealias Key = SequenceTable.Key

    private(set) var entries: [Key: Entry] = [:]
    private var changed: Set<Key> = []

    subscript(key: Key) -> Entry? {
        get { entries[key] }
        set {
            entries[key] = newValue
            changed.insert(key)
        }
    }

    /// Takes an entry from the disk.
    mutating func restore(_ key: Key, _ entry: Entry) { entries[key] = entry }

    /// Forgets the oldest, if there are too many: a tenth at once, so that this is rare.
    mutating func forgetOldest<Age: Comparable>(beyond maximum: Int, by age: (Entry) -> Age) {
        guard entries.count > maximum else { return }
        let oldest = entries.sorted { age($0.value) < age($1.value) }.prefix(maximum / 10)
        for (key, _) in oldest { self[key] = nil }
    }

    mutating func takeChanges(_ record: (Entry) -> JSON) -> [(key: Key, value: [UInt8]?)] {
        defer { changed = [] }
        return changed.map { key in (key, entries[key].map { record($0).bytes }) }
    }
}

/// Which messages of a topic belong to a sequence that the publisher has named, and which sequences were cleared before
/// their messages came. What has no such name needs no table: its sequence is its id.
public struct SequenceTable: Equatable, Sendable {
    /// A sequence.
    public struct Key: Hashable, Sendable, CustomStringConvertible {
        public var topic: String
        public var sequence: String

        public init(topic: String, sequence: String) {
            self.topic = topic
            self.sequence = sequence
        }

        /// Reads the description; `nil` if it is something else.
        public init?(_ text: some StringProtocol) {
            let parts = text.split(separator: "/")
            guard parts.count == 2 else { return nil }
            self.init(topic: String(parts[0]), sequence: String(parts[1]))
        }

        /// In the keys of records.
        public var description: String { "\(topic)/\(sequence)" }
    }

    /// How a sequence ended.
    public enum Ending: String, Sendable {
        /// Somebody has read it.
        case cleared
        /// Somebody has deleted it.
        case deleted
    }

    fileprivate struct Known: Equatable, Sendable {
        var id: String
        var time: Int64
    }

    fileprivate struct Entry: Equatable, Sendable {
        /// The last messages.
        var messages: [Known] = []
        /// When it ended, in seconds by the clock of the server.
        var end: Int64?
        /// The message that said so, by which it is told when it comes again.
        var endID = ""
        var ending = Ending.cleared
        /// For the oldest to be forgotten.
        var used: UInt64 = 0
    }

    static let maximumEntries = 1000
    static let maximumIDs = 8

    private var entries = RecordTable<Entry>()
    private var uses: UInt64 = 0

    public init() {}

    // MARK: What comes

    /// A message has come.
    ///
    /// - Returns: how it had ended before it came; `nil` if it is news.
    public mutating func received(_ message: NtfyMessage) -> Ending? {
        let key = Key(topic: message.topic, sequence: message.sequence)
        guard message.hasSequence || entries[key] != nil else { return nil }
        var entry = entries[key] ?? Entry()
        let isKnown = entry.messages.contains { $0.id == message.id }
        // Within a second nobody knows which was first: an end belongs to a message, so to this one if there is no
        // other.
        let isTheOne = message.time == entry.end && (isKnown || entry.messages.isEmpty)
        let hasEnded = entry.end.map { message.time < $0 } ?? false || isTheOne
        if message.hasSequence, !isKnown {
            entry.messages = (entry.messages + [Known(id: message.id, time: message.time)]).suffix(Self.maximumIDs)
        }
        store(entry, key)
        return hasEnded ? entry.ending : nil
    }

    /// A sequence has ended.
    ///
    /// - Returns: the halves of the global names that belong to it.
    public mutating func ended(_ message: NtfyMessage, _ ending: Ending) -> [String] {
        let key = Key(topic: message.topic, sequence: message.sequence)
        var entry = entries[key] ?? Entry()
        if entry.endID == message.id { return [] }
        if message.time >= entry.end ?? 0 {
            entry.end = message.time
            entry.endID = message.id
            entry.ending = ending
        }
        store(entry, key)
        // What came later is news, also if this comes once more.
        let named = entry.messages.filter { $0.time <= message.time }
            .map { NtfyEvent.eventID(id: $0.id, sequence: message.sequence) }
        return (Self.mayBeID(message.sequence) ? [message.sequence] : []) + named
    }

    /// ntfy makes ids of 12 letters and digits.
    static func mayBeID(_ sequence: String) -> Bool {
        sequence.utf8.count == 12 && sequence.utf8.allSatisfy { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "_") }
    }

    private mutating func store(_ entry: Entry, _ key: Key) {
        uses += 1
        var entry = entry
        entry.used = uses
        entries[key] = entry
        entries.forgetOldest(beyond: Self.maximumEntries, by: \.used)
    }

    // MARK: On disk

    /// What has changed since the last call: the value of a key, `nil` if it is gone.
    public mutating func takeChanges() -> [(key: Key, value: [UInt8]?)] {
        entries.takeChanges { entry in
            let hasEnded = entry.end != nil
            return .object(present: [
                "messages": entry.messages.map { JSON.array([.string($0.id), .integer($0.time)]) },
                "end": entry.end, "by": hasEnded ? entry.endID : nil, "ending": hasEnded ? entry.ending.rawValue : nil,
            ])
        }
    }

    /// Takes a value from the disk; what is not understood is left out.
    public mutating func restore(_ key: Key, _ value: [UInt8]) {
        guard let json = try? JSONParser.parse(value) else { return }
        uses += 1
        let messages = (json["messages"]?.elements ?? []).compactMap { pair -> Known? in
            guard let pair = pair.elements, pair.count == 2, let id = pair[0].string,
                let time = pair[1].integer(as: Int64.self)
            else { return nil }
            return Known(id: id, time: time)
        }
        let entry = Entry(
            messages: messages, end: json["end"]?.integer(), endID: json["by"]?.string ?? "",
            ending: json["ending"]?.string.flatMap(Ending.init) ?? .cleared, used: uses)
        entries.restore(key, entry)
    }
}

/// What was sent out, so that it is not sent twice, and that a claim finds its message.
public struct SentTable: Equatable, Sendable {
    /// A message, by the sequence that it is in.
    public typealias Key = SequenceTable.Key

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

    private var table = RecordTable<Entry>()

    public init() {}

    public subscript(key: Key) -> Entry? { table[key] }

    /// The messages of an event.
    ///
    /// - Parameter source: empty: the event was published on this machine, without a name of its own.
    public func messages(source: String, eventID: String) -> [(key: Key, entry: Entry)] {
        table.entries.filter { SentTable.isSource($0.value.source, source) && $0.value.eventID.hasBytes(of: eventID) }
            .map { ($0.key, $0.value) }.sorted { $0.key.topic < $1.key.topic }
    }

    /// Whether an event with this source is the one that is asked for.
    public static func isSource(_ source: String, _ wanted: String) -> Bool {
        wanted.isEmpty ? source.utf8.starts(with: "notifyd:".utf8) : source.hasBytes(of: wanted)
    }

    /// An event is about to be sent.
    public mutating func begin(_ key: Key, source: String, eventID: String, at time: Int64) {
        guard table[key] == nil else { return }
        table[key] = Entry(state: .sending, source: source, eventID: eventID, at: time)
        table.forgetOldest(beyond: Self.maximumEntries, by: \.at)
    }

    /// It was sent, or has ended. An end is final.
    public mutating func set(_ key: Key, _ state: State) {
        guard let entry = table[key], entry.state != state, entry.state != .ended else { return }
        table[key]?.state = state
    }

    /// It is not sent at all.
    public mutating func forget(_ key: Key) {
        if table[key] != nil { table[key] = nil }
    }

    // MARK: On disk

    /// What has changed since the last call: the value of a key, `nil` if it is gone.
    public mutating func takeChanges() -> [(key: Key, value: [UInt8]?)] {
        table.takeChanges { entry in
            ["state": entry.state.rawValue, "source": entry.source, "event-id": entry.eventID, "at": entry.at]
        }
    }

    /// Takes a value from the disk; what is not understood is left out.
    public mutating func restore(_ key: Key, _ value: [UInt8]) {
        guard let json = try? JSONParser.parse(value), let state = json["state"]?.string.flatMap(State.init),
            let source = json["source"]?.string, let eventID = json["event-id"]?.string,
            let at = json["at"]?.integer(as: Int64.self)
        else { return }
        table.restore(key, Entry(state: state, source: source, eventID: eventID, at: at))
    }
}

/// Messages that notifyd is asked to take, several at once, in the order in which they came. The cursor follows what is
/// done without a gap: what is still under way is asked for again after a crash.
public struct InFlight: Sendable {
    private struct Message: Sendable {
        let ticket: UInt64
        let key: SequenceTable.Key
        let time: Int64
        var isDone = false
    }

    /// So many are under way at most.
    public static let maximum = 16

    private var messages: [Message] = []
    private var last: UInt64 = 0

    public init() {}

    public var isEmpty: Bool { messages.isEmpty }

    /// The number of the last message that has come.
    public var lastTicket: UInt64 { last }

    /// Whether everything up to a number is done.
    public func isDone(upTo ticket: UInt64) -> Bool { messages.first.map { $0.ticket > ticket } ?? true }

    /// The numbers of messages of the same sequence that came before and are not done.
    public func earlier(_ ticket: UInt64) -> [UInt64] {
        guard let key = messages.first(where: { $0.ticket == ticket })?.key else { return [] }
        return messages.filter { !$0.isDone && $0.ticket < ticket && $0.key == key }.map(\.ticket)
    }

    /// A message has come.
    ///
    /// - Returns: its number.
    public mutating func begin(_ message: NtfyMessage) -> UInt64 {
        last += 1
        let key = SequenceTable.Key(topic: message.topic, sequence: message.sequence)
        messages.append(Message(ticket: last, key: key, time: message.time))
        return last
    }

    /// A message is done.
    ///
    /// - Returns: the newest time of what is done now without a gap; `nil` if something before it is not.
    public mutating func end(_ ticket: UInt64) -> Int64? {
        guard let index = messages.firstIndex(where: { $0.ticket == ticket }) else { return nil }
        messages[index].isDone = true
        let done = messages.prefix { $0.isDone }
        let newest = done.map(\.time).max()
        messages.removeFirst(done.count)
        return newest
    }
}
