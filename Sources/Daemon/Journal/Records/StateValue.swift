package import Routing

/// What the index keeps beside the events: one value each, with its checksum.
package enum StateValue: Sendable, Equatable {
    case quiet([StoredQuiet])
    case snoozes([StoredSnooze])
    case digests([OwedDigest])
    case banner(StoredBanner)
    case awaited(StoredAwaited)
    case tombstone(Tombstone)
    /// The global id of a removal, and when it was accepted.
    case removal(NamedPush, accepted: Int64)
    /// What distinguishes this journal from every other.
    case seed(String)
    /// The journal's clock and marks, the number of events, and the highest id among them.
    case retention(RetentionClock.State, [RetentionMarks.Mark], events: Int64, last: Int64)
    /// A change that has a row of its own.
    case change(ChangeRow)
    /// A number that stands alone, such as that of a change.
    case number(Int64)
}

extension StateValue {
    /// Kinds are never changed or given to another case. They are not codes of records, and not that of `EventState`.
    private enum Kind: UInt8 {
        case quiet = 65
        case snoozes = 66
        case digests = 67
        case banner = 68
        case awaited = 69
        case tombstone = 70
        case removal = 71
        case seed = 72
        case retention = 73
        case change = 74
        case number = 75
    }

    private var kind: Kind {
        switch self {
        case .quiet: .quiet
        case .snoozes: .snoozes
        case .digests: .digests
        case .banner: .banner
        case .awaited: .awaited
        case .tombstone: .tombstone
        case .removal: .removal
        case .seed: .seed
        case .retention: .retention
        case .change: .change
        case .number: .number
        }
    }

    /// Appends the value with its checksum.
    package func write(to writer: inout RecordWriter) {
        writer.sealed(kind: kind.rawValue) { writer in
            switch self {
            case .quiet(let quiet): writer.list(quiet)
            case .snoozes(let snoozes): writer.list(snoozes)
            case .digests(let digests): writer.list(digests)
            case .banner(let banner): writer.value(banner)
            case .awaited(let awaited): writer.value(awaited)
            case .tombstone(let tombstone): writer.value(tombstone)
            case .removal(let removal, let accepted):
                writer.value(removal.id)
                writer.value(removal.origin)
                writer.number(accepted, from: removal.id)
            case .seed(let seed): writer.text(seed)
            case .retention(let state, let marks, let events, let last):
                writer.value(state)
                writer.list(marks)
                writer.number(events)
                writer.number(last)
            case .change(let row): writer.value(row)
            case .number(let number): writer.number(number)
            }
        }
    }

    /// Reads a value.
    ///
    /// - Throws: `Malformed` if the bytes are not exactly what was written.
    package init(stored bytes: UnsafeRawBufferPointer) throws(FieldCoding.Malformed) {
        var (reader, code) = try RecordReader.opened(bytes)
        guard let kind = Kind(rawValue: code) else { throw FieldCoding.Malformed() }
        switch kind {
        case .quiet: self = .quiet(try reader.list())
        case .snoozes: self = .snoozes(try reader.list())
        case .digests: self = .digests(try reader.list())
        case .banner: self = .banner(try reader.value())
        case .awaited: self = .awaited(try reader.value())
        case .tombstone: self = .tombstone(try reader.value())
        case .removal:
            let id: EventID = try reader.value()
            let push = NamedPush(origin: try reader.value(), id: id)
            self = .removal(push, accepted: try reader.number(from: id))
        case .seed: self = .seed(try reader.text())
        case .retention:
            self = .retention(
                try reader.value(), try reader.list(), events: try reader.number(), last: try reader.number())
        case .change: self = .change(try reader.value())
        case .number: self = .number(try reader.number())
        }
        try reader.end()
    }
}
