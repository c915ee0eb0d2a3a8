package import NotifyClient
package import NotifyRehearsal

/// A bus with a real daemon, a notification server, a client and a listener on it.
package struct Rig: Sendable {
    package let bus: PrivateBus
    package let daemon: DaemonProcess
    package let server: NotificationServer
    package let client: NotifyClient
    package let listener: Listener
}

/// Runs `body` with a new rig and removes it afterwards.
package func withRig(
    configuration: String = "[banner]\nmax_per_second = 0\n", systemBus: PrivateBus? = nil,
    _ body: (Rig) async throws -> Void
) async throws {
    try await withPrivateBus { bus in
        let server = try await NotificationServer.start(on: bus)
        let daemon = try await DaemonProcess.start(
            BuiltPrograms.notifyd, on: bus, configuration: configuration, systemBus: systemBus?.address)
        let client = try await NotifyClient(address: bus.address)
        let listener = try await Listener(on: bus)
        let rig = Rig(bus: bus, daemon: daemon, server: server, client: client, listener: listener)
        let result: Result<Void, any Error>
        do { result = .success(try await body(rig)) } catch { result = .failure(error) }
        await client.close()
        listener.close()
        server.stop()
        await daemon.stop()
        daemon.folder.remove()
        try result.get()
    }
}
