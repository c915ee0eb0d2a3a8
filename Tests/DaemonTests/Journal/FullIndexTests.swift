import Foundation
import GRDB
import NotifyTestSupport
import Routing
import Testing

@testable import Journal

/// The index cannot be written, as on a full disk; the log can.
struct FullIndexTests {
    private let folder = Fixture.folder
    private let shown = StoredDecision(outcome: .shown, resolved: 5_000)

    private func fault(of journal: Journal) -> IndexFault {
        let fault = IndexFault()
        journal.queue?.add(transactionObserver: fault, extent: .databaseLifetime)
        return fault
    }

    @Test(.folder, arguments: [JournalError.diskFull, .fileTooLarge, .inputOutput])
    func commitsGoOnAndReadsFindEverything(_ error: JournalError) throws {
        var journal = try Journal(directory: folder, realtime: { 1_000 })
        var model = StoreModel(at: 1_000)
        var script = StoreScript(seed: 1)
        func commit(_ turns: Int) throws {
            for _ in 0..<turns {
                let turn = try script.turn(model)
                try journal.commit(turn)
                model.commit(turn)
            }
        }
        func check() throws {
            var check = StoreCheck(journal, model)
            try check.checkAll()
            #expect(check.flaws == [])
        }
        try commit(30)
        try check()
        let fault = fault(of: journal)
        fault.error = error
        try commit(30)
        try check()
        #expect(journal.indexFailure == error)
        #expect(journal.isOpen && !journal.acceptsEvents)
        #expect(try journal.work() == nil)
        try commit(5)
        try check()
        fault.error = nil
        try journal.probe()
        model.probe()
        #expect(journal.indexFailure == nil)
        try check()
        journal.close()
        journal = try Journal(directory: folder, realtime: { 1_000 })
        model.open(at: 1_000)
        try check()
    }

    @Test(.folder) func newEventsAreRefusedBeforeTheLogIsFull() throws {
        let journal = try Journal(directory: folder)
        let fault = fault(of: journal)
        fault.error = .diskFull
        var last: UInt64 = 0
        while journal.acceptsEvents, last < 10_000 {
            last += 1
            var event = try sample(last)
            event.body = String(repeating: "x", count: 8_000)
            try journal.commit([.accepted(event)])
        }
        #expect((100..<1_000).contains(last) && journal.isOpen)
        // What was accepted is decided all the same.
        let claim = ClaimRecord(claimant: ":1.7", latency: nil, form: .claim, verdict: .recorded)
        for id in 1...last { try journal.commit([.claimed(EventID(id), claim), .decided(EventID(id), shown)]) }
        #expect(!journal.acceptsEvents)
        #expect(try journal.event(EventID(1))?.decision == shown)
        fault.error = nil
        try journal.probe()
        #expect(journal.acceptsEvents && journal.count == Int(last))
        #expect(try journal.undecidedIDs().isEmpty)
        #expect(try journal.state(of: EventID(last))?.claims == [claim])
    }

    /// The text of what waits for the index would come back with it.
    @Test(.folder) func nothingIsForgottenThatComesBack() throws {
        let journal = try Journal(directory: folder)
        try journal.commit([.accepted(try sample(1)), .decided(EventID(1), shown)])
        let fault = fault(of: journal)
        fault.error = .diskFull
        #expect(throws: JournalError.diskFull) {
            _ = try journal.forget(.all, after: .init(before: .all), upTo: EventID(.max), limit: 10)
            while try !journal.scrub() {}
        }
        fault.error = nil
        #expect(try journal.event(EventID(1)) != nil && journal.count == 1)
        let gone = try journal.forget(.all, after: .init(before: .all), upTo: EventID(.max), limit: 10)
        #expect(gone.ids == [EventID(1)] && journal.count == 0)
        while try !journal.scrub() {}
        #expect(try journal.event(EventID(1)) == nil)
    }

    /// It may come behind the position that a walk has reached.
    @Test(.folder) func whatTheIndexGetsDuringAWalkIsForgottenToo() throws {
        let journal = try Journal(directory: folder)
        for id: UInt64 in [11, 12, 13, 14] {
            try journal.commit([.accepted(try sample(id)), .decided(EventID(id), shown)])
        }
        let first = try journal.forget(.all, after: .init(before: .all), upTo: EventID(50), limit: 2)
        let fault = fault(of: journal)
        (fault.error, fault.isForEvents) = (.diskFull, true)
        for id: UInt64 in [1, 2] { try journal.commit([.accepted(try sample(id)), .decided(EventID(id), shown)]) }
        let second = try journal.forget(.all, after: try #require(first.position), upTo: EventID(50), limit: 2)
        #expect(!second.ids.isEmpty && journal.indexFailure == .diskFull)
        fault.error = nil
        try journal.probe()
        var gone = first.ids + second.ids
        var position = second.position
        while let next = position {
            let found = try journal.forget(.all, after: next, upTo: EventID(50), limit: 2)
            (gone, position) = (gone + found.ids, found.position)
        }
        #expect(Set(gone.map(\.rawValue)) == [1, 2, 11, 12, 13, 14])
    }

    /// As SQLite says it, and not we.
    @Test(.folder) func whatHasNoRoomInTheIndexWaitsInTheLog() throws {
        let journal = try Journal(directory: folder)
        func limit(_ pages: Int) throws {
            try #require(journal.queue).writeWithoutTransaction { db in
                _ = try Int.fetchOne(db, sql: "PRAGMA max_page_count = \(pages)")
            }
        }
        try limit(1)
        let events = try (1...20 as ClosedRange<UInt64>).map { id in
            var event = try sample(id)
            event.body = String(repeating: "x", count: 8_000)
            return event
        }
        for event in events { try journal.commit([.accepted(event), .decided(event.id, shown)]) }
        #expect(throws: JournalError.diskFull) { try journal.foldPortion(100) }
        #expect(journal.indexFailure == .diskFull && journal.isOpen)
        try journal.commit([.accepted(try sample(21))])
        #expect(try journal.event(EventID(20))?.decision == shown)
        #expect(try journal.holds(EventID(21)))
        try copyOfJournal(in: folder, to: folder + "/copy")
        #expect(try Journal(directory: folder + "/copy").undecidedIDs() == [EventID(21)])
        try limit(1 << 20)
        try journal.probe()
        #expect(journal.indexFailure == nil)
        #expect(try journal.history(.all, after: EventID(0), limit: 100).count == 21)
    }
}
