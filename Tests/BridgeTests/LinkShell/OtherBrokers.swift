import NotifyClient
import NotifyRehearsal
import NotifyTestSupport

/// Runs `body` with a device for each address of a broker, linked, and removes them afterwards.
///
/// - Parameter link: further lines of the configuration of the link.
func withDevices(
    at servers: [String], link: String = "", _ body: ([LinkedDevice]) async throws -> Void
) async throws {
    var devices: [LinkedDevice] = []
    try await finally {
        await devices.end()
    } after: {
        for (server, name) in zip(servers, ["desk", "laptop", "phone"]) {
            let device = try await LinkedDevice(name)
            devices.append(device)
            try device.bridge.writeSecret(LinkRig.key + "\n", to: "link.key")
            try device.bridge.writeSecret("right\n", to: "password")
            try device.bridge.configure(LinkRig.configuration(at: server, name, link: link))
        }
        try await devices.startBridges(within: .seconds(60))
        try await body(devices)
    }
}

extension [LinkedDevice] {
    /// All devices publish, one after the other; `body` is called before each round with its number. Afterwards all
    /// must have everything once.
    func publishAndCompare(rounds: Int, _ body: (Int) async throws -> Void) async throws -> [String] {
        var expected: Set<String> = []
        for round in 0..<rounds {
            try await body(round)
            for device in self {
                let title = "\(device.name) \(round)"
                expected.insert(title)
                try await device.client.publish("/log/a", title: title, options: PublishOptions(banner: false))
            }
        }
        var mistakes: [String] = []
        for device in self {
            try await device.until("everything is there", within: .seconds(180)) {
                try await Set(device.titles()).isSuperset(of: expected)
            }
            let titles = try await device.titles()
            if titles.count != expected.count {
                mistakes.append("\(device.name) has \(titles.count), not \(expected.count)")
            }
        }
        return mistakes
    }
}
