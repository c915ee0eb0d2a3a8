package import NotifyClient
package import NotifyRehearsal

/// A bus with a real daemon, a notification server, a client and a listener on it.
package struct Rig: Sendable {
    package let bus: PrivateBus
    package let daemon: DaemonProcess
    package let server: NotificationServer
    package let client: NotifyClient
    package let listener: Listener

    /// Without a limit of banners.
    package static let configuration = "[banner]\nmax_per_second = 0\n"
}

/// Runs `body` with a new rig and removes it afterwards.
package func withRig(
    configuration: String = Rig.configuration, systemBus: PrivateBus? = nil,
    _ body: (Rig) async throws -> Void
) async throws {
    try await withPrivateBus { bus in
        let server = try await NotificationServer.start(on: bus)
        let daemon = try await DaemonProcess.start(
            BuiltPrograms.notifyd, on: bus, configuration: configuration, systemBus: systemBus?.address)
        let client = try await NotifyClient(address: bus.address)
        let listener = try await Listener(on: bus)
        let rig = Rig(bus: bus, daemon: daemon, server: server, client: client, listener: listener)
        try await finally {
            await client.close()
            listener.close()
            server.stop()
            await daemon.stop()
            daemon.folder.remove()
        } after: {
            try await body(rig)
        }
    }
}

extension Rig {
    /// Starts `notifyctl` on the bus of this rig. Its output and its errors are collected.
    package func start(_ arguments: String...) throws -> ChildProcess { try start(arguments: arguments) }

    /// Runs `notifyctl` on the bus of this rig to its end.
    package func run(_ arguments: String...) async throws -> CommandResult { try await run(arguments) }

    package func run(_ arguments: [String]) async throws -> CommandResult {
        try await start(arguments: arguments).result()
    }

    /// Runs a script in a process group of its own; `notifyctl` is in its `$PATH`.
    package func startScript(_ script: String, _ arguments: String...) throws -> ChildProcess {
        try ChildProcess(
            "/bin/sh", ["-c", script, "sh"] + arguments, environment: environment, capturing: [1, 2], inOwnGroup: true)
    }

    package func start(arguments: [String]) throws -> ChildProcess {
        try ChildProcess(BuiltPrograms.notifyctl, arguments, environment: environment, capturing: [1, 2])
    }

    /// An environment with `notifyctl` in `$PATH` and the bus of this rig.
    package var environment: [String: String] {
        let folder = BuiltPrograms.notifyctl.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        return [
            "PATH": folder.joined(separator: "/") + ":/usr/bin:/bin", "HOME": daemon.folder.path,
            "DBUS_SESSION_BUS_ADDRESS": bus.address,
            "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(daemon.folder.path)/no-system-bus",
        ].merging(ChildProcess.sanitizerEnvironment) { $1 }
    }
}

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
