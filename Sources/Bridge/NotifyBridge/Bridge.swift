public import Logging
package import NotifyClient
public import TOMLTables

/// A program that joins notifyd with another message system. It is a type with `@main`, of which the library makes a
/// daemon: with its configuration, its state on disk, a name on the bus, a log, and what a service manager expects.
///
/// See <doc:WritingABridge>.
public protocol Bridge: Sendable {
    /// What the configuration says.
    associatedtype Settings: Sendable

    /// The name, in lower-case letters: the configuration is `NAME.toml`, the name on the bus
    /// `org.notifyd.Bridge.NAME`, and the program `notifyd-NAME`.
    static var name: String { get }

    /// What the bridge does, in one sentence, for `--help`.
    static var abstract: String { get }

    /// Reads the configuration. Every key that is not read is a mistake.
    ///
    /// - Returns: `nil` if a mistake was noted.
    static func settings(from table: inout TableReader) -> Settings?

    /// Reads the files and credentials that the settings name: for `--check-config`, and before new settings replace
    /// those in force. At the start they are not asked for: what is missing then may come while the bridge waits for
    /// it.
    ///
    /// - Parameters:
    ///   - settings: what was read without a mistake.
    ///   - isRunning: whether this is the bridge itself, which has the credentials of its unit.
    /// - Returns: what is wrong and what would be right, a sentence for each mistake. None unless a bridge says
    ///   something else.
    static func mistakes(in settings: Settings, isRunning: Bool) -> [String]

    /// What is allowed and most likely not meant: `--check-config` prints it, and a start logs it.
    ///
    /// - Returns: a sentence for each. None unless a bridge says something else.
    static func warnings(in settings: Settings) -> [String]

    /// Prepares the bridge, before it says that it is ready. It exports its own methods here.
    init(_ settings: Settings, _ services: BridgeServices) async throws

    /// Does the work, until the task is cancelled: then what is under way is finished or left so that the next start
    /// goes on with it, within four seconds.
    ///
    /// - Throws: ends the program with an error: a ``BridgeFailure`` with its exit code, everything else with 1. A
    ///   service manager starts it again. If only a person can help, set the status to `failed` instead, and wait.
    func run() async throws

    /// Takes new settings while it runs.
    ///
    /// - Returns: `false`, if `run` is to be cancelled, and a new bridge begins with the new settings. That is what it
    ///   does unless a bridge says something else.
    func reload(_ settings: Settings) async -> Bool

    /// Returns soon if the bridge makes progress. The watchdog of the service manager is fed only then. An actor needs
    /// nothing more than to be asked.
    func check() async
}

extension Bridge {
    /// None.
    public static func mistakes(in settings: Settings, isRunning: Bool) -> [String] { [] }

    /// None.
    public static func warnings(in settings: Settings) -> [String] { [] }

    /// Begins again with the new settings.
    public func reload(_ settings: Settings) async -> Bool { false }

    /// Returns at once.
    public func check() async {}

    /// Runs the program.
    public static func main() { BridgeCommand<Self>.main() }
}

/// Ends a bridge with an exit code of its own.
public struct BridgeFailure: Error, Sendable, CustomStringConvertible {
    /// One of those in sysexits.h; with 78 (the configuration is bad) a service manager does not start it again.
    public let code: Int32
    /// What is wrong and what would be right, in a sentence.
    public let description: String

    public init(_ code: Int32, _ description: String) {
        self.code = code
        self.description = description
    }
}

/// What a bridge is given.
public final class BridgeServices: Sendable {
    /// notifyd.
    public let daemon: DaemonLink
    /// What the bridge keeps on disk.
    public let store: BridgeStore
    /// Keeps what can never be delivered, also where the disk takes nothing for a while.
    public let deadLetters: DeadLetterWriter
    /// How the bridge is, for people.
    public let status: BridgeStatus
    /// Its log. Never log the title or the body of an event, or a secret.
    public let logger: Logger
    /// The address of the bus, for bridges inside this package that need a connection of their own.
    package let address: String
    /// Returns memory to the system after a flood of messages.
    package let memory: MemoryRelease
    private let object: BridgeObject
    private let onLoss: @Sendable (_ reason: String) -> Void

    init(
        daemon: DaemonLink, store: BridgeStore, status: BridgeStatus, logger: Logger, address: String,
        object: BridgeObject, onLoss: @escaping @Sendable (_ reason: String) -> Void
    ) {
        self.daemon = daemon
        self.store = store
        deadLetters = DeadLetterWriter(store, status, logger, daemon.connection.loop)
        self.status = status
        self.logger = logger
        self.address = address
        memory = MemoryRelease(daemon.connection.loop)
        self.object = object
        self.onLoss = onLoss
    }

    /// The connection to the bus, with which a bridge inside this package may do everything.
    package var connection: Connection { daemon.connection }

    /// Where notices and answers of notifyd are delivered. A bridge that does everything else there too is awake only
    /// when there is something to do.
    package var loop: WorkLoop { connection.loop }

    /// Opens another connection to the bus. When it is lost, the bridge ends: started again, it has all of them again.
    package func connect(
        onSignal: @escaping @Sendable (Message) -> Void
    ) async throws(NotifyError) -> Connection {
        try await Connection.open(
            address, on: loop, maximumMessage: DaemonLink.maximumMessage, onSignal: onSignal,
            onClose: { [onLoss] in onLoss(DaemonLink.lossReason) },
            onCut: { [onLoss] in onLoss(DaemonLink.cutReason) })
    }

    /// Waits until something is done, for at most two seconds, also in a task that is cancelled.
    package func wait(isolation: isolated (any Actor)? = #isolation, while isBusy: () -> Bool) async {
        await loop.wait(while: isBusy)
    }

    /// Exports methods. An interface that is exported again replaces the one before.
    public func export(_ interface: BridgeInterface) { object.export(interface) }
}
