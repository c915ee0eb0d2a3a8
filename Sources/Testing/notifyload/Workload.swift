import Dispatch
import NotifyClient

/// Events that are published, received and claimed, many at once.
///
/// Several connections publish, one receives, and another one claims. The title of an event is the time of its
/// publishing.
final class Workload: Sendable {
    struct Tally: Sendable {
        var sent = 0
        /// Claimed, or failed.
        var finished = 0
        var failed = 0
        /// Claimed too late.
        var late = 0
        /// From publishing to the signal, in nanoseconds.
        var signals: [UInt64] = []
        /// From claiming to the verdict, in nanoseconds.
        var claims: [UInt64] = []
        var firstError: NotifyError?
        /// Whether every finished event is followed by another.
        var goesOn = false
    }

    private let tally = Locked(Tally())
    private let publishers: [Connection]
    private let claimant: Connection
    private let hearing = Locked<Connection?>(nil)
    private let body: Value
    private let fields: Value

    init(on address: String, payload: Int, publishers count: Int = 4) async throws {
        let inBody = min(payload, 8 << 10)
        body = .string(String(repeating: "x", count: inBody))
        fields = .variants(payload > inBody ? ["rest": .string(String(repeating: "x", count: payload - inBody))] : [:])
        claimant = try await Connection.open(address)
        var publishers: [Connection] = []
        for _ in 0..<count { publishers.append(try await Connection.open(address)) }
        self.publishers = publishers
        let listener = try await Connection.open(address, onSignal: { [weak self] in self?.receive($0) })
        hearing.withLock { $0 = listener }
        try await listener.addMatch(MatchRule(interface: Router.interface, member: "Event", argument0Path: "/load/"))
    }

    var now: Tally { tally.withLock { $0 } }

    func leave() {
        for connection in publishers { connection.close() }
        claimant.close()
        hearing.withLock { $0 }?.close()
    }

    /// Keeps a number of events in flight while `body` runs.
    func saturate(_ count: Int, while body: () async throws -> Void) async throws {
        tally.withLock { $0.goesOn = true }
        for _ in 0..<count { publish() }
        try await body()
        tally.withLock { $0.goesOn = false }
        try await drain()
    }

    /// Waits for a number of finished events and for a duration, whichever is longer, but at most 5 s.
    func wait(for count: Int, and time: Duration) async throws {
        let goal = now.finished + count
        let start = ContinuousClock.now
        try await Task.sleep(for: time)
        while now.finished < goal, .now - start < .seconds(5) { try await Task.sleep(for: .milliseconds(5)) }
    }

    /// Publishes at a fixed rate, independent of the replies.
    func pace(_ rate: Double, for duration: Duration) async throws {
        tally.withLock {
            $0.signals = []
            $0.claims = []
        }
        let timer = DispatchSource.makeTimerSource(flags: .strict, queue: DispatchQueue(label: "org.notifyd.pace"))
        timer.schedule(deadline: .now(), repeating: 1 / rate, leeway: .nanoseconds(0))
        timer.setEventHandler { self.publish() }
        timer.activate()
        try await Task.sleep(for: duration)
        timer.cancel()
        try await drain()
    }

    private func drain() async throws {
        let deadline = ContinuousClock.now + .seconds(10)
        while now.finished < now.sent, ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(5)) }
    }

    private func publish() {
        let number = tally.withLock { tally in
            tally.sent += 1
            return tally.sent
        }
        let call = Message.toRouter(
            "Publish", autoStart: false,
            [.string("/load/\(number)"), .string(String(moment())), body, fields, .variants([:])])
        publishers[number % publishers.count].call(call) { result in
            if case .failure(let error) = result { self.finish(error) }
        }
    }

    private func receive(_ signal: Message) {
        let heard = moment()
        guard signal.member == "Event", signal.arguments.count == 6, case .uint64 = signal.arguments[1],
            let sent = signal.arguments[2].string.flatMap(UInt64.init)
        else { return }
        tally.withLock { $0.signals.append(heard - sent) }
        claimant.call(.toRouter("Claim", autoStart: false, [signal.arguments[1]])) { result in
            switch result {
            case .failure(let error): self.finish(error)
            case .success(let reply):
                self.tally.withLock { tally in
                    tally.claims.append(moment() - heard)
                    if reply.arguments.first?.string != "suppressed" { tally.late += 1 }
                }
                self.finish(nil)
            }
        }
    }

    private func finish(_ error: NotifyError?) {
        let goesOn = tally.withLock { tally in
            tally.finished += 1
            if let error {
                tally.failed += 1
                tally.firstError = tally.firstError ?? error
            }
            // Stops after 100 errors.
            return tally.goesOn && tally.failed < 100
        }
        if goesOn { publish() }
    }
}

/// Nanoseconds of a monotonic clock.
private func moment() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

/// Makes one call at a time and measures the latencies of the replies.
struct LatencyProbe: Sendable {
    /// The pause between a reply and the next call.
    private static let pause: Duration = .milliseconds(2)

    private let connection: Connection
    private let call: Message

    init(on address: String, calling call: Message) async throws {
        connection = try await Connection.open(address)
        self.call = call
    }

    /// The latency of each reply, in nanoseconds.
    func latencies(for time: Duration) async throws -> [UInt64] {
        var latencies: [UInt64] = []
        let end = ContinuousClock.now + time
        while ContinuousClock.now < end {
            let start = DispatchTime.now().uptimeNanoseconds
            _ = try await connection.call(call)
            latencies.append(DispatchTime.now().uptimeNanoseconds - start)
            try await Task.sleep(for: Self.pause)
        }
        return latencies
    }

    func leave() { connection.close() }
}

extension Message {
    /// A call that the bus itself answers.
    static let question = Message.toBus("GetId")

    static func push(to topic: String) -> Message {
        .toRouter(
            "Send", autoStart: false, [.string(topic), "A title", "Forty bytes, which is what a push says."])
    }
}

/// One connection that floods the daemon.
final class Flood: Sendable {
    private static let depth = 2_000

    private let connection: Connection
    private let push: Message
    private let state = Locked((goesOn: false, answered: 0, refused: 0))

    init(on address: String, topic: String) async throws {
        connection = try await Connection.open(address)
        push = .push(to: topic)
    }

    /// The number of replies while `body` ran, and how many of them were errors.
    var answers: (all: Int, refused: Int) { state.withLock { ($0.answered, $0.refused) } }

    /// Floods while `body` runs. `body` begins after the first burst of calls.
    func run<Result>(while body: () async throws -> Result) async throws -> Result {
        state.withLock { $0.goesOn = true }
        for _ in 0..<Self.depth { send() }
        defer { state.withLock { $0.goesOn = false } }
        while answers.all < Self.depth { try await Task.sleep(for: .milliseconds(1)) }
        state.withLock { ($0.answered, $0.refused) = (0, 0) }
        return try await body()
    }

    func leave() { connection.close() }

    private func send() {
        connection.call(push) { result in
            let goesOn = self.state.withLock { state in
                state.answered += 1
                if case .failure = result { state.refused += 1 }
                return state.goesOn
            }
            if goesOn { self.send() }
        }
    }
}
