import Foundation
import Routing
import Testing

@testable import Journal

/// The log is written a transaction at a time.
struct BufferedLogTests {
    /// How often this thread has called write(2), pwrite(2) and the like; see proc_pid_io(5).
    private func writes() throws -> Int {
        let text = try String(contentsOfFile: "/proc/thread-self/io", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("syscw: ") })
        return try #require(Int(line.dropFirst(7)))
    }

    @Test func aTransactionIsOneCall() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([.accepted(try sample(1))])
            let before = try writes()
            try journal.commit([.accepted(try sample(2)), .accepted(try sample(3))])
            #expect(try writes() - before == 1)
        }
    }

    @Test(arguments: [1, 40, 400]) func whatIsLongerThanTheBufferIsWhole(count: UInt64) throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            let entries = try (1...count).map { id in
                var event = try sample(id)
                event.body = String(repeating: "x", count: 8000)
                return JournalEntry.accepted(event)
            }
            try journal.commit(entries)
            // What a crash leaves.
            try FileManager.default.createDirectory(atPath: folder + "/copy", withIntermediateDirectories: false)
            for name in ["events.db", "events.db-wal"] {
                try FileManager.default.copyItem(atPath: "\(folder)/\(name)", toPath: "\(folder)/copy/\(name)")
            }
            let copy = try Journal(directory: folder + "/copy")
            #expect(copy.count == count && copy.damagedRows == 0)
        }
    }
}
