import NotifyClient

/// Wakes a task. Rings while it does not wait are one ring.
final class Bell: Sendable {
    private let (rings, rope) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    func ring() { rope.yield() }

    /// Waits for a ring, or for the end of the task.
    func wait() async {
        for await _ in rings { return }
    }

    /// Rings regularly until the task is cancelled.
    func ring(every period: Duration) async {
        while !Task.isCancelled {
            try? await Task.sleep(for: period)
            ring()
        }
    }

    /// Rings when the daemon comes or goes, or what holds banners back changes, until the task is cancelled. It does not
    /// start the daemon.
    ///
    /// - Parameter address: of the bus.
    func ringForDaemon(on address: String) async {
        let properties = MatchRule(
            sender: Router.name, interface: "org.freedesktop.DBus.Properties", member: "PropertiesChanged")
        while !Task.isCancelled {
            let (end, ending) = AsyncStream.makeStream(of: Never.self)
            let connection = try? await Connection.open(
                address, onSignal: { _ in self.ring() }, onClose: { ending.finish() })
            if let connection {
                for rule in [.ownerChanged(of: Router.name), properties] { try? await connection.addMatch(rule) }
                ring()
                for await _ in end {}
                connection.close()
            }
            try? await Task.sleep(for: .seconds(1))
        }
    }
}

/// Receives what is announced at a topic until the task is cancelled. If the reader was too slow and missed something,
/// it subscribes again.
///
/// - Throws: `closed`, and errors of the subscription.
func listen<Element: Sendable>(
    to subscribe: ([String], Int) async throws -> Subscription<Element>, at topic: String,
    onMiss: () -> Void = {}, _ receive: (Element) -> Void
) async throws {
    while !Task.isCancelled {
        do {
            for try await element in try await subscribe([topic], 4096) { receive(element) }
        } catch let error as NotifyError where error.code == .readerTooSlow {
            onMiss()
        }
    }
}
