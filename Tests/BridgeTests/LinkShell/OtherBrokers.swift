import NotifyClient
import NotifyRehearsal
import NotifyTestSupport

/// Runs `body` with a device for each address of a broker, linked, and removes them afterwards.
///
/// - Parameter link: further lines of the configuration of the link.
func withDevices(
    at servers: [String], link: String = "", _ body: ([LinkDevice]) async throws -> Void
) async throws {
    var devices: [LinkDevice] = []
    let result: Result<Void, any Error>
    do {
        for (server, name) in zip(servers, ["desk", "laptop", "phone"]) {
            let device = try await LinkDevice(name)
            devices.append(device)
            try device.writeSecret(LinkRig.key + "\n", to: "link.key")
            try device.writeSecret("right\n", to: "password")
            try device.configure(
                """
                [link]
                server = "\(server)"
                user = "mina"
                name = "\(name)"
                key = { file = "link.key" }
                \(link)

                """)
        }
        for device in devices {
            try device.launchBridge()
            try await device.until("it is connected", within: .seconds(60)) {
                try await device.property("State")?.string == "connected"
            }
        }
        for device in devices {
            for other in devices where other.label != device.label {
                try await device.until("\(other.label) is online", within: .seconds(60)) {
                    try await device.isOnline(other.label)
                }
            }
        }
        result = .success(try await body(devices))
    } catch {
        result = .failure(error)
    }
    for device in devices { await device.end() }
    try result.get()
}

extension [LinkDevice] {
    /// All devices publish, one after the other; `body` is called before each round with its number. Afterwards all
    /// must have everything once.
    func publishAndCompare(rounds: Int, _ body: (Int) async throws -> Void) async throws -> [String] {
        var expected: Set<String> = []
        for round in 0..<rounds {
            try await body(round)
            for device in self {
                let title = "\(device.label) \(round)"
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
                mistakes.append("\(device.label) has \(titles.count), not \(expected.count)")
            }
        }
        return mistakes
    }
}
