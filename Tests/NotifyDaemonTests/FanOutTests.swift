import Routing
import Testing

@testable import NotifyDaemon

/// The line of signals that wait for the bus. What the daemon does with it is looked at in `SlowBusTests`.
struct FanOutTests {
    private let now = Instant(microseconds: 1_000)
    private var fanOut = FanOut()

    private func event(_ id: UInt64, body: Int = 0) throws -> Event {
        Event(
            id: EventID(id), topic: try Topic("/post/\(id)"), title: "", body: String(repeating: "x", count: body),
            fields: [], published: 0, sender: ":1.5", origin: Origin(), urgency: nil, retained: false,
            route: Route(pattern: nil, window: .zero))
    }

    private func signal(_ event: Event) -> FanOut.Signal {
        .event(event, Announcement(window: nil, expires: Uptime(microseconds: 0)))
    }

    /// The signal in words, and the number it is about.
    private func summary(_ signal: FanOut.Signal) -> String {
        switch signal {
        case .event(let event, _): "event \(event.id)"
        case .stored(let id, _): "stored \(id)"
        case .resolved(let id, _, let resolution): "\(resolution.outcome) \(id)"
        case .removed(_, let id): "removed \(id)"
        case .action(let event, let action): "\(action) \(event.id)"
        }
    }

    private mutating func takeAll() -> [String] {
        var taken: [String] = []
        while let (signal, _) = fanOut.first {
            taken.append(summary(signal))
            fanOut.removeFirst()
        }
        return taken
    }

    @Test mutating func signalsOfEveryKindLeaveInTheirOrder() throws {
        let event = try event(1)
        fanOut.put(signal(event), at: now)
        fanOut.put(.resolved(event.id, event.topic, Resolution(.claimed)), at: now)
        fanOut.put(.action(event, "open"), at: now)
        fanOut.put(.removed(event.topic, EventID(2)), at: now)
        fanOut.put(signal(try self.event(3)), at: now)
        #expect(fanOut.count == 5)
        #expect(takeAll() == ["event 1", "claimed 1", "open 1", "removed 2", "event 3"])
        #expect(fanOut.isEmpty)
    }

    @Test mutating func eachSignalKnowsSinceWhenItHasWaited() throws {
        for moment in 1...3 as ClosedRange<Int64> {
            fanOut.put(.removed(try Topic("/post"), EventID(1)), at: Instant(microseconds: moment))
        }
        fanOut.removeFirst()
        #expect(fanOut.first?.since == Instant(microseconds: 2))
    }

    @Test mutating func whatIsTooMuchForMemoryWaitsAsItsId() throws {
        let size = try event(1, body: 8192).footprint
        let fitting = UInt64(FanOut.memoryLimit / size)
        for id in 1...fitting + 2 { fanOut.put(signal(try event(id, body: 8192)), at: now) }
        let taken = takeAll()
        #expect(taken.count == Int(fitting) + 2)
        #expect(taken.prefix(Int(fitting)) == (1...fitting).map { "event \($0)" }[...])
        #expect(taken.suffix(2) == ["stored \(fitting + 1)", "stored \(fitting + 2)"])
    }

    /// The limit is reached to the byte, and not before.
    @Test mutating func anEventThatJustFitsIsKeptWhole() throws {
        let empty = try event(1).footprint
        fanOut.put(signal(try event(1, body: FanOut.memoryLimit - 2 * empty)), at: now)
        fanOut.put(signal(try event(2)), at: now)
        fanOut.put(signal(try event(3)), at: now)
        #expect(takeAll() == ["event 1", "event 2", "stored 3"])
    }

    @Test mutating func whatHasLeftMakesRoomInMemory() throws {
        fanOut.put(signal(try event(1, body: FanOut.memoryLimit)), at: now)
        fanOut.put(signal(try event(2)), at: now)
        fanOut.put(signal(try event(3, body: FanOut.memoryLimit / 2)), at: now)
        #expect(takeAll() == ["stored 1", "event 2", "event 3"])
        fanOut.put(signal(try event(4, body: FanOut.memoryLimit / 2)), at: now)
        fanOut.put(signal(try event(5, body: FanOut.memoryLimit / 2)), at: now)
        fanOut.removeFirst()
        fanOut.put(signal(try event(6, body: FanOut.memoryLimit / 2)), at: now)
        #expect(takeAll() == ["stored 5", "event 6"])
    }

    @Test mutating func itIsFullAtItsLimit() throws {
        let topic = try Topic("/post")
        for id in 1..<FanOut.lengthLimit { fanOut.put(.removed(topic, EventID(UInt64(id))), at: now) }
        #expect(!fanOut.isFull)
        fanOut.put(.removed(topic, EventID(0)), at: now)
        #expect(fanOut.isFull)
        fanOut.removeFirst()
        #expect(!fanOut.isFull)
    }
}
