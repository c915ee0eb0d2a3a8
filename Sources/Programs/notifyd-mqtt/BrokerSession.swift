import Linking
import Logging
import Mosquitto
import NotifyBridge
import NotifyClient

/// A connection to the broker that is made again, after pauses, when it has ended: for a line or for the maps.
final class BrokerSession: @unchecked Sendable {
    // Proof: everything but `init` runs on `loop`.

    /// How the connection is, for people.
    struct Condition: Equatable {
        var state = BridgeStatus.State.connecting
        var detail = ""
        /// What to do about it; `nil` for the usual advice.
        var advice: String?
        /// Whether people should look at it although it is connected.
        var isAlarming = false
    }

    private let settings: LinkSettings
    private let services: BridgeServices
    private let loop: WorkLoop
    /// In the log.
    private let name: String
    /// Before each detail that people see.
    private let prefix: String
    /// What happens on the connection.
    var onEvent: (ConnectionEvent) -> Void = { _ in }
    /// Called when it is time to connect again.
    var onRetry: () -> Void = {}
    /// Called when the condition has changed.
    private let onChange: () -> Void

    private(set) var condition = Condition()
    private(set) var connection: BrokerConnection?
    /// The version that the broker speaks.
    private(set) var version = ProtocolVersion.v5
    private(set) var lastOptions: ConnectionOptions?
    /// How long the last connection lasted; `nil` if it was not made.
    private(set) var age: Duration?
    private var connectedAt: ContinuousClock.Instant?
    /// The number of the connection: events of earlier ones are ignored.
    private(set) var number: UInt64 = 0
    private var backoff = Backoff()
    private var retry: WorkTimer?
    /// Whether the log says that the broker is not connected.
    private var isAbsenceLogged = false
    private var hasFailed = false
    private var isStopped = false

    init(
        _ name: String, prefix: String, _ settings: LinkSettings, _ services: BridgeServices, _ loop: WorkLoop,
        onChange: @escaping () -> Void
    ) {
        self.name = name
        self.prefix = prefix
        self.settings = settings
        self.services = services
        self.loop = loop
        self.onChange = onChange
    }

    var isConnected: Bool { connectedAt != nil }

    /// Connects, unless there is a connection.
    ///
    /// - Parameter makeOptions: returns the options, but for version and downgrade file.
    func connect(_ makeOptions: (Broker) throws -> ConnectionOptions) {
        guard connection == nil, !isStopped else { return }
        retry?.cancel()
        do {
            var options = try makeOptions(try settings.broker())
            options.version = version
            options.downgrades = DowngradeFile(path: services.store.folder + "/no-mqtt5")
            lastOptions = options
            number += 1
            connection = BrokerConnection(options, on: loop) { [weak self, number] event in
                guard let self, number == self.number, !isStopped else { return }
                handle(event)
            }
        } catch {
            show(.failed, "\(error)", BridgeStatus.correction(of: LinkBridge.name))
            connectLater()
        }
    }

    private func handle(_ event: ConnectionEvent) {
        switch event {
        case .connected(let version, _, _):
            self.version = version
            connectedAt = .now
        case .ended:
            connection = nil
            age = connectedAt.map { .now - $0 }
            connectedAt = nil
            // After a connection that ended at once, pauses go on growing.
            if let age, age > .seconds(30) { backoff.reset() }
        case .received, .acknowledged, .refusedAsTooLong: break
        }
        onEvent(event)
    }

    /// Connects again after a pause.
    func connectLater() {
        retry?.cancel()
        retry = loop.perform(after: backoff.next()) { [weak self] in
            guard let self, connection == nil else { return }
            onRetry()
        }
    }

    /// Ends the connection: the broker publishes the will.
    func stop() {
        isStopped = true
        retry?.cancel()
        connection?.end(afterFlush: true)
        connection = nil
        connectedAt = nil
    }

    /// Shows why the connection has ended, and connects again later.
    ///
    /// - Parameter complaint: why it was ended here: a person has to change something.
    func connectLater(after end: ConnectionEnd, complaint: String? = nil) {
        if let complaint {
            show(.failed, complaint)
        } else {
            show(end.kind == .refused ? .failed : .waiting, end.description, end.advice)
        }
        connectLater()
    }

    /// Shows a failure for good.
    func fail(_ detail: String, advice: String) {
        guard !hasFailed else { return }
        hasFailed = true
        condition = Condition(state: .failed, detail: prefix + detail, advice: advice)
        onChange()
    }

    /// Shows a condition, and logs when the connection is gone and when it is back.
    func show(_ state: BridgeStatus.State, _ detail: String, _ advice: String? = nil) {
        let new = Condition(state: state, detail: prefix + detail, advice: advice)
        guard new != condition, !hasFailed else { return }
        condition = new
        switch state {
        case .connected where isAbsenceLogged:
            isAbsenceLogged = false
            services.logger.notice(
                "The broker is connected again", metadata: ["line": "\(name)", "broker": "\(settings.server)"])
        case .failed, .waiting:
            isAbsenceLogged = true
            services.logger.notice(
                "The broker is not connected",
                metadata: ["line": "\(name)", "broker": "\(settings.server)", "reason": "\(detail)"])
        default: break
        }
        onChange()
    }
}
