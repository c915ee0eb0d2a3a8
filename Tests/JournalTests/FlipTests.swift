import Foundation
import GRDB
import Routing
import Testing

@testable import Journal

/// A bit anywhere in the file is not what was written. `NOTIFYD_FLIPS=all` tries every byte instead of a sample.
struct FlipTests {
    private struct Truth {
        var events: [EventID: StoredEvent] = [:]
        var values: [EventID] = []
        var undecided: [EventID] = []
        /// What has a name: events and removals.
        var named: [EventID] = []
    }

    /// Whether the file is looked at when it is opened, or later as a large one is.
    @Test(arguments: [true, false])
    func everyFlippedBitIsNoticedWhereItMattersAndTheRestStays(atOnce isAtOnce: Bool) throws {
        try withFolder { folder in
            let url = URL(filePath: folder + "/events.db")
            let truth = try write(folder)
            let good = try Data(contentsOf: url)
            let isComplete = ProcessInfo.processInfo.environment["NOTIFYD_FLIPS"] == "all"
            var offset = 0
            var counts: [Fate: Int] = [:]
            while offset < good.count {
                var bad = good
                bad[offset] ^= 1 << UInt8.random(in: 0...7)
                try bad.write(to: url)
                let (fate, flaws) = try look(folder, truth, atOnce: isAtOnce)
                #expect(flaws == [], "byte \(offset): \(good[offset]) became \(bad[offset]), \(fate)")
                counts[fate, default: 0] += 1
                for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
                    try FileManager.default.removeItem(atPath: folder + "/" + name)
                }
                offset += isComplete ? 1 : Int.random(in: 1...2 * good.count / 300)
            }
            print("flips in a journal of \(good.count) bytes:", counts.map { "\($1) \($0.rawValue)" }.sorted())
        }
    }

    private enum Fate: String { case unharmed, rowsLeftOut, setAside, refused }

    /// A journal that nothing is asked before the whole file has been looked at.
    private func open(_ folder: String, atOnce isAtOnce: Bool) throws(JournalError) -> Journal {
        if isAtOnce { return try Journal(directory: folder) }
        let journal = try Journal(directory: folder, examinedAtOnce: 0)
        guard !journal.isExamined else { return journal }
        do throws(JournalError) {
            // Whatever is asked meanwhile is answered, or the file is closed.
            _ = try? journal.history(.all, after: EventID(0), limit: 1000)
            _ = try? journal.lastID()
            try journal.endExamination(Examination(of: try journal.beginExamination()))
        } catch {
            try journal.reopen(without: [])
        }
        if !journal.isOpen { try journal.reopen(without: []) }
        return journal
    }

    private func look(_ folder: String, _ truth: Truth, atOnce isAtOnce: Bool) throws -> (Fate, [String]) {
        let journal: Journal
        do throws(JournalError) {
            journal = try open(folder, atOnce: isAtOnce)
        } catch {
            return (.refused, error == .readOnly || error == .inUse ? ["taken for \(error)"] : [])
        }
        defer { journal.close() }
        if journal.setAside != nil { return (.setAside, []) }
        var flaws: [String] = []
        do {
            let all = try journal.history(.all, after: EventID(0), limit: 1000)
            for event in all where truth.events[event.id] != event { flaws.append("\(event.id) is not what it was") }
            let ids = Set(all.map(\.id))
            let missing = truth.events.count - all.count
            if missing > 0 && journal.damagedRows == 0 { flaws.append("\(missing) are missing without a word") }
            if missing > 1 { flaws.append("\(missing) are missing for one flip") }
            // What is there at all is found by whatever is asked.
            for topic in ["/post/1", "/post/2", "/run"] {
                let found = try journal.history(TopicPrefix(topic), after: EventID(0), limit: 1000).map(\.id)
                let wanted = try all.filter { try TopicPrefix(topic).covers($0.topic) }.map(\.id)
                if found != wanted { flaws.append("\(wanted.count - found.count) are not found at \(topic)") }
            }
            if try journal.undecided().map(\.id) != truth.undecided.filter({ ids.contains($0) }) {
                flaws.append("undecided")
            }
            let named = try journal.named(after: .init(accepted: 0, id: EventID(0)), limit: 1000).map(\.id)
            let wanted = truth.named.filter { ids.contains($0) || $0 > EventID(60) }
            if !named.allSatisfy({ wanted.contains($0) }) { flaws.append("names that were none") }
            if named.count < wanted.count && (journal.damagedRows == 0 || named.count < wanted.count - 1) {
                flaws.append("\(wanted.count - named.count) names are gone")
            }
            let before = journal.damagedRows
            let values = try journal.values(.all).map(\.id)
            if !Set(values).isSubset(of: truth.values) { flaws.append("values that were none") }
            if values.count < truth.values.count && journal.damagedRows == before { flaws.append("a value is gone") }
            if try journal.lastID() > EventID(1000) { flaws.append("the last id is \(try journal.lastID())") }
        } catch {
            return (.refused, ["an open journal cannot be read: \(error)"])
        }
        return (journal.damagedRows > 0 ? .rowsLeftOut : .unharmed, flaws)
    }

    private func write(_ folder: String) throws -> Truth {
        let journal = try Journal(directory: folder)
        var truth = Truth()
        for number in 1...60 as ClosedRange<UInt64> {
            let topic = ["/post/1", "/post/2/reply", "/run/r1/mate/Mina", "/other"][Int(number % 4)]
            var event = try sample(number, topic: topic, retained: number % 7 == 0)
            try journal.commit([.accepted(event)])
            if number % 3 != 0 {
                var decision = StoredDecision(outcome: number % 2 == 0 ? .claimed : .shown, resolved: 5_000)
                decision.claimant = ":1.7"
                decision.latency = 30_000
                decision.banner = 7
                decision.cause = "a cause"
                try journal.commit([.decided(event.id, decision)])
                event.decision = decision
            } else {
                truth.undecided.append(event.id)
            }
            truth.named.append(event.id)
            truth.events[event.id] = event
        }
        for number in 61...70 as ClosedRange<UInt64> {
            let origin = Origin(source: "test", eventID: "removal \(number)")
            try journal.commit([.removed(Topic("/gone"), EventID(number), origin, accepted: 1_000 + Int64(number))])
            truth.named.append(EventID(number))
        }
        truth.values = try journal.values(.all).map(\.id)
        journal.close()
        return truth
    }
}
