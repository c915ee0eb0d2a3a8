package import Routing

/// What the log holds: everything that changes the journal, in the order in which it happened. See `JournalEntry`.
///
/// A number is that of the change, by which `Changes` lists it.
package enum Record: Sendable, Equatable {
    /// - isLate: whether an event with a higher id was accepted before.
    indirect case accepted(StoredEvent, number: Int64, isLate: Bool)
    /// - number: `nil` if the outcome keeps the one that it has: the event was marked as read.
    case decided(EventID, StoredDecision, number: Int64?)
    /// An event that keeps its outcome was claimed or marked as read for the first time: by whom, and when.
    case read(EventID, by: String, at: Int64, from: ClaimPlace, number: Int64)
    /// A claim that did not decide the event by itself.
    case claimed(EventID, ClaimRecord)
    /// The name of a claimant's program became known: unique name, program, and an event that it claimed.
    case named(String, String, EventID)
    /// The pause, all mutes and lifted schedules, which replace those before.
    case quietReplaced([StoredQuiet])
    /// All snoozed events, which replace those before.
    case snoozesReplaced([StoredSnooze])
    /// All periods of schedules that owe a digest, which replace those before.
    case digestsReplaced([OwedDigest])
    /// A banner is up, or has another number than before.
    case bannerUp(StoredBanner)
    /// No banner with this number is up.
    case bannerGone(UInt32)
    /// No banner is up.
    case allBannersGone
    /// An event that has not come yet was claimed by name, in place of an earlier claim of this name.
    indirect case awaited(StoredAwaited, number: Int64)
    /// The event with this name has come, or is not awaited any longer.
    case awaitedGone(Origin)
    /// All claims of events that have not come yet, which replace those before.
    case awaitedReplaced([StoredAwaited], number: Int64)
    /// A topic has no current value any more, and later ones are compared with this version; `nil`: the removal came too
    /// late, and the topic keeps what it has.
    indirect case removed(StoredRemoval, leaving: ValueVersion?, number: Int64)
    /// Removals that the index may have lost.
    case tombstones([Tombstone])
    /// The journal was opened for writing; before that, the highest number in it was `last`.
    case start(last: UInt64, at: Int64, number: Int64)
}

extension Record {
    /// The version of the coding, in front of each record and each stored value. Every change of the coding needs a new
    /// one.
    static var version: UInt8 { 1 }

    /// Codes are never changed or given to another case.
    private enum Code: UInt8 {
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
        case awaitedReplaced = 14
        case removed = 15
        case tombstones = 16
        case start = 17
    }

    /// Appends the record. Records follow one another without anything between them.
    package func write(to writer: inout RecordWriter) {
        func begin(_ code: Code) {
            writer.byte(Self.version)
            writer.byte(code.rawValue)
        }
        switch self {
        case .accepted(let event, let number, let isLate):
            begin(.accepted)
            writer.flags(isLate)
            writer.value(event)
            writer.number(number, from: event.id)
        case .decided(let id, let decision, let number):
            begin(.decided)
            writer.flags(number != nil)
            writer.value(id)
            decision.write(to: &writer, of: id)
            if let number { writer.number(number, from: id) }
        case .read(let id, let claimant, let moment, let place, let number):
            begin(.read)
            writer.value(id)
            writer.text(claimant)
            writer.number(moment, from: id)
            writer.value(place)
            writer.number(number, from: id)
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
        case .awaited(let awaited, let number):
            begin(.awaited)
            writer.value(awaited)
            writer.number(number)
        case .awaitedGone(let origin):
            begin(.awaitedGone)
            writer.value(origin)
        case .awaitedReplaced(let all, let number):
            begin(.awaitedReplaced)
            writer.list(all)
            writer.number(number)
        case .removed(let removal, let version, let number):
            begin(.removed)
            writer.flags(version != nil)
            writer.value(removal)
            if let version { writer.value(version) }
            writer.number(number, from: removal.id)
        case .tombstones(let tombstones):
            begin(.tombstones)
            writer.list(tombstones)
        case .start(let last, let moment, let number):
            begin(.start)
            writer.number(last)
            writer.number(moment)
            writer.number(number)
        }
    }

    /// Reads one record.
    ///
    /// - Throws: `Malformed` if the bytes do not begin with a whole record.
    package init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        guard try reader.byte() == Self.version, let code = Code(rawValue: try reader.byte()) else {
            throw FieldCoding.Malformed()
        }
        switch code {
        case .accepted:
            let flags = try reader.flags(1)
            let event: StoredEvent = try reader.value()
            self = .accepted(event, number: try reader.number(from: event.id), isLate: flags[0])
        case .decided:
            let flags = try reader.flags(1)
            let id: EventID = try reader.value()
            let decision = try StoredDecision(from: &reader, of: id)
            self = .decided(id, decision, number: flags[0] ? try reader.number(from: id) : nil)
        case .read:
            let id: EventID = try reader.value()
            self = .read(
                id, by: try reader.text(), at: try reader.number(from: id), from: try reader.value(),
                number: try reader.number(from: id))
        case .claimed: self = .claimed(try reader.value(), try reader.value())
        case .named: self = .named(try reader.text(), try reader.text(), try reader.value())
        case .quietReplaced: self = .quietReplaced(try reader.list())
        case .snoozesReplaced: self = .snoozesReplaced(try reader.list())
        case .digestsReplaced: self = .digestsReplaced(try reader.list())
        case .bannerUp: self = .bannerUp(try reader.value())
        case .bannerGone: self = .bannerGone(try reader.bannerNumber())
        case .allBannersGone: self = .allBannersGone
        case .awaited: self = .awaited(try reader.value(), number: try reader.number())
        case .awaitedGone: self = .awaitedGone(try reader.value())
        case .awaitedReplaced: self = .awaitedReplaced(try reader.list(), number: try reader.number())
        case .removed:
            let flags = try reader.flags(1)
            let removal: StoredRemoval = try reader.value()
            self = .removed(
                removal, leaving: flags[0] ? try reader.value() : nil, number: try reader.number(from: removal.id))
        case .tombstones: self = .tombstones(try reader.list())
        case .start: self = .start(last: try reader.number(), at: try reader.number(), number: try reader.number())
        }
    }
}
