import Foundation
import Journal
import Logging
import Routing
import Testing

@testable import NotifyDaemon

/// Retention as the daemon has it done, while somebody sets the wall clock.
struct StorageRetentionTests {
    private static let day: Int64 = 86_400_000_000
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// - Parameters:
    ///   - uptime: microseconds since the boot.
    ///   - step: by which the wall clock is wrong, in microseconds.
    private func clock(_ uptime: Int64, walled step: Int64 = 0) -> WallClock {
        let now = Now(instant: Instant(microseconds: uptime), uptime: Uptime(microseconds: uptime))
        return WallClock(wall: 1_700_000_000_000_000 + uptime + step, now: now, boot: "boot")
    }

    private func publish(_ ids: ClosedRange<UInt64>, to storage: Storage, at clock: WallClock) throws {
        for id in ids {
            let event = StoredEvent(
                id: EventID(id), topic: try Topic("/post/27"), title: "", body: "", fields: [], published: clock.wall,
                sender: ":1.1", origin: Origin(source: nil, eventID: nil), urgency: nil, retained: false,
                route: "default", key: "/post/27", window: 0, accepted: clock.wall,
                expires: Expiry(wall: clock.wall, uptime: 0, boot: "boot"))
            storage.append(.accepted(event))
            storage.append(.decided(event.id, StoredDecision(outcome: .shown, resolved: clock.wall)))
        }
        #expect(storage.commit() == [])
        while storage.expire(at: clock) {}
    }

    @Test func sixHundredEventsAndAMonthAheadForAMomentDeleteNothing() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let storage = Storage(Journal(in: folder, limits: Limits()), logger: logger)
        try publish(1...600, to: storage, at: clock(Self.day))
        try publish(601...1_200, to: storage, at: clock(Self.day + 1_000_000, walled: 31 * Self.day))
        try publish(1_201...1_800, to: storage, at: clock(Self.day + 2_000_000))
        #expect(storage.storedEvents == 1_800)
        #expect(
            try storage.read { journal throws(JournalError) in
                try journal.unread(.all, after: Journal.UnreadPosition(before: .all), limit: 10_000).count
            } == 1_800)
        // A month later all of them go, the ones from the future with the others.
        try publish(1_801...1_810, to: storage, at: clock(30 * Self.day))
        #expect(storage.storedEvents == 1_810)
        try publish(1_811...1_820, to: storage, at: clock(31 * Self.day + 3_700_000_000))
        #expect(storage.storedEvents == 20)
    }

    @Test func aShorterHistoryAppliesAtOnceAndALongerOneFromThenOn() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let storage = Storage(Journal(in: folder, limits: Limits()), logger: logger)
        try publish(1...1_300, to: storage, at: clock(Self.day))
        #expect(storage.storedEvents == 1_300)
        storage.retention = Retention(events: 1_000)
        while storage.expire(at: clock(Self.day)) {}
        #expect(storage.storedEvents == 1_000)
        storage.retention = Retention(events: 2_000)
        try publish(1_301...2_300, to: storage, at: clock(Self.day + 1))
        #expect(storage.storedEvents == 2_000)
        // Four days later a week is not over yet, and three days are.
        try publish(2_301...2_301, to: storage, at: clock(5 * Self.day))
        storage.retention = Retention(age: .seconds(7 * 86_400))
        while storage.expire(at: clock(5 * Self.day)) {}
        #expect(storage.storedEvents == 2_000)
        storage.retention = Retention(age: .seconds(3 * 86_400))
        while storage.expire(at: clock(5 * Self.day)) {}
        #expect(storage.storedEvents == 1)
    }
}
