package import NotifyClient

/// A device of a link: a bus with a notifyd, a stand-in for the notification server and a notifyd-mqtt.
package final class LinkedDevice: Sendable {
    /// What is run.
    package struct Programs: Sendable {
        package let daemon: String
        package let bridge: String

        package init(daemon: String, bridge: String) {
            self.daemon = daemon
            self.bridge = bridge
        }
    }

    /// How it is called on the link.
    package let name: String
    package let bus: PrivateBus
    package let server: NotificationServer
    package let daemon: DaemonProcess
    package let client: NotifyClient
    package let bridge: BridgeProcess

    /// Starts everything but the bridge.
    ///
    /// - Parameter configuration: of notifyd.
    package init(_ name: String, _ programs: Programs, configuration: String = "") async throws {
        self.name = name
        bus = try await PrivateBus()
        server = try await NotificationServer.start(on: bus)
        daemon = try await DaemonProcess.start(programs.daemon, on: bus, configuration: configuration)
        client = try await NotifyClient(address: bus.address)
        bridge = try BridgeProcess(programs.bridge, name: "mqtt", on: bus)
    }

    /// Configures the bridge.
    ///
    /// - Parameters:
    ///   - server: of the broker, as in notifyd-mqtt.toml(5).
    ///   - key: 32 bytes in Base64; `nil`: the link has none.
    package func link(to server: String, key: String?) throws {
        var lines = ["[link]", "server = \"\(server)\"", "user = \"mina\"", "name = \"\(name)\""]
        if let key {
            try bridge.writeSecret(key + "\n", to: "link.key")
            lines.append("key = { file = \"link.key\" }")
        }
        try bridge.configure(lines.joined(separator: "\n") + "\n")
    }

    package func end() async {
        await bridge.stop()
        await client.close()
        server.stop()
        await daemon.stop()
        await bus.remove()
        daemon.folder.remove()
        bridge.folder.remove()
    }
}

extension [LinkedDevice] {
    /// Starts the bridges one after the other, and returns when each sees all others.
    package func startBridges(within limit: Duration = .seconds(30)) async throws {
        for device in self { try await device.bridge.start(within: limit) }
        let names = Set(map(\.name))
        for device in self { try await device.waitUntilOnline(names.subtracting([device.name]), within: limit) }
    }

    package func end() async {
        for device in self { await device.end() }
    }
}

extension LinkedDevice {
    /// Returns when its bridge sees these devices online.
    package func waitUntilOnline(_ names: Set<String>, within limit: Duration) async throws {
        let deadline = ContinuousClock.now + limit * Timeouts.factor
        while try await !bridge.peersOnline().isSuperset(of: names) {
            guard ContinuousClock.now < deadline else {
                throw RehearsalError(
                    "\(name) did not see \(names.sorted().joined(separator: " and ")) within \(limit). Its "
                        + "bridge said: \(bridge.log)"
                )
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
