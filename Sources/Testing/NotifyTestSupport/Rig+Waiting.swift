package import NotifyClient
package import NotifyRehearsal

extension Rig {
    /// Publishes an event and returns its outcome.
    package func outcome(
        ofEventAt topic: String, title: String = "news", options: PublishOptions = PublishOptions()
    ) async throws -> String? {
        let id = try await client.publish(topic, title: title, options: options)
        return await listener.resolution(of: id)?.outcome
    }

    /// Polls until a condition is true that no signal announces.
    package func until(_ fact: String, _ isTrue: () async throws -> Bool) async throws {
        try await waitUntil(fact, within: .seconds(10), daemon, isTrue)
    }

    /// Returns when a program that `body` starts has subscribed to events at or below a topic.
    package func subscriber<Result>(to topic: String, after body: () async throws -> Result) async throws -> Result {
        let (calls, monitor) = try await calls(of: "AddMatch", on: Bus.interface)
        defer { monitor.close() }
        let result = try await body()
        let rule = await calls.next(within: .seconds(10)) { call in
            let text = call.arguments.first?.string ?? ""
            return text.contains("member='Event'") && text.hasSuffix("arg0path='\(topic)/'")
        }
        guard rule != nil else { throw RehearsalError("There is no subscription to events at \(topic).") }
        return result
    }

    /// Returns when the bus has announced the end of a connection that `body` closes. Later messages reach the daemon
    /// after that announcement.
    package func departure(of name: String, after body: () async throws -> Void) async throws {
        let departures = Mailbox<String>()
        let observer = try await Connection.open(
            bus.address,
            onSignal: { signal in
                guard signal.member == "NameOwnerChanged", signal.arguments.last?.string == "" else { return }
                departures.put(signal.arguments[0].string ?? "")
            })
        defer { observer.close() }
        try await observer.addMatch(.ownerChanged(of: name))
        try await body()
        guard await departures.next(within: .seconds(10)) != nil else {
            throw RehearsalError("\(name) did not leave the bus.")
        }
    }

    /// The calls of one method from any connection from now on.
    package func calls(
        of member: String, on interface: String = Router.interface
    ) async throws -> (calls: Mailbox<Message>, monitor: Connection) {
        let calls = Mailbox<Message>()
        let monitor = try await Connection.open(bus.address)
        monitor.export(interface) { calls.put($0.message) }
        _ = try await monitor.call(
            .call(
                "BecomeMonitor", of: "org.freedesktop.DBus.Monitoring", at: Bus.path, on: Bus.name,
                [.strings(["member='\(member)'"]), .uint32(0)]))
        return (calls, monitor)
    }
}

/// Polls a condition that no signal announces. If it does not become true in time, the error has its description and
/// the log of the daemon.
package func waitUntil(
    _ fact: String, within limit: Duration, _ daemon: DaemonProcess, _ isTrue: () async throws -> Bool
) async throws {
    guard try await becomesTrue(within: limit, isTrue) else {
        throw RehearsalError("It did not come true that \(fact). The daemon: \(daemon.log)")
    }
}

/// Polls a condition until it is true or the time is up, which is `limit` times ``Timeouts/factor``.
func becomesTrue(within limit: Duration, _ isTrue: () async throws -> Bool) async throws -> Bool {
    let deadline = ContinuousClock.now + limit * Timeouts.factor
    while try await !isTrue() {
        guard ContinuousClock.now < deadline else { return false }
        try await Task.sleep(for: .milliseconds(10))
    }
    return true
}

/// Asks again and again until there is a result, which is returned. After `limit` times ``Timeouts/factor`` the error
/// says what did not come true.
@discardableResult
package func eventually<Result>(
    _ fact: @autoclosure () -> String, within limit: Duration = .seconds(30),
    isolation: isolated (any Actor)? = #isolation, _ ask: () async throws -> Result?
) async throws -> Result {
    let deadline = ContinuousClock.now + limit * Timeouts.factor
    while ContinuousClock.now < deadline {
        if let result = try await ask() { return result }
        try await Task.sleep(for: .milliseconds(20))
    }
    throw RehearsalError("It did not come true that \(fact()).")
}
