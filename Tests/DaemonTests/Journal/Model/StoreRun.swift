import Foundation
import GRDB
import Glibc
import Routing

@testable import Journal

/// A store and its model, through everything that can happen to a store that keeps its promises.
final class StoreRun {
    private let folder: String
    private var directory: String
    private var lives = 0
    private(set) var journal: Journal
    private var model: StoreModel
    private var script: StoreScript
    private let clock = Clock()
    private let fault = IndexFault()
    /// An index that lacks the last commits, with the number of deletions up to then.
    private var older: (directory: String, deletions: Int)?
    private var deletions = 0
    /// The number of deletions that a checkpoint has written to the index.
    private var syncedDeletions = 0
    /// So many bytes of SQLite's log are on the disk.
    private var durable = 0
    /// The last change that was read.
    private var position: UInt64 = 0
    /// What was done last.
    private(set) var step = ""
    /// How often which step was done.
    private(set) var steps: [String: Int] = [:]

    private final class Clock {
        var now: Int64 = 1_000
    }

    init(seed: UInt64, in folder: String) throws {
        self.folder = folder
        directory = folder + "/0"
        script = StoreScript(seed: seed)
        model = StoreModel(at: clock.now)
        let clock = clock
        journal = try Journal(directory: directory, realtime: { clock.now })
        durable = FileCheck.size(directory + "/index.db-wal")
        watch()
    }

    private func watch() { journal.queue?.add(transactionObserver: fault, extent: .databaseLifetime) }

    /// Does what comes next, and compares.
    ///
    /// - Returns: what is different.
    func next() throws -> [String] {
        clock.now += Int64(script.below(400_000))
        try act()
        steps[step, default: 0] += 1
        var check = StoreCheck(journal, model)
        for _ in 0..<script.below(4) {
            guard !script.ids.isEmpty else { break }
            let id = script.ids[max(0, script.ids.count - 1 - script.below(20))]
            switch script.below(12) {
            case 0..<3: try check.checkName(id)
            case 3:
                try check.checkChanges(after: position)
                position = journal.newestChange
            default: try check.checkEvent(id)
            }
        }
        if script.chance(4) { try check.checkAll() }
        return check.flaws
    }

    /// - Returns: what is different after a last restart.
    func end() throws -> [String] {
        fault.error = nil
        try kill()
        var check = StoreCheck(journal, model)
        try check.checkAll()
        return check.flaws
    }

    private func act() throws {
        if fault.error != nil, script.chance(15) { return fail() }
        switch script.below(100) {
        case 0..<62: try commit()
        case 62..<74: try work()
        case 74..<77: try attempt("fold a portion") { try journal.foldPortion(script.below(20)) }
        case 77..<79: try checkpoint()
        case 79..<81: try expire()
        case 81..<83: try forget()
        case 83..<85: try restart()
        case 85..<90: try kill()
        case 90..<92: try keepIndex()
        case 92..<94: fail()
        case 94: try checkIntegrity()
        case 95..<97: probe()
        default: step = "nothing"
        }
    }

    /// What writes to the index fails while its disk is full, and changes nothing then.
    private func attempt(_ step: String, _ body: () throws -> Void) throws {
        self.step = step
        do { try body() } catch  where fault.error != nil {}
    }

    private func commit() throws {
        step = "commit"
        let turn = try script.turn(model)
        try journal.commit(turn)
        model.commit(turn)
    }

    private func work() throws {
        try attempt("work") {
            for _ in 0..<script.below(5) where try journal.work() != .zero { break }
        }
    }

    private func checkpoint() throws {
        step = "checkpoint"
        try journal.checkpoint()
        durable = 0
        syncedDeletions = deletions
    }

    private func probe() {
        step = "probe"
        // The record is in the log, whatever becomes of the index.
        do { try journal.probe() } catch {}
        model.probe()
    }

    private func expire() throws {
        try attempt("expire") {
            let candidates = model.deletable
            let excess = min(candidates.count, script.below(20))
            let deleted = try journal.expire(olderThan: .seconds(1 << 30), keeping: model.events.count - excess)
            guard deleted.count > 0 else { return }
            model.expire(Array(candidates.prefix(deleted.count)))
            deletions += 1
        }
    }

    private func forget() throws {
        step = "forget"
        guard fault.error == nil else { return }
        let topic = try TopicPrefix(script.pick(["/", "/post/1", "/chat", "/post"]))
        let last =
            script.chance(50) ? EventID(.max) : script.ids.last.map { EventID($0.rawValue - 20_000) } ?? EventID(0)
        var gone: [EventID] = []
        var position: Journal.UnreadPosition? = Journal.UnreadPosition(before: topic)
        while let start = position {
            let portion = try journal.forget(topic, after: start, upTo: last, limit: 50)
            gone += portion.ids
            position = portion.position
        }
        deletions += 1
        let wanted = model.forget(topic, upTo: last)
        guard gone.sorted() == wanted else { throw Different(what: "forgot \(gone.sorted()), not \(wanted)") }
        while try !journal.scrub() {}
        syncedDeletions = deletions
    }

    struct Different: Error { let what: String }

    private func checkIntegrity() throws {
        try attempt("check the integrity") {
            let events = model.events.count
            _ = try journal.beginIntegrityCheck()
            for _ in 0..<script.below(3) { try commit() }
            // The process that looks at the file would lower its priority, and this is ours.
            try journal.endIntegrityCheck(.sound(events: events))
        }
    }

    // MARK: Ends and beginnings

    private func restart() throws {
        step = "restart"
        // An orderly end that cannot write to the index is a kill.
        journal.close()
        if fault.error == nil { syncedDeletions = deletions }
        try open()
    }

    private func open() throws {
        fault.error = nil
        let clock = clock
        journal = try Journal(
            directory: directory, checkedWhenOpened: script.chance(50) ? 8 << 20 : 0, realtime: { clock.now })
        guard journal.setAside == nil else { throw Different(what: "set aside") }
        durable = FileCheck.size(directory + "/index.db-wal")
        model.open(at: clock.now)
        watch()
    }

    /// The process ends at once, or the power goes: then SQLite's log may lack its last transactions.
    private func kill() throws {
        step = "kill"
        lives += 1
        let next = "\(folder)/\(lives)"
        try copyOfJournal(in: directory, to: next)
        journal.stopWriting()
        journal.close()
        try FileManager.default.removeItem(atPath: directory)
        directory = next
        let log = next + "/index.db-wal"
        let size = FileCheck.size(log)
        // SQLite writes what it has in its log to the file when it has a thousand pages.
        if deletions == syncedDeletions, durable <= size, size < 900 * 4096, script.chance(50) {
            step = "cut the power"
            truncate(log, off_t(durable + script.below(size - durable + 1)))
        }
        try useOlderIndex()
        try open()
    }

    private func keepIndex() throws {
        step = "keep the index"
        let copy = "\(folder)/index \(lives)"
        try? FileManager.default.removeItem(atPath: copy)
        try copyOfJournal(in: directory, to: copy)
        older = (copy, deletions)
    }

    /// The log has everything that an older index lacks, as long as nothing was deleted.
    private func useOlderIndex() throws {
        guard let older, older.deletions == deletions, script.chance(70) else { return }
        let queue = try DatabaseQueue(path: older.directory + "/index.db")
        let value = try queue.read { db in try StateTable(db: db).number(.applied) }
        try queue.close()
        guard let applied = value else { return }
        let found = try WriteAheadLog.read(on: DirectoryDisk(directory), after: UInt64(applied)) { _, _ in }
        guard found.damaged == 0 else { return }
        step = "an older index"
        for name in ["index.db", "index.db-wal"] {
            try? FileManager.default.removeItem(atPath: "\(directory)/\(name)")
            let copy = "\(older.directory)/\(name)"
            guard FileManager.default.fileExists(atPath: copy) else { continue }
            try FileManager.default.copyItem(atPath: copy, toPath: "\(directory)/\(name)")
        }
    }

    private func fail() {
        step = fault.error == nil ? "the index fails" : "the index works again"
        fault.error = fault.error == nil ? script.pick([.diskFull, .inputOutput]) : nil
    }
}

/// Makes the transactions of an index fail, as a full disk does.
final class IndexFault: TransactionObserver {
    var error: JournalError?
    /// Whether only what writes events fails.
    var isForEvents = false
    private var hasEvents = false

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
        if case .insert(tableName: "event") = eventKind { true } else { false }
    }
    func databaseDidChange(with event: DatabaseEvent) { hasEvents = true }
    func databaseWillCommit() throws { if let error, hasEvents || !isForEvents { throw error } }
    func databaseDidCommit(_ db: Database) { hasEvents = false }
    func databaseDidRollback(_ db: Database) { hasEvents = false }
}
