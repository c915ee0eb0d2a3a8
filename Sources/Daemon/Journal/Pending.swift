import DequeModule
import Routing

/// What the log has and the index does not: frames of records, and the events that they change.
///
/// Reads that concern a single event are answered from here; the others have the index filled first.
struct Pending {
    struct Frame {
        let sequence: UInt64
        let records: [LogRecord]
        /// Bytes in the log.
        let bytes: Int
        /// When it was written, in microseconds since the epoch.
        let written: Int64
    }

    /// An event that was accepted in one of the frames, as it is after all of them.
    final class AcceptedEvent {
        fileprivate(set) var state: EventState
        /// The last frame that changes it.
        fileprivate var last: UInt64
        /// The index has its outcome as it was after this frame; `nil`: the index does not have the event.
        var indexedThrough: UInt64?

        fileprivate init(_ state: EventState, in sequence: UInt64) {
            self.state = state
            last = sequence
        }
    }

    private(set) var frames: Deque<Frame> = []
    /// The number of records.
    private(set) var count = 0
    private(set) var bytes = 0
    private var accepted: [EventID: AcceptedEvent] = [:]
    private var names: [Origin: EventID] = [:]
    /// Other events that a frame changes: the last such frame, and whether one of them decides it.
    private var changed: [EventID: (last: UInt64, isDecided: Bool)] = [:]

    var isEmpty: Bool { frames.isEmpty }
    /// Whether the index should get some of it, whoever waits: it would make reads slow, and fill the log.
    func isLarge(inSegmentsOf segmentBytes: Int) -> Bool { count >= 1024 || bytes >= min(1 << 20, segmentBytes / 2) }
    var lastSequence: UInt64 { frames.last?.sequence ?? 0 }

    /// The number of events that the index does not have.
    var unindexedCount: Int { accepted.values.count { $0.indexedThrough == nil } }

    /// An event that the index does not have, or not as it is.
    func event(_ id: EventID) -> AcceptedEvent? { accepted[id] }

    /// Whether the index has an event, but not as it is.
    func isChanged(_ id: EventID) -> Bool { changed[id] != nil }

    /// Whether an event gets an outcome by a frame that waits.
    func decides(_ id: EventID) -> Bool {
        if let event = accepted[id] { return event.state.event.decision != nil }
        return changed[id]?.isDecided ?? false
    }

    /// Whether events up to an id wait that the index does not have.
    func hasUnindexedEvents(upTo last: EventID) -> Bool {
        accepted.contains { $0.key <= last && $0.value.indexedThrough == nil }
    }

    /// An event was deleted from the index.
    mutating func eventDeleted(_ id: EventID) {
        guard let event = accepted.removeValue(forKey: id) else { return }
        changed[id] = (event.last, false)
    }

    /// An event that was accepted with this global name.
    func event(named origin: Origin) -> EventID? { names[origin] }

    /// The changes above a number, as the index would list them; `nil` if not all are here, or if they are others than
    /// events that were accepted in these frames, and their outcomes.
    func changes(after number: Int64) -> [StoredChange]? {
        var changes: [StoredChange] = []
        for entry in frames.reversed().lazy.flatMap({ $0.records.reversed() }) {
            guard let found = entry.number else { continue }
            // Numbers grow in the order of the records.
            guard found > number else { return changes.reversed() }
            switch entry.record {
            case .accepted(let event):
                guard let accepted = accepted[event.id] else { return nil }
                let state = accepted.state
                if state.number == found { changes.append(StoredChange(found, .event(state.event))) }
            case .decided(let id, _):
                guard let accepted = accepted[id] else { return nil }
                let state = accepted.state
                if state.decided == found { changes.append(StoredChange(found, .outcome(state.event))) }
            default: return nil
            }
            if found == number + 1 { return changes.reversed() }
        }
        return nil
    }

    mutating func append(_ frame: Frame) {
        frames.append(frame)
        count += frame.records.count
        bytes += frame.bytes
        for record in frame.records { apply(record, of: frame.sequence) }
    }

    private mutating func apply(_ entry: LogRecord, of sequence: UInt64) {
        switch entry.record {
        case .accepted(let event):
            accepted[event.id] = AcceptedEvent(
                EventState(event: event, number: entry.number, isValue: event.retained), in: sequence)
            // The first one has the name.
            if event.origin.isGlobalID, names[event.origin] == nil { names[event.origin] = event.id }
        case let record:
            guard let id = record.subject else { return }
            if let event = accepted[id] {
                event.state.apply(entry)
                event.last = sequence
            } else {
                let isOutcome = if case .decided = record { true } else { false }
                changed[id] = (sequence, isOutcome || changed[id]?.isDecided ?? false)
            }
        }
    }

    /// Forgets frames that the index has now.
    mutating func removeFirst(_ number: Int) {
        guard let last = frames.prefix(number).last?.sequence else { return }
        for frame in frames.prefix(number) {
            count -= frame.records.count
            bytes -= frame.bytes
            for record in frame.records { remove(record, through: last) }
        }
        frames.removeFirst(number)
    }

    private mutating func remove(_ entry: LogRecord, through last: UInt64) {
        var id = entry.record.subject
        if case .accepted(let event) = entry.record {
            id = event.id
            if names[event.origin] == event.id { names[event.origin] = nil }
        }
        guard let id else { return }
        if let event = accepted[id], event.last <= last { accepted[id] = nil }
        if let change = changed[id], change.last <= last { changed[id] = nil }
    }
}
