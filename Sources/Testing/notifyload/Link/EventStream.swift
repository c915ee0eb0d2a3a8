import NotifyClient
import NotifyRehearsal

/// Events that are published on the first device and heard on the others. The title of an event is the time of its
/// publishing and its number.
final class EventStream: Sendable {
    /// What one device has heard.
    struct Ear: Sendable {
        /// From publishing to the signal, in nanoseconds.
        var latencies: [UInt64] = []
        var heard = 0
        var last = 0
        /// Events that did not come after the one before them.
        var disordered = 0
    }

    private struct State: Sendable {
        var sent = 0
        var failed = 0
        var ears: [Ear]
        /// Events that are kept under way; 0: none follows by itself.
        var depth = 0
    }

    private let publisher: Connection
    private let order = Locked(())
    private let listeners = Locked<[Connection]>([])
    private let state: Locked<State>
    private let topic: String

    /// - Parameter topic: where to publish, without banners.
    init(_ fixture: Fixture, topic: String = "/quiet/x") async throws {
        self.topic = topic
        publisher = try await Connection.open(fixture.devices[0].bus.address)
        state = Locked(State(ears: fixture.devices.dropFirst().map { _ in Ear() }))
        for (index, device) in fixture.devices.dropFirst().enumerated() {
            let listener = try await Connection.open(
                device.bus.address, onSignal: { [weak self] in self?.hear($0, index) })
            try await listener.addMatch(MatchRule(interface: Router.interface, member: "Event", argument0Path: topic))
            listeners.withLock { $0.append(listener) }
        }
    }

    var sent: Int { state.withLock { $0.sent } }
    var failed: Int { state.withLock { $0.failed } }
    var ears: [Ear] { state.withLock { $0.ears } }
    /// How many events have been heard by all.
    var heardByAll: Int { state.withLock { $0.ears.map(\.heard).min() ?? 0 } }

    func leave() {
        for connection in [publisher] + listeners.withLock({ $0 }) { connection.close() }
    }

    /// Publishes at a fixed rate, and returns when all have heard everything.
    func run(rate: Double, for time: Duration) async throws {
        await pace(rate, for: time, on: publisher.loop) { [weak self] _ in self?.publish() }
        guard try await waits(within: .seconds(20), { heardByAll >= sent }) else {
            throw RehearsalError("Of \(sent) events \(sent - heardByAll) were not heard within 20 s.")
        }
    }

    /// Keeps a number of events under way while `body` runs: published, and not heard by all.
    func saturate(_ depth: Int, while body: () async throws -> Void) async throws {
        state.withLock { $0.depth = depth }
        for _ in 0..<depth { publish() }
        try await body()
        state.withLock { $0.depth = 0 }
    }

    /// Publishes a number of events as fast as notifyd takes them, whoever hears them.
    func publish(_ count: Int) async throws {
        let depth = 64
        let answered = Mailbox<Bool>()
        for number in 1...count {
            publish { answered.put($0) }
            guard number > depth else { continue }
            if await answered.next(within: .seconds(30)) != true {
                throw RehearsalError("notifyd takes no more events.")
            }
        }
        for _ in 0..<min(depth, count) {
            if await answered.next(within: .seconds(30)) != true {
                throw RehearsalError("notifyd takes no more events.")
            }
        }
    }

    /// - Parameter completion: with whether notifyd has taken it.
    private func publish(_ completion: @escaping @Sendable (Bool) -> Void = { _ in }) {
        // Numbers are sent in their order.
        order.withLock { _ in
            let number = state.withLock { state in
                state.sent += 1
                return state.sent
            }
            let call = Message.toRouter(
                "Send", autoStart: false,
                [.string(topic), .string("\(moment()) \(number)"), "Forty bytes, which is what a push says."])
            publisher.call(call) { [weak self] result in
                if case .failure = result { self?.state.withLock { $0.failed += 1 } }
                completion((try? result.get()) != nil)
            }
        }
    }

    private func hear(_ signal: Message, _ ear: Int) {
        let heard = moment()
        guard signal.member == "Event", signal.arguments.count == 6,
            let words = signal.arguments[2].string?.split(separator: " "), words.count == 2,
            let sent = UInt64(words[0]), let number = Int(words[1])
        else { return }
        let goesOn = state.withLock { state in
            let before = state.ears.map(\.heard).min() ?? 0
            state.ears[ear].latencies.append(heard - sent)
            state.ears[ear].heard += 1
            if number != state.ears[ear].last + 1 { state.ears[ear].disordered += 1 }
            state.ears[ear].last = number
            return state.depth > 0 && (state.ears.map(\.heard).min() ?? 0) > before
        }
        if goesOn { publish() }
    }
}
