public import Routing

/// What happened: the whole vocabulary of the journal. Records are written in the order in which they happened.
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
    /// Removals that the file may have lost.
    case tombstones([Tombstone])
    /// The journal was opened for writing: the highest number of a change before, and when.
    case start(last: UInt64, at: Int64)
}

/// A record as the log has it.
package struct LogRecord: Sendable, Equatable {
    package var record: Record
    /// The number of the change that it is; `nil` where it is none.
    package var number: Int64?
    /// Whether it accepts an event below the id of one that was accepted before.
    package var isLate = false

    package init(_ record: Record, number: Int64? = nil, isLate: Bool = false) {
        self.record = record
        self.number = number
        self.isLate = isLate
    }
}

extension Record {
    /// The version of the coding, in front of each record and each stored value. Every change of the coding needs a new
    /// one.
    static var version: UInt8 { 1 }

    /// Codes are never changed or given to another case.
    fileprivate enum Code: UInt8 {
        case accepted = 1
        case decided = 2
        case read = 3
        case claimed = 4
        case named = 5
        case quietReplaced = 6
        case snoozesReplaced = 7
        case digestsReplaced = 8
        case bannerUp = 9
        case bannerGone = 10
        case allBannersGone = 11
        case awaited = 12
        case awaitedGone = 13
        case allAwaitedGone = 14
        case removed = 15
        case tombstones = 16
        case start = 17
    }
}

extension LogRecord {
    /// Appends the record. Records follow one another without anything between them.
    package func write(to writer: inout RecordWriter) {
        func begin(_ code: Record.Code) {
            writer.byte(Record.version)
            writer.byte(code.rawValue)
            writer.flags(number != nil, isLate)
            if let number { writer.number(number) }
        }
        switch record {
        case .accepted(let event):
            begin(.accepted)
            writer.value(event)
        case .decided(let id, let decision):
            begin(.decided)
            writer.value(id)
            decision.write(to: &writer, of: id)
        case .read(let id, let claimant, let moment, let place):
            begin(.read)
            writer.value(id)
            writer.text(claimant)
            writer.number(moment, from: id)
            writer.value(place)
        case .claimed(let id, let claim):
            begin(.claimed)
            writer.value(id)
            writer.value(claim)
        case .named(let claimant, let program, let id):
            begin(.named)
            writer.text(claimant)
            writer.text(program)
            writer.value(id)
        case .quietReplaced(let quiet):
            begin(.quietReplaced)
            writer.list(quiet)
        case .snoozesReplaced(let snoozes):
            begin(.snoozesReplaced)
            writer.list(snoozes)
        case .digestsReplaced(let digests):
            begin(.digestsReplaced)
            writer.list(digests)
        case .bannerUp(let banner):
            begin(.bannerUp)
            writer.value(banner)
        case .bannerGone(let number):
            begin(.bannerGone)
            writer.number(UInt64(number))
        case .allBannersGone: begin(.allBannersGone)
        case .awaited(let awaited):
            begin(.awaited)
            writer.value(awaited)
        case .awaitedGone(let origin):
            begin(.awaitedGone)
            writer.value(origin)
        case .allAwaitedGone: begin(.allAwaitedGone)
        case .removed(let removal, let version):
            begin(.removed)
            writer.flags(version != nil)
            writer.value(removal)
            if let version { writer.value(version) }
        case .tombstones(let tombstones):
            begin(.tombstones)
            writer.list(tombstones)
        case .start(let last, let moment):
            begin(.start)
            writer.number(last)
            writer.number(moment)
        }
    }

    /// Reads one record.
    ///
    /// - Throws: `Malformed` if the bytes do not begin with a whole record.
    package init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        guard try reader.byte() == Record.version, let code = Record.Code(rawValue: try reader.byte()) else {
            throw FieldCoding.Malformed()
        }
        let flags = try reader.flags(2)
        number = flags[0] ? try reader.number() as Int64 : nil
        isLate = flags[1]
        record = try Record(code, from: &reader)
    }
}

extension Record {
    fileprivate init(_ code: Code, from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        switch code {
        case .accepted: self = .accepted(try reader.value())
        case .decided:
            let id: EventID = try reader.value()
            self = .decided(id, try StoredDecision(from: &reader, of: id))
        case .read:
            let id: EventID = try reader.value()
            self = .read(id, by: try reader.text(), at: try reader.number(from: id), from: try reader.value())
        case .claimed: self = .claimed(try reader.value(), try reader.value())
        case .named: self = .named(try reader.text(), try reader.text(), try reader.value())
        case .quietReplaced: self = .quietReplaced(try reader.list())
        case .snoozesReplaced: self = .snoozesReplaced(try reader.list())
        case .digestsReplaced: self = .digestsReplaced(try reader.list())
        case .bannerUp: self = .bannerUp(try reader.value())
        case .bannerGone: self = .bannerGone(try reader.bannerNumber())
        case .allBannersGone: self = .allBannersGone
        case .awaited: self = .awaited(try reader.value())
        case .awaitedGone: self = .awaitedGone(try reader.value())
        case .allAwaitedGone: self = .allAwaitedGone
        case .removed:
            let flags = try reader.flags(1)
            self = .removed(try reader.value(), leaving: flags[0] ? try reader.value() : nil)
        case .tombstones: self = .tombstones(try reader.list())
        case .start: self = .start(last: try reader.number(), at: try reader.number())
        }
    }
}
