import Foundation
import NotifyTestSupport
import Routing
import Testing

@testable import Journal

/// A bit anywhere in the file is not what was written. `NOTIFYD_FLIPS=all` tries every byte instead of a sample.
struct FlipTests {
    private let folder = Fixture.folder
    private let truth: KnownJournal

    init() throws { truth = try KnownJournal() }

    /// Whether the file is looked at when it is opened, or later as a large one is.
    @Test(arguments: [true, false])
    func everyFlippedBitIsNoticedWhereItMattersAndTheRestStays(atOnce isAtOnce: Bool) async throws {
        let offsets = offsets
        let workers = ProcessInfo.processInfo.activeProcessorCount
        let counts = try await withThrowingTaskGroup(of: [Fate: Int].self) { group in
            for worker in 0..<workers {
                group.addTask {
                    try self.flip(stride(from: worker, to: offsets.count, by: workers).map { offsets[$0] }, isAtOnce)
                }
            }
            return try await group.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
        }
        let fates = Fate.allCases.map { "\(counts[$0, default: 0]) \($0.rawValue)" }.joined(separator: ", ")
        print("\(offsets.count) flips in a journal of \(truth.file.count) bytes: \(fates)")
    }

    @Test(.folder) func aFlippedBitOfTheLogCostsOneFrame() throws {
        let (first, copy) = (folder + "/first", folder + "/copy")
        let events = try (1...20 as ClosedRange<UInt64>).map { try sample($0) }
        let journal = try Journal(directory: first)
        for event in events { try journal.commit([.accepted(event)]) }
        let log = try Data(contentsOf: URL(filePath: first + "/log-0"))
        let end = try #require(log.lastIndex { $0 != 0 }) + 1
        let lastFrame = end - end / events.count
        let isAll = ProcessInfo.processInfo.environment["NOTIFYD_FLIPS"] == "all"
        for offset in stride(from: 0, to: end, by: isAll ? 1 : 37) {
            try copyOfJournal(in: first, to: copy)
            var bad = log
            bad[offset] ^= 1 << UInt8.random(in: 0...7)
            try bad.write(to: URL(filePath: copy + "/log-0"))
            let journal = try Journal(directory: copy)
            let found = try journal.history(.all, after: EventID(0), limit: 100)
            #expect(found.allSatisfy { events.contains($0) }, "byte \(offset)")
            // Frames end with a few bytes that say nothing. Nobody can tell the last one from one that was torn.
            #expect(
                found.count == events.count && journal.damagedRows == 0
                    || found.count == events.count - 1 && (journal.damagedRows == 1 || offset > lastFrame - 64),
                "byte \(offset)")
            try FileManager.default.removeItem(atPath: copy)
        }
    }

    /// See [pages](https://www.sqlite.org/fileformat2.html#b_tree_pages).
    @Test func everyKindOfPageIsThere() {
        let pages = stride(from: 0, to: truth.file.count, by: KnownJournal.pageSize)
        let kinds = Set(pages.map { truth.file[$0 == 0 ? 100 : $0] })
        #expect(kinds.isSuperset(of: [2, 5, 10, 13]), "inner and outer ones, of indexes and tables")
        #expect(
            truth.events.values.contains { $0.body.utf8.count > KnownJournal.pageSize }, "what does not fit into a row")
        #expect(truth.file[36..<40] != Data(count: 4), "free ones")
    }

    private var offsets: [Int] {
        let all = truth.file.indices
        if ProcessInfo.processInfo.environment["NOTIFYD_FLIPS"] == "all" { return Array(all) }
        return (0..<120).map { _ in Int.random(in: all) }
    }

    /// What becomes of a flip.
    private enum Fate: String, CaseIterable {
        case unharmed = "in what is not used"
        case rowLeftOut = "in a row, which is left out"
        case setAside = "in a file that is set aside"
        case refused = "in a file that is taken for one of a newer version"
    }

    private func flip(_ offsets: [Int], _ isAtOnce: Bool) throws -> [Fate: Int] {
        var counts: [Fate: Int] = [:]
        try withFolder { folder in
            for offset in offsets {
                var bad = truth.file
                bad[offset] ^= 1 << UInt8.random(in: 0...7)
                try bad.write(to: URL(filePath: "\(folder)/\(Journal.fileName)"))
                let (fate, flaws) = try look(folder, bad, isAtOnce)
                #expect(flaws == [], "byte \(offset): \(truth.file[offset]) became \(bad[offset]), \(fate)")
                counts[fate, default: 0] += 1
                for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
                    try FileManager.default.removeItem(atPath: folder + "/" + name)
                }
            }
        }
        return counts
    }

    /// A journal that nothing is asked before the whole file has been looked at.
    private func open(_ folder: String, atOnce isAtOnce: Bool) throws(JournalError) -> Journal {
        if isAtOnce { return try Journal(directory: folder) }
        let journal = try Journal(directory: folder, checkedWhenOpened: 0)
        guard !journal.isChecked else { return journal }
        do throws(JournalError) {
            // Whatever is asked meanwhile is answered, or the file is closed.
            _ = try? journal.history(.all, after: EventID(0), limit: 1000)
            _ = try? journal.lastID()
            try journal.endIntegrityCheck(IntegrityCheck(of: try journal.beginIntegrityCheck()))
        } catch {
            _ = try journal.reopen()
        }
        if !journal.isOpen { _ = try journal.reopen() }
        return journal
    }

    private func look(_ folder: String, _ bad: Data, _ isAtOnce: Bool) throws -> (Fate, [String]) {
        let journal: Journal
        do throws(JournalError) {
            journal = try open(folder, atOnce: isAtOnce)
        } catch {
            return (.refused, error == .tooNew ? [] : ["\(error)"])
        }
        let flaws = journal.setAside == nil ? truth.flaws(of: journal) : truth.wrongEvents(in: journal)
        journal.close()
        if journal.setAside != nil { return (.setAside, flaws) }
        if journal.damagedRows > 0 { return (.rowLeftOut, flaws) }
        // Nothing is written to a file that is only read.
        let isLeft = try Data(contentsOf: URL(filePath: "\(folder)/\(Journal.fileName)")) == bad
        return (.unharmed, isLeft ? flaws : flaws + ["the file was written"])
    }
}
