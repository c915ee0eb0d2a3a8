import Foundation
import GRDB
import Routing
import Testing

@testable import Journal

/// How long a start takes depends on the machine, so it is printed and not judged.
struct SpeedTests {
    @Test func aHundredThousandOpenEventsAreLoaded() throws {
        try withFolder { folder in
            let count = 100_000
            do {
                let journal = try Journal(directory: folder)
                for start in stride(from: 1, to: count, by: 1000) {
                    try journal.commit(try (start..<start + 1000).map { .accepted(try sample(UInt64($0))) })
                }
                journal.close()
            }
            let clock = ContinuousClock()
            let begin = clock.now
            let journal = try Journal(directory: folder)
            let opened = clock.now
            #expect(try journal.undecided().count == count)
            let loaded = clock.now
            #expect(try journal.named(after: EventID(0), limit: count).count == count)
            #expect(try journal.values(.all).isEmpty)
            #expect(try journal.lastID() == EventID(UInt64(count)))
            print("open and check:", opened - begin, "undecided:", loaded - opened, "the rest:", clock.now - loaded)
            for check in ["quick_check", "integrity_check"] {
                let begin = clock.now
                _ = try journal.read { db in try String.fetchAll(db, sql: "PRAGMA \(check)(20)") }
                print(check, clock.now - begin)
            }
        }
    }
}
