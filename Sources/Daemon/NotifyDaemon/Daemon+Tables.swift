import Journal
import Routing

/// The tables of the journal that are replaced together.
struct ReplacedTables: OptionSet {
    let rawValue: UInt8

    static let quiet = Self(rawValue: 1)
    static let snoozes = Self(rawValue: 2)
    static let digests = Self(rawValue: 4)
    static let awaited = Self(rawValue: 8)
    static let all: Self = [.quiet, .snoozes, .digests, .awaited]
}

/// What the router keeps in few rows. It is written to the journal whenever it has changed.
extension Daemon {
    /// Adds the tables that have changed to the commit of this turn, unless those of an earlier run have not been read yet.
    ///
    /// - Returns: the tables that are to be written.
    func recordTables() -> ReplacedTables {
        guard !unwrittenTables.isEmpty, isRestored, storage.isWritable else { return [] }
        let (tables, clock, records) = (unwrittenTables, clock, RecordBuilder(server: nil))
        unwrittenTables = []
        if tables.contains(.quiet) {
            storage.append(records.record(router.quiet, lifted: router.liftedSchedules, clock))
        }
        if tables.contains(.snoozes) { storage.append(records.record(router.snoozed, clock)) }
        if tables.contains(.digests) { storage.append(.digestsReplaced(router.owedDigests)) }
        // There may be many, so usually only what has changed is written.
        if tables.contains(.awaited) {
            storage.append(.allAwaitedGone)
            for awaited in router.awaitedClaims { storage.append(.awaited(records.stored(awaited, clock))) }
        }
        return tables
    }

    /// Called after a commit. What could not be written is written later.
    func keepUnwritten(_ tables: ReplacedTables) {
        if !storage.isWritable { unwrittenTables.formUnion(tables) }
    }
}
