import NotifyClient
import NotifyRehearsal

/// Linked devices and a broker on this machine, each behind a proxy of its own.
struct Fixture: Sendable {
    let broker: PrivateBroker
    let devices: [LinkedDevice]
    let proxies: [DelayingProxy]
    /// For the plain connections that give the floor.
    let floorProxies: [DelayingProxy]

    /// Bytes 0 to 31.
    private static let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    /// What is sent here has no banner, or one at once, or one after the usual window.
    private static let configuration = """
        [banner]
        max_per_second = 0
        [[route]]
        topic = "/quiet/{name}"
        banner = false
        [[route]]
        topic = "/shown/{number}"
        window = "0s"

        """

    /// Starts three devices, and returns when each sees the others.
    ///
    /// - Parameter delay: what is added each way; `nil`: there are no proxies.
    static func start(_ programs: LinkedDevice.Programs, delay: Duration?) async throws -> Fixture {
        var settings = PrivateBroker.Settings()
        settings.hasPort = true
        // Otherwise a small message waits until the one before it is acknowledged.
        settings.lines = ["set_tcp_nodelay true"]
        let broker = try PrivateBroker(settings)
        try await broker.start()
        var devices: [LinkedDevice] = []
        var proxies: [DelayingProxy] = []
        do {
            for name in ["desk", "laptop", "phone"] {
                let device = try await LinkedDevice(name, programs, configuration: configuration)
                devices.append(device)
                var port = broker.port
                if let delay {
                    let proxy = try DelayingProxy(to: [broker.port], delay: delay)
                    proxies.append(proxy)
                    port = proxy.port
                }
                try device.link(to: "mqtt://localhost:\(port)", key: key)
            }
            let floor = try (delay.map { [$0, $0] } ?? []).map { try DelayingProxy(to: [broker.port], delay: $0) }
            try await devices.startBridges(within: .seconds(60))
            return Fixture(broker: broker, devices: devices, proxies: proxies, floorProxies: floor)
        } catch {
            await devices.end()
            await broker.kill()
            throw error
        }
    }

    func end() async {
        await devices.end()
        await broker.kill()
        broker.folder.remove()
        for proxy in proxies + floorProxies { proxy.close() }
    }

    func bridge(_ index: Int) -> ProcessStatistics {
        ProcessStatistics(identifier: devices[index].bridge.identifier ?? 0)
    }

    /// Runs `body` with a fixture, and removes it afterwards.
    static func with<Result>(
        _ programs: LinkedDevice.Programs, delay: Duration? = nil, _ body: (Fixture) async throws -> Result
    ) async throws -> Result {
        let fixture = try await start(programs, delay: delay)
        let result: Swift.Result<Result, any Error>
        do { result = .success(try await body(fixture)) } catch { result = .failure(error) }
        await fixture.end()
        return try result.get()
    }
}
