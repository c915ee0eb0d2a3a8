import Foundation
import Journal
import NotifyRehearsal
import Routing
import Testing

extension FaultRig {
    /// What the daemon may take for an event of the backlog and for its name, in bytes; see `MemoryCost` and `Limits`.
    static let backlogFootprint = 512 + 192 + 2 * 12 + 100 + 20

    /// What an earlier run left behind: a journal of undecided events of a hundred topics.
    func writeBacklog(of count: Int, bodyBytes: Int = 100) throws -> [UInt64] {
        let journal = try Journal(directory: state)
        defer { journal.close() }
        let now = Int64(Date.now.timeIntervalSince1970 * 1_000_000)
        let first = now - 60_000_000
        var ids: [UInt64] = []
        for start in stride(from: 0, to: count, by: 1000) {
            var entries: [Record] = []
            for number in start..<min(start + 1000, count) {
                ids.append(UInt64(first) + UInt64(number))
                let event = StoredEvent(
                    id: EventID(ids.last!), topic: try Topic("/backlog/\(number % 100)"), title: "news",
                    body: String(repeating: "x", count: bodyBytes), fields: [], published: first, sender: ":1.1",
                    origin: Origin(source: "backlog", eventID: "\(number)"), urgency: nil, retained: false,
                    route: "default", key: "/backlog/\(number % 100)", window: 30_000, accepted: first,
                    expires: Expiry(wall: now + 3_600_000_000, uptime: 0, boot: "earlier"))
                entries.append(.accepted(event))
            }
            try journal.commit(entries)
        }
        return ids
    }

    /// The most memory that the daemon has had, as the kernel says, in bytes.
    func peakMemory() throws -> Int { try memory("VmHWM:") }

    /// The memory that the daemon has now, in bytes.
    func residentMemory() throws -> Int { try memory("VmRSS:") }

    /// - Parameter key: a line of proc_pid_status(5).
    private func memory(_ key: String) throws -> Int {
        let process = try #require(daemon.identifier)
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(key) })
        return try #require(Int(line.split(separator: " ")[1].trimmingCharacters(in: .whitespaces))) * 1024
    }

    /// Makes `peakMemory` count from now: `clear_refs` of proc_pid_clear_refs(5).
    func resetPeakMemory() throws {
        let process = try #require(daemon.identifier)
        try "5".write(toFile: "/proc/\(process)/clear_refs", atomically: false, encoding: .utf8)
    }
}
