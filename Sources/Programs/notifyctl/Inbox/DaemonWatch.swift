import NotifyClient

/// Tells when the daemon comes or goes, or what holds banners back changes. It does not start the daemon.
struct DaemonWatch: Sendable {
    let address: String

    /// Until the task is cancelled.
    func run(_ report: @escaping @Sendable () -> Void) async {
        let properties = MatchRule(
            sender: Router.name, interface: "org.freedesktop.DBus.Properties", member: "PropertiesChanged")
        while !Task.isCancelled {
            let (end, ending) = AsyncStream.makeStream(of: Never.self)
            let connection = try? await Connection.open(
                address, onSignal: { _ in report() }, onClose: { ending.finish() })
            if let connection {
                for rule in [.ownerChanged(of: Router.name), properties] { try? await connection.addMatch(rule) }
                report()
                for await _ in end {}
                connection.close()
            }
            try? await Task.sleep(for: .seconds(1))
        }
    }
}
