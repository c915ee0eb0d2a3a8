import NotifyClient
import NotifyRehearsal

/// Publishers with connections of their own, a claimant and a listener, who go on however often the daemon dies.
struct Load: Sendable {
    static let configuration = """
        [recovery]
        min_window = "50ms"
        [banner]
        max_per_second = 1000
        [[route]]
        topic = "/claimed/{number}"
        window = "300ms"
        coalesce = "none"
        [[route]]
        topic = "/silent/{number}"
        banner = false
        [[route]]
        topic = "/shown/{number}"
        window = "20ms"
        coalesce = "none"

        """

    let witness = Witness()
    private let address: String
    private let isOver = Locked(false)

    init(on bus: PrivateBus) {
        address = bus.address
    }

    /// Has everybody at work while `body` runs, and returns when the last call has been answered.
    func run(_ body: () async throws -> Void) async throws {
        let events = Mailbox<UInt64>()
        let witness = witness
        let listener = try await Connection.open(
            address,
            onSignal: { signal in
                witness.heard(signal)
                if signal.member == "Event", signal.arguments[0].string?.hasPrefix("/claimed/") == true {
                    events.put(signal.arguments[1].integer() ?? 0)
                }
            })
        defer { listener.close() }
        try await listener.addMatch(MatchRule(interface: Router.interface))
        async let sending: Void = publish("sender", to: "/claimed", pause: .zero, namesEvents: false)
        async let publishing: Void = publish("publisher", to: "/claimed", pause: .zero, namesEvents: true)
        async let showing: Void = publish("shower", to: "/shown", pause: .milliseconds(15), namesEvents: true)
        async let flooding: Void = flood()
        async let claiming: Void = claim(events)
        let result: Result<Void, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        isOver.withLock { $0 = true }
        events.put(0)
        _ = try await (sending, publishing, showing, flooding, claiming)
        try result.get()
    }

    private func publish(_ name: String, to topic: String, pause: Duration, namesEvents: Bool) async throws {
        let connection = try await Connection.open(address)
        defer { connection.close() }
        var number = 0
        while !isOver.withLock({ $0 }) {
            number += 1
            let title = "\(name)-\(number)"
            var isDone = try await publish(connection, name, topic, title, namesEvents)
            // Who names events can ask again without doubling any; who does not goes on to the next.
            while !isDone, namesEvents, !isOver.withLock({ $0 }) {
                isDone = try await publish(connection, name, topic, title, namesEvents)
            }
            if namesEvents, number % 10 == 0 {
                _ = try await publish(connection, name, topic, "\(name)-\(Int.random(in: 1...number))", namesEvents)
            }
            if pause > .zero { try await Task.sleep(for: pause) }
        }
    }

    /// Many calls at once, so that one commit is for many.
    private func flood() async throws {
        let connection = try await Connection.open(address)
        defer { connection.close() }
        var number = 0
        while !isOver.withLock({ $0 }) {
            number += 1
            try await withThrowingTaskGroup(of: Void.self) { group in
                for slot in 1...16 {
                    let name = "flood-\(slot)"
                    let title = "\(name)-\(number)"
                    group.addTask { _ = try await publish(connection, name, "/silent", title, false) }
                }
                try await group.waitForAll()
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// - Returns: whether an id was returned.
    private func publish(
        _ connection: Connection, _ name: String, _ topic: String, _ title: String, _ namesEvents: Bool
    ) async throws -> Bool {
        let text: [Value] = [.string("\(topic)/\(title)"), .string(title), "body"]
        let options: [String: Value] = ["source": .string(name), "event-id": .string(title)]
        let call = Message.toRouter(
            namesEvents ? "Publish" : "Send", autoStart: false,
            namesEvents ? text + [.variants([:]), .variants(options)] : text)
        do {
            guard let id: UInt64 = try await connection.call(call).arguments.first?.integer() else { return false }
            witness.returned(id, for: title, to: name)
            return true
        } catch {
            // Nobody is there at the moment.
            try await Task.sleep(for: .milliseconds(2))
            return false
        }
    }

    private func claim(_ events: Mailbox<UInt64>) async throws {
        let connection = try await Connection.open(address)
        defer { connection.close() }
        // Every life of the daemon announces what is undecided again. Who waited for each verdict would fall behind,
        // until there are so many banners at the end that they become one.
        let claimed = Locked<Set<UInt64>>([])
        while let id = await events.next(within: .seconds(60)), !isOver.withLock({ $0 }) {
            guard claimed.withLock({ $0.insert(id).inserted }) else { continue }
            let call = Message.toRouter("Claim", autoStart: false, [.uint64(id)])
            connection.call(call) { [witness] result in
                if let verdict = (try? result.get())?.arguments.first?.string {
                    witness.claimed(id, verdict: verdict)
                } else {
                    _ = claimed.withLock { $0.remove(id) }
                }
            }
        }
    }
}
