import Testing

@testable import Routing

private let start = Instant(microseconds: 5_000_000)
private let boot = Uptime(microseconds: 9_000_000)

private func topic(_ text: String) throws -> Topic { try Topic(text) }

@Suite struct LiveValuesTests {
    private var timers = Router.Timers()
    private var values = LiveValues()

    private mutating func set(_ id: UInt64, of topic: String, bytes: Int) throws {
        let topic = try Topic(topic)
        let version = ValueVersion(published: 0, id: EventID(id), origin: Origin())
        values.set(version, of: topic, bytes: bytes, timer: timers.schedule(.value(topic), at: boot))
    }

    @Test mutating func aNewValueReplacesTheOneOfItsTopic() throws {
        try set(1, of: "/a", bytes: 10)
        try set(2, of: "/a", bytes: 30)
        #expect(values[try topic("/a")]?.id == EventID(2))
        #expect(values.count == 1)
        #expect(values.bytes == 30)
    }

    @Test mutating func aRemovedValueCostsNothing() throws {
        try set(1, of: "/a", bytes: 10)
        let removed = [values.remove(try topic("/a")), values.remove(try topic("/a"))]
        #expect(removed.map { $0?.id } == [EventID(1), nil])
        #expect(values.bytes == 0)
    }

    @Test mutating func withdrawnEventsAreNoValues() throws {
        try set(1, of: "/a", bytes: 10)
        try set(2, of: "/b", bytes: 20)
        values.remove([EventID(2), EventID(3)])
        #expect(values[try topic("/b")] == nil)
        #expect(values.bytes == 10)
    }
}

@Suite struct GracesTests {
    @Test func theOldestGraceClaims() throws {
        var graces = Graces()
        let first = graces.begin(try TopicPrefix("/run"), by: ":1.1")
        _ = graces.begin(.all, by: ":1.2")
        #expect(graces.claimant(of: try topic("/run/r1")) == ":1.1")
        graces.end(first)
        #expect(graces.claimant(of: try topic("/run/r1")) == ":1.2")
        #expect(graces.claimant(of: try topic("/post/1")) == ":1.2")
    }

    @Test func gracesAreCountedByClaimant() throws {
        var graces = Graces()
        let ids = (0..<2).map { _ in graces.begin(.all, by: ":1.1") }
        #expect(graces.owners[":1.1"].count == 2)
        for id in ids + ids { graces.end(id) }
        #expect(graces.count == 0)
        #expect(graces.owners.isEmpty)
        #expect(graces.index.isEmpty)
    }
}

@Suite struct HoldsTests {
    @Test func holdsAreFoundByEventAndByClaimant() {
        var timers = Router.Timers()
        var holds = Holds()
        for id: UInt64 in [1, 2] {
            let timer = timers.schedule(.hold(EventID(id)), at: start)
            holds.add(Holds.Hold(claimant: ":1.1", latency: nil, timer: timer), of: EventID(id))
        }
        #expect(Array(holds.events(heldBy: ":1.1")) == [EventID(1), EventID(2)])
        #expect(holds.remove(EventID(1), by: ":1.2") == nil)
        #expect(holds.remove(EventID(1), by: ":1.1")?.claimant == ":1.1")
        #expect(holds.remove(EventID(1), by: ":1.1") == nil)
        #expect(Array(holds.events(heldBy: ":1.1")) == [EventID(2)])
        let timer = timers.schedule(.hold(EventID(2)), at: start)
        holds.add(Holds.Hold(claimant: ":1.2", latency: nil, timer: timer), of: EventID(2))
        #expect(holds[EventID(2)].map(\.claimant) == [":1.1", ":1.2"])
        #expect(holds[EventID(2), ":1.2"]?.timer == timer)
        #expect(holds.count == 2)
        holds.remove(EventID(2))
        #expect(holds[EventID(2)].isEmpty)
        #expect([":1.1", ":1.2"].allSatisfy { holds.events(heldBy: $0).isEmpty })
        #expect(holds.count == 0 && holds.owners.isEmpty)
    }
}

@Suite struct OwnersTests {
    @Test func usageIsCountedInTotalAndByProgram() {
        var owners = Owners()
        for name in [":1.1", ":1.1", ":1.2"] { owners.add(bytes: 10, of: .connection(name)) }
        for name in [":1.1", ":1.2"] { owners.learn(.identified(as: "chat", hasLeft: false), of: name) }
        #expect(owners.total == Owners.Usage(count: 3, bytes: 30) && owners[":1.2"] == owners.total)
        for name in [":1.1", ":1.2"] { owners.learn(.left, of: name) }
        for name in [":1.1", ":1.1", ":1.2"] { owners.remove(bytes: 10, of: .connection(name)) }
        #expect(owners.total == Owners.Usage() && owners.isEmpty)
    }
}

@Suite struct EventsTests {
    private var events = Events(firstID: EventID(1), oldestID: EventID(1))
    private var limits = Limits()

    @Test mutating func roomForRetractableEventsIsLimitedByCountAndBytes() throws {
        limits.retractableEvents = 2
        limits.retractableBytes = 1_000
        #expect(events.hasRoom(for: 2, bytes: 1_000, limits: limits))
        #expect(!events.hasRoom(for: 3, bytes: 0, limits: limits))
        #expect(!events.hasRoom(for: 0, bytes: 1_001, limits: limits))
    }
}

@Suite struct WindowsTests {
    private var timers = Router.Timers()
    private var events = Events(firstID: EventID(1), oldestID: EventID(1))

    private mutating func add(_ event: Event, after milliseconds: Int, isReplayed: Bool = false) -> Window {
        events.addToWindow(
            event, length: .milliseconds(100), isAwaited: true, isReplayed: isReplayed,
            at: start + .milliseconds(milliseconds), timers: &timers)
    }

    @Test mutating func theTimerIsArmedAgainOnlyWhenTheDeadlineMoves() throws {
        let first = add(.sample(1), after: 0)
        let second = add(.sample(2), after: 0)
        let third = add(.sample(3), after: 10)
        #expect(first.timer == second.timer)
        #expect(second.timer != third.timer)
        #expect(timers.count == 2)
    }

    @Test mutating func aReplayedEventHasItsWholeWindow() throws {
        _ = add(.sample(1), after: 0)
        for time in stride(from: 90, to: 500, by: 90) { _ = add(.sample(2), after: time) }
        let deadline = add(.sample(3), after: 490).deadline
        #expect(deadline == start + .milliseconds(500))
        #expect(add(.sample(4), after: 490, isReplayed: true).deadline == start + .milliseconds(590))
    }
}
