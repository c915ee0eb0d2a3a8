import Foundation
import Glibc
import NotifyTestSupport
import Routing
import Testing

@testable import Journal

/// The power goes at any call of the log's disk, and SQLite's log loses its end. What was committed is there; what was
/// being committed is there as a whole, or not at all.
struct PowerCutTests {
    private let folder = Fixture.folder

    @Test(.folder, arguments: 1...6 as ClosedRange<UInt64>) func whatWasCommittedOutlivesAPowerCut(_ seed: UInt64)
        throws
    {
        let machine = Machine(seed: seed, in: folder)
        for _ in 0..<5 { try machine.live() }
    }

    private final class Machine {
        private let folder: String
        private let disk: MadeUpDisk
        private var random: SplitMix64
        private var script: StoreScript
        private var model = StoreModel(at: 1_000_000)
        /// What was being committed when the power went.
        private var unfinished: [Record] = []
        private var lives = 0
        /// So many bytes of SQLite's log are on the disk.
        private var durable = 0

        init(seed: UInt64, in folder: String) {
            self.folder = folder
            disk = MadeUpDisk(seed: seed)
            random = SplitMix64(seed: seed)
            script = StoreScript(seed: seed)
        }

        private var directory: String { "\(folder)/\(lives)" }
        /// So late that the numbers of changes begin again with each life.
        private var now: Int64 { 1_000_000 * Int64(lives + 1) }

        private func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

        func live() throws {
            let (disk, now) = (disk, now)
            let journal = try Journal(directory: directory, realtime: { now }, logDisk: { _ in disk })
            #expect(journal.damagedRows == 0 && journal.setAside == nil)
            durable = FileCheck.size(directory + "/index.db-wal")
            if lives > 0 { try check(journal) }
            // Some lives are too short for a commit.
            disk.lastCall = disk.calls + 1 + below([3, 40, 200][below(3)])
            unfinished = []
            while unfinished.isEmpty {
                let turn = try script.turn(model)
                do {
                    try journal.commit(turn)
                    model.commit(turn)
                } catch {
                    unfinished = turn
                }
                // The index is on another disk, as it were.
                if below(3) == 0 { _ = try journal.work() }
                if below(5) == 0 { try journal.fold() }
                if below(20) == 0 {
                    try journal.checkpoint()
                    durable = FileCheck.size(directory + "/index.db-wal")
                }
            }
            try end(journal)
        }

        private func check(_ journal: Journal) throws {
            var (without, with) = (model, model)
            with.commit(unfinished)
            without.open(at: now)
            with.open(at: now)
            var check = StoreCheck(journal, without)
            try check.checkAll()
            model = without
            guard check.flaws != [] else { return }
            let flaws = check.flaws
            check = StoreCheck(journal, with)
            try check.checkAll()
            model = with
            try #require(check.flaws == [], "without it: \(flaws)")
        }

        /// The process is killed, or the power is cut.
        private func end(_ journal: Journal) throws {
            lives += 1
            try copyOfJournal(in: "\(folder)/\(lives - 1)", to: directory)
            journal.close()
            guard below(3) > 0 else { return disk.live() }
            let log = directory + "/index.db-wal"
            let size = FileCheck.size(log)
            // With 250 pages in it, a checkpoint may have been made, before which it was synced.
            if durable <= size, size < 240 * 4096 { truncate(log, off_t(durable + below(size - durable + 1))) }
            let choice = below(4)
            disk.cutPower { _ in choice == 0 || choice != 1 && self.below(2) == 0 }
        }
    }

    // MARK: A disk that refuses

    /// - Parameter refusals: how many syncs fail before one succeeds.
    @Test(arguments: [1, 2], [false, true])
    func whatWasRefusedDoesNotComeBack(refusals: Int, isPowerCut: Bool) throws {
        try withFolder { folder in
            for kept in 0..<16 {
                let disk = MadeUpDisk()
                let directory = "\(folder)/\(kept)"
                let journal = try Journal(directory: directory, logDisk: { _ in disk })
                try journal.probe()
                try journal.commit([.accepted(try sample(1))])
                for number in 0..<refusals {
                    disk.fault = { $0 == .sync ? .inputOutput : nil }
                    let refused = try sample(UInt64(2 + number))
                    #expect(throws: JournalError.inputOutput) { try journal.commit([.accepted(refused)]) }
                    disk.fault = { _ in nil }
                    #expect(!journal.isOpen)
                    #expect(try journal.event(refused.id) == nil)
                    #expect(try !journal.reopen())
                }
                try journal.probe()
                #expect(journal.isOpen && journal.count == 1)
                try journal.commit([.decided(EventID(1), StoredDecision(outcome: .shown, resolved: 5))])
                try copyOfJournal(in: directory, to: directory + " copy")
                journal.stopWriting()
                journal.close()
                if isPowerCut { disk.cutPower { kept >> $0 & 1 == 1 } }
                let next = try Journal(directory: directory + " copy", logDisk: { _ in disk })
                #expect(try next.history(.all, after: EventID(0), limit: 10).map(\.id.rawValue) == [1])
                #expect(try next.event(EventID(1))?.decision?.outcome == .shown)
                #expect(next.damagedRows == 0 && next.count == 1)
            }
        }
    }

    /// The disk refuses everything, so nothing can be taken back; and the index has to be opened again.
    @Test func whatWasRefusedDoesNotComeBackWhereTheFilesAreOpenedAgain() throws {
        try withFolder { folder in
            let disk = MadeUpDisk()
            let journal = try Journal(directory: folder, logDisk: { _ in disk })
            try journal.commit([.accepted(try sample(1))])
            var calls = 0
            disk.fault = { call in
                guard call == .sync || call == .write else { return nil }
                calls += 1
                return calls > 1 ? .inputOutput : nil
            }
            #expect(throws: JournalError.inputOutput) { try journal.commit([.accepted(try sample(2))]) }
            #expect(calls == 3)
            disk.fault = { _ in nil }
            journal.closeIndex()
            #expect(try journal.reopen())
            #expect(try journal.event(EventID(2)) == nil && journal.count == 1)
            try journal.probe()
            try journal.commit([.accepted(try sample(3))])
            try copyOfJournal(in: folder, to: folder + "/copy")
            journal.stopWriting()
            journal.close()
            let next = try Journal(directory: folder + "/copy", logDisk: { _ in disk })
            #expect(try next.history(.all, after: EventID(0), limit: 10).map(\.id.rawValue) == [1, 3])
            #expect(next.damagedRows == 0)
        }
    }
}
