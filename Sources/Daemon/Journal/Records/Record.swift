public import Routing

/// What happened, and what is known about it: the whole vocabulary of the journal, in one coding. The log has the
/// records in the order in which they happened; the index has them by what is searched, each with a checksum.
///
/// The frequent cases with much in them are allocated separately: records are copied more often than they are read.
public enum Record: Sendable, Equatable {
    indirect case accepted(StoredEvent)
    indirect case decided(EventID, StoredDecision)
    /// A claim that did not decide the event by itself.
    indirect case claimed(EventID, ClaimRecord)
    /// The name of a claimant's program became known: unique name, program, and an event that it claimed.
    case named(String, String, EventID)
    /// The pause, all mutes and lifted schedules, which replace those stored before.
    case quietReplaced([StoredQuiet])
    /// All snoozed events, which replace those stored before.
    case snoozesReplaced([StoredSnooze])
    /// All periods of schedules that owe a digest, which replace those stored before.
    case digestsReplaced([OwedDigest])
    /// A banner is up, or has another number than before.
    indirect case bannerUp(StoredBanner)
    /// No banner with this number is up.
    case bannerGone(UInt32)
    /// No banner is up.
    case allBannersGone
    /// An event that keeps its outcome was claimed or marked as read for the first time: by whom, and when.
    indirect case read(EventID, by: String, at: Int64, from: ClaimPlace = ClaimPlace())
    /// An event that has not come yet was claimed by name, in place of an earlier claim of this name.
    indirect case awaited(StoredAwaited)
    /// The event with this name has come, or is not awaited any longer.
    case awaitedGone(Origin)
    /// No event is awaited any longer.
    case allAwaitedGone
    /// A topic has no current value any more, and later ones are compared with this version; `nil`: the removal came
    /// too late, and the topic keeps what it has.
    indirect case removed(StoredRemoval, leaving: ValueVersion?)
    /// A removal that the file may have lost.
    indirect case tombstone(Tombstone)
    /// The journal was opened for writing: the highest number of a change before, and when.
    case start(last: UInt64, at: Int64)

    // What only the journal writes.

    /// An event was accepted whose id is below that of an earlier one.
    case late(EventID)
    /// A row of the index: an event with everything that is known about it.
    indirect case event(EventState)
    /// The global id of a removal or of a forgotten event.
    case globalID(NamedPush)
    /// What distinguishes this journal from every other.
    case seed(String)
    /// The journal's clock and marks, the number of events, and the highest id among them.
    indirect case retention(RetentionClock.State, [RetentionMarks.Mark], events: Int64, last: Int64)
    case counter(Counter, Int64)

    /// Numbers that the index keeps.
    public enum Counter: String, Sendable, CaseIterable {
        /// The sequence of the last frame of the log that it has.
        case applied
        /// The first change that is complete.
        case oldestChange
        /// The highest number of a change that may have no row.
        case lastHole
        /// The highest id that belongs to no event.
        case lastID
    }
}

/// An event with everything that is known about it.
public struct EventState: Sendable, Equatable {
    /// The event, with its decision.
    public var event: StoredEvent
    /// The number of the change that accepted it; `nil` if that has a row of its own.
    public var number: Int64?
    /// The number of the change that gave it its present outcome.
    public var decided: Int64?
    /// The claims that did not decide it, in their order; at most `Journal.claimsOfOneEvent`.
    public var claims: [ClaimRecord] = []
    /// Whether it has a read mark of its own.
    public var isMarkedRead = false
    /// Whether it is the current value of its topic.
    public var isValue = false

    /// Takes in what a record says of the event: nothing else knows how a record changes one.
    package mutating func apply(_ entry: LogRecord) {
        switch entry.record {
        case .decided(_, let decision):
            event.decision = decision
            decided = entry.number ?? decided
        case .claimed(_, let claim): if claims.count < Journal.claimsOfOneEvent { claims.append(claim) }
        case .named(let claimant, let program, _):
            if event.decision?.claimant == claimant { event.decision?.program = program }
            for index in claims.indices where claims[index].claimant == claimant { claims[index].program = program }
        case .read: isMarkedRead = true
        default: break
        }
    }
}

/// A record with its number.
package struct LogRecord: Sendable, Equatable {
    package var record: Record
    /// The number of the change that it is; `nil` where it is none.
    package var number: Int64?

    package init(_ record: Record, number: Int64? = nil) {
        self.record = record
        self.number = number
    }
}

extension Record {
    /// The event that it changes; `nil` for an acceptance, and for records of something else. See `EventState.apply`.
    package var subject: EventID? {
        switch self {
        case .decided(let id, _), .claimed(let id, _), .named(_, _, let id), .read(let id, by: _, at: _, from: _): id
        default: nil
        }
    }

    /// The version of the coding, in front of each record. Every change of the coding needs a new one, and one in
    /// `IndexSchema`.
    static var version: UInt8 { 2 }

    /// Codes are never given to another case: new ones come last.
    enum Code: UInt8 {
        case accepted = 1
        case decided, read, claimed, named, quietReplaced, snoozesReplaced, digestsReplaced, bannerUp, bannerGone,
            allBannersGone, awaited, awaitedGone, allAwaitedGone, removed, tombstone, start, late, event, globalID,
            seed, retention, counter
    }
}

extension LogRecord {
    /// Appends the record. Records follow one another without anything between them.
    package func write(to writer: inout RecordWriter) {
        func head(_ code: Record.Code) {
            writer.byte(Record.version)
            writer.byte(code.rawValue)
            number.write(to: &writer)
        }
        func write<each Part: RecordPart>(_ code: Record.Code, _ part: repeat each Part) {
            head(code)
            writer.values(repeat each part)
        }
        switch record {
        case .accepted(let event):
            head(.accepted)
            event.write(to: &writer)
        case .decided(let id, let decision):
            head(.decided)
            id.write(to: &writer)
            decision.write(to: &writer, of: id)
        case .read(let id, let claimant, let moment, let place):
            write(.read, id, claimant, id.distance(to: moment), place)
        case .claimed(let id, let claim): write(.claimed, id, claim)
        case .named(let claimant, let program, let id): write(.named, claimant, program, id)
        case .quietReplaced(let quiet): write(.quietReplaced, quiet)
        case .snoozesReplaced(let snoozes): write(.snoozesReplaced, snoozes)
        case .digestsReplaced(let digests): write(.digestsReplaced, digests)
        case .bannerUp(let banner): write(.bannerUp, banner)
        case .bannerGone(let number): write(.bannerGone, number)
        case .allBannersGone: write(.allBannersGone)
        case .awaited(let awaited): write(.awaited, awaited)
        case .awaitedGone(let origin): write(.awaitedGone, origin)
        case .allAwaitedGone: write(.allAwaitedGone)
        case .removed(let removal, let version): write(.removed, removal, version)
        case .tombstone(let tombstone): write(.tombstone, tombstone)
        case .start(let last, let moment): write(.start, last, moment)
        case .late(let id): write(.late, id)
        case .event(let state):
            head(.event)
            state.write(to: &writer)
        case .globalID(let push): write(.globalID, push)
        case .seed(let seed): write(.seed, seed)
        case .retention(let state, let marks, let events, let last): write(.retention, state, marks, events, last)
        case .counter(let counter, let number): write(.counter, counter, number)
        }
    }

    /// Appends the record with its checksum, as the index has it.
    package func writeSealed(to writer: inout RecordWriter) { writer.sealed { write(to: &$0) } }

    /// Reads a record with its checksum.
    ///
    /// - Throws: `Malformed` if the bytes are not exactly what was written.
    package init(sealed bytes: UnsafeRawBufferPointer) throws(FieldCoding.Malformed) {
        var reader = try RecordReader(sealed: bytes)
        try self.init(from: &reader)
        guard reader.isAtEnd else { throw FieldCoding.Malformed() }
    }

    /// Reads one record.
    ///
    /// - Throws: `Malformed` if the bytes do not begin with a whole record.
    package init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        guard try reader.value() == Record.version, let code = Record.Code(rawValue: try reader.value()) else {
            throw FieldCoding.Malformed()
        }
        number = try reader.value()
        record = try Record(code, from: &reader)
    }
}

extension Record {
    fileprivate init(_ code: Code, from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        switch code {
        case .accepted: self = try reader.make(Record.accepted)
        case .decided:
            let id: EventID = try reader.value()
            self = .decided(id, try StoredDecision(from: &reader, of: id))
        case .read:
            self = try reader.make { (id: EventID, claimant, moment, place) in
                .read(id, by: claimant, at: id.moment(moment), from: place)
            }
        case .claimed: self = try reader.make(Record.claimed)
        case .named: self = try reader.make(Record.named)
        case .quietReplaced: self = try reader.make(Record.quietReplaced)
        case .snoozesReplaced: self = try reader.make(Record.snoozesReplaced)
        case .digestsReplaced: self = try reader.make(Record.digestsReplaced)
        case .bannerUp: self = try reader.make(Record.bannerUp)
        case .bannerGone: self = try reader.make(Record.bannerGone)
        case .allBannersGone: self = .allBannersGone
        case .awaited: self = try reader.make(Record.awaited)
        case .awaitedGone: self = try reader.make(Record.awaitedGone)
        case .allAwaitedGone: self = .allAwaitedGone
        case .removed: self = try reader.make(Record.removed)
        case .tombstone: self = try reader.make(Record.tombstone)
        case .start: self = try reader.make(Record.start)
        case .late: self = try reader.make(Record.late)
        case .event: self = try reader.make(Record.event)
        case .globalID: self = try reader.make(Record.globalID)
        case .seed: self = try reader.make(Record.seed)
        case .retention: self = try reader.make(Record.retention)
        case .counter: self = try reader.make(Record.counter)
        }
    }
}
