import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// A bus with a real daemon and a client on it, and everything the daemon says. Notification servers come as a test
/// wants.
///
/// The suites that use it are serialized: every process on a stage occupies threads of this one, which has not enough
/// of them for all tests at once.
struct BannerStage: Sendable {
    static let patience: Duration = .seconds(20)

    let bus: PrivateBus
    let daemon: DaemonProcess
    let client: NotifyClient
    /// Hears all signals of the router, and makes the calls that a client does not.
    let connection: Connection
    let signals: Mailbox<Message>

    func server(
        _ quirks: NotificationServer.Quirks = [], capabilities: [String] = ["actions", "body"],
        mode: NotificationServer.Mode = .normal
    ) async throws -> NotificationServer {
        try await NotificationServer.start(on: bus, capabilities: capabilities, quirks: quirks, mode: mode)
    }

    // MARK: What happened

    /// The next outcome of an event; it has to come.
    func outcome(of id: EventID) async throws -> Resolved {
        let signal = await signals.next(within: Self.patience) { message in
            message.member == "Resolved" && message.arguments[1] == .uint64(id.rawValue)
        }
        guard let signal else { throw RehearsalError("Event \(id) got no outcome. The daemon: \(daemon.log)") }
        let details = signal.arguments[3].entries ?? [:]
        return Resolved(
            kind: signal.arguments[2].string ?? "", banner: details["banner"]?.integer(),
            count: details["count"]?.integer())
    }

    struct Resolved: Hashable {
        var kind: String
        var banner: UInt32?
        var count: Int?
    }

    /// The next button that was pressed, as the router tells it: topic, id, action.
    func action() async throws -> [Value] {
        let signal = await signals.next(within: Self.patience) { $0.member == "ActionInvoked" }
        guard let signal else { throw RehearsalError("No button was pressed. The daemon: \(daemon.log)") }
        return signal.arguments
    }

    /// The next call of `Notify`.
    func banner(
        on server: NotificationServer,
        where isWanted: @escaping @Sendable (NotificationServer.Banner) -> Bool = { _ in true }
    ) async throws -> NotificationServer.Banner {
        guard let banner = await server.banners.next(within: Self.patience, where: isWanted) else {
            throw RehearsalError("The server was not asked for a banner. The daemon: \(daemon.log)")
        }
        return banner
    }

    /// The next call of `CloseNotification`.
    func close(on server: NotificationServer) async throws -> UInt32 {
        guard let close = await server.closes.next(within: Self.patience) else {
            throw RehearsalError("The server was not asked to close a banner. The daemon: \(daemon.log)")
        }
        return close.id
    }

    /// The next line of the daemon's log that holds a text.
    func logged(_ text: String) async throws {
        guard await daemon.errors.next(within: Self.patience, where: { $0.contains(text) }) != nil else {
            throw RehearsalError("The daemon did not write \"\(text)\". It wrote: \(daemon.log)")
        }
    }

    func statistic(_ name: String) async throws -> UInt64? {
        try await client.statistics()[name]
    }

    /// Asks the daemon until something has come true there.
    func until(_ name: String, is value: UInt64) async throws {
        try await until("\(name) is \(value)") { try await statistic(name) == value }
    }

    func until(_ fact: String, _ isTrue: () async throws -> Bool) async throws {
        try await waitUntil(fact, within: Self.patience, daemon, isTrue)
    }
}

extension DaemonProcess {
    /// Has it read its configuration again, with this text if there is one.
    func reload(_ text: String? = nil) async throws {
        if let text { try configure(text) }
        signal(SIGHUP)
        guard await errors.next(within: BannerStage.patience, where: { $0.contains("Configuration reloaded") }) != nil
        else { throw RehearsalError("The daemon did not reload: \(log)") }
    }
}

/// Runs `body` on a stage of its own, which is gone afterwards.
///
/// - Parameter configuration: added to short windows and no limit of banners.
func withBannerStage(
    _ configuration: String = "", environment: [String: String] = [:], serviceFolder: String? = nil,
    _ body: (BannerStage) async throws -> Void
) async throws {
    try await withPrivateBus(serviceFolder: serviceFolder) { bus in
        let daemon = try await DaemonProcess.start(
            BuiltPrograms.notifyd, on: bus, configuration: bannerDefaults + configuration, environment: environment)
        let client = try await NotifyClient(address: bus.address)
        let signals = Mailbox<Message>()
        let connection = try await Connection.open(
            bus.address, onSignal: { if $0.interface == Router.interface { signals.put($0) } })
        try await connection.addMatch(MatchRule(interface: Router.interface))
        let stage = BannerStage(
            bus: bus, daemon: daemon, client: client, connection: connection, signals: signals)
        try await finally {
            await client.close()
            connection.close()
            await daemon.stop()
            daemon.folder.remove()
        } after: {
            try await body(stage)
        }
    }
}

extension Trait where Self == Fixture {
    static var bannerStage: Self { bannerStage() }

    static func bannerStage(_ configuration: String = "", environment: [String: String] = [:]) -> Self {
        Fixture { try await withBannerStage(configuration, environment: environment, $0) }
    }
}

let bannerDefaults = """
    [defaults]
    window = "20ms"
    [banner]
    max_per_second = 0

    """
