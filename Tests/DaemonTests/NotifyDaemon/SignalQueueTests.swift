import Routing
import Testing

@testable import NotifyDaemon

/// The queue of signals. `SlowBusTests` tests how the daemon uses it.
struct FanOutTests {
    private let now = Instant(microseconds: 1_000)
    private var signalQueue = SignalQueue()

    private func event(_ id: UInt64, body: Int = 0) throws -> Event {
        Event(
            id: EventID(id), topic: try Topic("/post/\(id)"), title: "", body: String(repeating: "x", count: body),
            fields: [], published: 0, sender: ":1.5", origin: Origin(), urgency: nil, retained: false,
            route: Route(pattern: nil, window: .zero))
    }

    private func signal(_ event: Event) -> Signal {
        .event(event, Announcement(window: nil, expires: Uptime(microseconds: 0)))
    }

    /// The signal in words, and the number it is about.
    private func summary(_ entry: SignalQueue.Entry) -> String {
        switch entry {
        case .signal(.event(let event, _)): "event \(event.id)"
        case .stored(let id, _): "stored \(id)"
        case .signal(.resolved(let id, _, let resolution)): "\(resolution.outcome) \(id)"
        case .signal(.removed(_, let id)): "removed \(id)"
        case .signal(.action(let event, let action)): "\(action) \(event.id)"
        case .signal(.screens(let topic, _)): "screens \(topic)"
        }
    }

    private mutating func takeAll() -> [String] {
        var taken: [String] = []
        while let (signal, _) = signalQueue.first {
            taken.append(summary(signal))
            signalQueue.removeFirst()
        }
        return taken
    }

    @Test mutating func signalsOfEveryKindLeaveInTheirOrder() throws {
        let event = try event(1)
        signalQueue.enqueue(signal(event), at: now)
        signalQueue.enqueue(.resolved(event.id, event.topic, Resolution(.claimed)), at: now)
        signalQueue.enqueue(.action(event, "open"), at: now)
        signalQueue.enqueue(.removed(event.topic, EventID(2)), at: now)
        signalQueue.enqueue(signal(try self.event(3)), at: now)
        #expect(signalQueue.count == 5)
        #expect(takeAll() == ["event 1", "claimed 1", "open 1", "removed 2", "event 3"])
        #expect(signalQueue.isEmpty)
    }

    @Test mutating func eachSignalKnowsSinceWhenItHasWaited() throws {
        for moment in 1...3 as ClosedRange<Int64> {
            signalQueue.enqueue(.removed(try Topic("/post"), EventID(1)), at: Instant(microseconds: moment))
        }
        signalQueue.removeFirst()
        #expect(signalQueue.first?.since == Instant(microseconds: 2))
    }

    @Test mutating func whatIsTooMuchForMemoryWaitsAsItsId() throws {
        let size = try event(1, body: 8192).memoryCost
        let fitting = UInt64(SignalQueue.memoryLimit / size)
        for id in 1...fitting + 2 { signalQueue.enqueue(signal(try event(id, body: 8192)), at: now) }
        let taken = takeAll()
        #expect(taken.count == Int(fitting) + 2)
        #expect(taken.prefix(Int(fitting)) == (1...fitting).map { "event \($0)" }[...])
        #expect(taken.suffix(2) == ["stored \(fitting + 1)", "stored \(fitting + 2)"])
    }

    /// The limit is reached to the byte, and not before.
    @Test mutating func anEventThatJustFitsIsKeptWhole() throws {
        let empty = try event(1).memoryCost
        signalQueue.enqueue(signal(try event(1, body: SignalQueue.memoryLimit - 2 * empty)), at: now)
        signalQueue.enqueue(signal(try event(2)), at: now)
        signalQueue.enqueue(signal(try event(3)), at: now)
        #expect(takeAll() == ["event 1", "event 2", "stored 3"])
    }

    @Test mutating func whatHasLeftMakesRoomInMemory() throws {
        signalQueue.enqueue(signal(try event(1, body: SignalQueue.memoryLimit)), at: now)
        signalQueue.enqueue(signal(try event(2)), at: now)
        signalQueue.enqueue(signal(try event(3, body: SignalQueue.memoryLimit / 2)), at: now)
        #expect(takeAll() == ["stored 1", "event 2", "event 3"])
        signalQueue.enqueue(signal(try event(4, body: SignalQueue.memoryLimit / 2)), at: now)
        signalQueue.enqueue(signal(try event(5, body: SignalQueue.memoryLimit / 2)), at: now)
        signalQueue.removeFirst()
        signalQueue.enqueue(signal(try event(6, body: SignalQueue.memoryLimit / 2)), at: now)
        #expect(takeAll() == ["stored 5", "event 6"])
    }

    @Test mutating func itIsFullAtItsLimit() throws {
        let topic = try Topic("/post")
        for id in 1..<SignalQueue.lengthLimit { signalQueue.enqueue(.removed(topic, EventID(UInt64(id))), at: now) }
        #expect(!signalQueue.isFull)
        signalQueue.enqueue(.removed(topic, EventID(0)), at: now)
        #expect(signalQueue.isFull)
        signalQueue.removeFirst()
        #expect(!signalQueue.isFull)
    }
}
