import GRDB
import NotifyTestSupport
import Routing
import Testing

@testable import Journal

/// What makes room, and what stays.
struct RetentionTests {
    private let folder = Fixture.folder

    /// Filling the index at once takes milliseconds, and this is done every few hundred events.
    @Test(.folder) func theIndexIsFilledInPortionsBeforeSomethingIsDeleted() throws {
        let journal = try Journal(directory: folder)
        func publish(_ ids: ClosedRange<UInt64>) throws {
            for id in ids {
                let decision = StoredDecision(outcome: .shown, resolved: 1)
                try journal.commit([.accepted(try sample(id)), .decided(EventID(id), decision)])
            }
        }
        try publish(1...10)
        _ = try journal.expire(olderThan: .seconds(60), keeping: 1_000)
        try publish(11...110)
        // Nothing is too old.
        #expect(try journal.expire(olderThan: .seconds(60), keeping: 1_000) == (0, true))
        #expect(journal.pending.count == 200)
        var steps: [Int] = []
        while try !journal.expire(olderThan: .seconds(60), keeping: 30).isOver {
            steps.append(journal.pending.count)
        }
        #expect(steps == [136, 72, 8])
        #expect(try journal.history(.all, after: EventID(0), limit: 100).first?.id == EventID(81))
    }

    @Test(.folder) func valuesAtTheFrontDoNotKeepWhatIsBehindThem() throws {
        let journal = try Journal(directory: folder)
        let claim = ClaimRecord(claimant: ":1.2", latency: .milliseconds(1), form: .claim, verdict: .recorded)
        for id in 1...10 as ClosedRange<UInt64> {
            let event = try sample(id, topic: "/post/\(id)", retained: id <= 4)
            let decision = StoredDecision(outcome: .silent, resolved: 1)
            try journal.commit([.accepted(event), .decided(event.id, decision), .claimed(event.id, claim)])
        }
        #expect(try journal.expire(olderThan: .seconds(60), keeping: 7, step: 2).count == 2)
        #expect(try journal.expire(olderThan: .seconds(60), keeping: 7, step: 2).count == 1)
        #expect(try journal.expire(olderThan: .seconds(60), keeping: 7, step: 2).count == 0)
        let left = try journal.history(.all, after: EventID(0), limit: 100).map(\.id.rawValue)
        #expect(left == [1, 2, 3, 4, 8, 9, 10])
        for id in 1...10 as ClosedRange<UInt64> {
            #expect(try journal.state(of: EventID(id))?.claims == (left.contains(id) ? [claim] : nil))
        }
    }

    /// With `secure_delete` what is deleted is written to the log of SQLite.
    @Test(.folder) func ofLargeEventsFewAreDeletedAtOnce() throws {
        let journal = try Journal(directory: folder)
        let decision = StoredDecision(outcome: .shown, resolved: 1)
        for id in 1...41 as ClosedRange<UInt64> {
            var event = try sample(id)
            event.body = String(repeating: "x", count: 64 << 10)
            try journal.commit([.accepted(event), .decided(event.id, decision)])
        }
        var steps: [Int] = []
        while true {
            let step = try journal.expire(olderThan: .seconds(60), keeping: 1)
            steps.append(step.count)
            if step.isOver { break }
        }
        let most = Journal.deletedBytesAtOnce / (64 << 10) + 1
        #expect(steps.max() ?? 0 <= most)
        #expect(steps.reduce(0, +) == 40)
        let last = try journal.history(.all, after: EventID(0), limit: 100).map(\.id)
        #expect(last == [EventID(41)])
    }

    @Test(.folder) func whatIsNamedIsKnownForADayWhateverTheWallClockSays() throws {
        let day = Limits().deduplicationTime
        var journal = try Journal(directory: folder)
        var steps: Int64 = 0
        // An event and a removal every ten hours, while the wall clock jumps.
        for number in 0..<5 as Range<UInt64> {
            steps = [0, 40, -400, 4_000, -4][Int(number)] * 24 * 3_600
            journal.advance(to: reading(Int64(number) * 36_000, walled: steps))
            let origin = Origin(source: "test", eventID: "removal \(number)")
            try journal.commit([
                .accepted(try sample(10 * number + 1)),
                removal(Topic("/post/27"), EventID(10 * number + 2), origin, accepted: 1_000 * Int64(number)),
            ])
            _ = try journal.expire(olderThan: .seconds(1_000_000), keeping: 1_000)
        }
        journal.close()
        journal = try Journal(directory: folder)
        journal.advance(to: reading(4 * 36_000 + 1, walled: 31 * 24 * 3_600))
        // 20 hours ago, and all after that.
        let first = try journal.firstName(last: 100)
        #expect(first.rawValue < 21)
        let named = try journal.named(after: first, limit: 100).filter { journal.age(of: $0.id) < day }
        #expect(named.map(\.id.rawValue).suffix(6) == [21, 22, 31, 32, 41, 42])
        #expect(try journal.named(after: EventID(21), limit: 1).map(\.id.rawValue) == [22])
        #expect(try journal.firstName(last: 2) == EventID(21))
        // 30 and 40 hours ago.
        #expect(journal.age(of: EventID(11)) >= day)
        #expect(journal.globalIDs <= 4)
    }

    @Test(.folder) func onlySoManyRemovalsKeepTheirNames() throws {
        var limits = Limits()
        limits.globalIDs = 2
        let journal = try Journal(directory: folder, limits: limits)
        for number in 1...4 as ClosedRange<UInt64> {
            let origin = Origin(source: "test", eventID: "\(number)")
            try journal.commit([
                removal(Topic("/post/27"), EventID(number), origin, accepted: Int64(number))
            ])
        }
        let kept = try journal.named(after: EventID(0), limit: 10)
        #expect(kept.map(\.origin.eventID) == ["3", "4"])
    }

    // MARK: Clocks

    private let day: Int64 = 24 * 3_600

    /// - Parameters:
    ///   - seconds: since the boot.
    ///   - step: by which the wall clock is wrong, in seconds.
    @Test(.folder) func theTimeWithoutNotifydCountsWhileTheMachineRuns() throws {
        var journal = try Journal(directory: folder)
        #expect(try publish(1...5, to: journal, at: reading(0)) == 0)
        journal.close()
        journal = try Journal(directory: folder)
        #expect(try publish(6...6, to: journal, at: reading(31 * day)) == 5)
        journal.close()
    }

    private func reading(_ seconds: Int64, walled step: Int64 = 0, boot: String = "boot") -> ClockReading {
        ClockReading(wall: (1_700_000_000 + seconds + step) * 1_000_000, uptime: seconds * 1_000_000, boot: boot)
    }

    /// Publishes and decides events, and looks at what is too old.
    private func publish(_ ids: ClosedRange<UInt64>, to journal: Journal, at reading: ClockReading) throws -> Int {
        journal.advance(to: reading)
        for id in ids {
            var event = try sample(id)
            event.accepted = reading.wall
            try journal.commit([.accepted(event), .decided(event.id, StoredDecision(outcome: .shown, resolved: 1))])
        }
        return try journal.expire(olderThan: .seconds(30 * day), keeping: 1_000_000, step: 1_000).count
    }

    @Test(.folder) func aClockThatIsAMonthAheadForAMomentDeletesNothing() throws {
        let journal = try Journal(directory: folder)
        #expect(try publish(1...10, to: journal, at: reading(0)) == 0)
        #expect(try publish(11...20, to: journal, at: reading(2 * day)) == 0)
        #expect(try publish(21...30, to: journal, at: reading(2 * day + 60, walled: 31 * day)) == 0)
        #expect(try publish(31...40, to: journal, at: reading(2 * day + 120)) == 0)
        #expect(journal.count == 40)
        // A restart, and a clock that is ahead then.
        journal.close()
        let next = try Journal(directory: folder)
        #expect(try publish(41...50, to: next, at: reading(3 * day, walled: 31 * day)) == 0)
    }

    @Test(.folder) func whatCameWhileTheClockWasAheadGetsNoOlderThanTheRest() throws {
        var journal = try Journal(directory: folder)
        _ = try publish(1...10, to: journal, at: reading(0, walled: 365 * day))
        _ = try publish(11...20, to: journal, at: reading(7_200))
        #expect(try publish(21...30, to: journal, at: reading(30 * day - 1)) == 0)
        journal.close()
        journal = try Journal(directory: folder)
        #expect(try publish(31...40, to: journal, at: reading(30 * day + 1)) == 10)
        #expect(try publish(41...50, to: journal, at: reading(30 * day + 7_202)) == 10)
        #expect(try journal.history(.all, after: EventID(0), limit: 1).map(\.id.rawValue) == [21])
    }

    @Test(.folder) func timeOffCountsOnceTheClocksHaveAgreedForAnHour() throws {
        var journal = try Journal(directory: folder)
        for hour in 0...3 as ClosedRange<Int64> {
            _ = try publish(UInt64(hour * 10 + 1)...UInt64(hour * 10 + 5), to: journal, at: reading(hour * 3_600))
        }
        journal.close()
        journal = try Journal(directory: folder)
        // Off for forty days; the clocks of the machine start again.
        #expect(try publish(51...55, to: journal, at: reading(60, walled: 40 * day, boot: "next")) == 0)
        #expect(try publish(56...60, to: journal, at: reading(3_000, walled: 40 * day, boot: "next")) == 0)
        #expect(try publish(61...65, to: journal, at: reading(3_700, walled: 40 * day, boot: "next")) == 20)
    }

    @Test(.folder) func whatCameBeforeTheTimeOffIsCountedIsNotAsOldAsWhatCameBeforeIt() throws {
        var journal = try Journal(directory: folder)
        _ = try publish(1...5, to: journal, at: reading(0))
        _ = try publish(6...10, to: journal, at: reading(3_700))
        _ = try publish(11...15, to: journal, at: reading(7_200))
        journal.close()
        journal = try Journal(directory: folder)
        #expect(try publish(21...25, to: journal, at: reading(60, walled: 40 * day, boot: "next")) == 0)
        #expect(try publish(26...30, to: journal, at: reading(2_000, walled: 40 * day, boot: "next")) == 0)
        _ = try publish(31...35, to: journal, at: reading(3_700, walled: 40 * day, boot: "next"))
        #expect(try journal.event(EventID(1)) == nil)
        #expect(try journal.event(EventID(21)) != nil)
        #expect(try journal.event(EventID(30)) != nil)
    }

    @Test(.folder) func withoutTheirAgesEventsBeginToAgeNow() throws {
        do {
            let journal = try Journal(directory: folder)
            #expect(try publish(1...10, to: journal, at: reading(0)) == 0)
            journal.close()
            let queue = try DatabaseQueue(path: journal.path)
            try queue.write { db in _ = try StateTable(db: db).remove(.retention) }
            try queue.close()
        }
        let journal = try Journal(directory: folder)
        #expect(try publish(11...20, to: journal, at: reading(31 * day)) == 0)
        #expect(try publish(21...30, to: journal, at: reading(61 * day + 1)) == 20)
    }

    @Test(.folder) func aClockThatWasWrittenDownWronglyDeletesNothing() throws {
        let journal = try Journal(directory: folder)
        _ = try publish(1...10, to: journal, at: reading(0))
        try journal.damage(.retention)
        journal.stopWriting()
        journal.close()
        let next = try Journal(directory: folder)
        #expect(next.damagedRows == 1)
        #expect(try publish(11...20, to: next, at: reading(7_200)) == 0)
    }
}
