import Glibc
import Logging
import NotifyClient
import NotifyText
import StandardStreams
import Systemd
import TOMLTables
import UserFiles

/// The process of a bridge: what happens from its start to its end. All of it happens on one thread, ``loop``; the
/// store has one of its own, because it waits for the disk.
final class BridgeProgram<Program: Bridge>: Sendable {
    private let file: ConfigurationFile<Program>
    private let address: String?
    private let stateFolder: String?
    private let logger: Logger
    private let loop: WorkLoop
    private let status = BridgeStatus()
    private let supervisor: Supervisor<Program>

    init(file: ConfigurationFile<Program>, address: String?, state: String?, logLevel: Logger.Level?) {
        self.file = file
        self.address = address
        stateFolder = state
        let name = "notifyd-\(Program.name)"
        var logger = Logger(label: name) { ServiceLogHandler(identifier: $0) }
        if let logLevel { logger.logLevel = logLevel }
        self.logger = logger
        do throws(NotifyError) {
            loop = try WorkLoop()
        } catch {
            logger.error("The bridge cannot start", metadata: ["error": "\(error)"])
            StandardStreams.end(ExitStatus.systemFailure)
        }
        supervisor = Supervisor(loop)
    }

    /// How long a bridge may take to stop; `TimeoutStopSec=` of its unit is longer.
    private static var stopTimeout: Duration { .seconds(4) }

    /// Runs until it is told to end. The main thread waits for signals, and does nothing else.
    func run() -> Never {
        Memory.keepLargeBlocksApart()
        EventLoop.ignoreFailureSignals()
        let signals = [SIGTERM, SIGINT, SIGHUP]
        EventLoop.blockSignals(signals)
        let settings = loadSettings()
        loop.task { [loop] in
            ServiceManager.attach { pause, work in loop.perform(after: pause, work) }
            let code = await self.life(with: settings)
            StandardStreams.end(code)
        }
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        while true {
            var number: CInt = 0
            guard sigwait(&set, &number) == 0 else { continue }
            if number == SIGHUP { reload() } else { stop() }
        }
    }

    private func loadSettings() -> Program.Settings {
        do throws(ConfigurationError) {
            return try file.read()
        } catch {
            for line in error.lines { logger.error("The configuration is bad", metadata: ["error": "\(line)"]) }
            StandardStreams.end(ExitStatus.badConfiguration)
        }
    }

    // MARK: Signals

    private func stop() {
        loop.perform { ServiceManager.stopping() }
        supervisor.stop()
        loop.perform(after: Self.stopTimeout) { [logger] in
            logger.warning("The bridge does not end in time; it is left as it is")
            StandardStreams.end(ExitStatus.success)
        }
    }

    private func reload() {
        loop.task { [self] in
            ServiceManager.reloading()
            do throws(ConfigurationError) {
                let settings = try file.readWithSecrets(isRunning: true)
                status.setConfiguration(nil, of: Program.name)
                await supervisor.reload(settings)
                logger.info("The configuration was read again")
            } catch {
                status.setConfiguration(error, of: Program.name)
                for line in error.lines {
                    logger.error(
                        "The configuration is bad; the previous one stays in force", metadata: ["error": "\(line)"])
                }
            }
            ServiceManager.ready(status: status.line)
        }
    }

    // MARK: Its life

    /// - Returns: the exit code.
    private func life(with settings: Program.Settings) async -> Int32 {
        guard let address = address ?? BaseDirectories().sessionBusAddress else {
            logger.error("No session bus is known; set DBUS_SESSION_BUS_ADDRESS, or give --address")
            return ExitStatus.busLost
        }
        let onLoss: @Sendable (String) -> Void = { [logger, supervisor] reason in
            logger.error("\(reason)")
            supervisor.end(ExitStatus.busLost)
        }
        let daemon: DaemonLink
        do throws(NotifyError) {
            daemon = try await DaemonLink.open(
                address, on: loop, onLoss: onLoss, onRefusal: { [status] in status.setRefusal($0) })
        } catch {
            logger.error(
                "The bus cannot be reached; start a session bus, or name another with --address",
                metadata: ["address": "\(address)", "error": "\(error)"])
            return ExitStatus.busLost
        }
        status.attach(
            loop, send: { [connection = daemon.connection] in connection.send($0) },
            onState: { [loop] line in loop.perform { ServiceManager.status(line) } })
        let name = "org.notifyd.Bridge.\(Program.name)"
        let object = BridgeObject(daemon.connection, status)
        object.export()
        do throws(NotifyError) {
            try await daemon.connection.requestName(name)
        } catch {
            if error.code == .refused {
                logger.error("This bridge runs already", metadata: ["name": "\(name)", "error": "\(error)"])
                return ExitStatus.nameTaken
            }
            return ExitStatus.busLost
        }
        // The owner of the name owns the state.
        let store: BridgeStore
        do throws(StoreError) {
            store = try BridgeStore(
                folder: folder, onLetters: { [status] in status.setDeadLetters($0) },
                onWrite: { [status, folder] in status.setDisk($0, folder) })
        } catch {
            logger.error("The state cannot be used", metadata: ["folder": "\(folder)", "error": "\(error)"])
            return error.isTooNew ? ExitStatus.badData : ExitStatus.systemFailure
        }
        if let file = store.begunAnew {
            logger.critical("The state was damaged; it was set aside, and begins again", metadata: ["file": "\(file)"])
            status.setBegunAnew(file, of: Program.name)
        }
        object.export(BridgeMethods(store: store, status: status, name: Program.name).interface)
        let services = BridgeServices(
            daemon: daemon, store: store, status: status, logger: logger, address: address, object: object,
            onLoss: onLoss)
        logger.info(
            "The bridge has started", metadata: ["version": "\(projectVersion)", "configuration": "\(file.path)"])
        daemon.startDaemon()
        let care = loop.task { await self.takeCare(of: services) }
        let code = await work(settings, services)
        care.cancel()
        ServiceManager.stopping()
        await object.finishCalls()
        await store.close()
        await daemon.flush()
        return code
    }

    private var folder: String {
        if let stateFolder { return BaseDirectories.absolute(path: stateFolder) }
        // Of several directories of the unit, the first is that of the bridge; systemd.exec(5).
        if let folder = getenv("STATE_DIRECTORY").map({ String(cString: $0) })?.split(separator: ":").first,
            folder.hasPrefix("/")
        {
            return String(folder)
        }
        return BaseDirectories().state + "/" + Program.name
    }

    /// Runs one bridge after the other: a new one after each change of the settings.
    private func work(_ first: Program.Settings, _ services: BridgeServices) async -> Int32 {
        var settings = first
        loop.perform(after: Memory.startTime) { Memory.releaseAll() }
        do {
            while true {
                status.clearProblems()
                let bridge = try await Program(settings, services)
                ServiceManager.ready(status: status.line)
                switch try await supervisor.run(bridge) {
                case .ended(let code): return code
                case .changed(let new): settings = new
                }
            }
        } catch let failure as BridgeFailure {
            logger.error("The bridge has failed", metadata: ["error": "\(failure)"])
            return failure.code
        } catch let error as StoreError {
            logger.error("The state cannot be used", metadata: ["error": "\(error)"])
            return ExitStatus.systemFailure
        } catch {
            logger.error("The bridge has failed", metadata: ["error": "\(error)"])
            return ExitStatus.failure
        }
    }

    // MARK: What it does besides

    /// Pings the watchdog while everything makes progress, and deletes old dead letters.
    private func takeCare(of services: BridgeServices) async {
        let timeout: Int64?
        do throws(SystemdError) { timeout = try ServiceManager.watchdogTimeout() } catch { timeout = nil }
        let hour = Duration.seconds(3600)
        let period = timeout.map { .microseconds($0 / 2) } ?? hour
        var expiry = ContinuousClock.now
        while !Task.isCancelled {
            if expiry <= .now {
                services.store.expireLetters()
                expiry = .now + hour
            }
            if timeout != nil {
                // Whoever hangs keeps the ping from being sent.
                await services.store.wait()
                await withCheckedContinuation { continuation in
                    services.connection.perform { continuation.resume() }
                }
                await supervisor.check()
                ServiceManager.pingWatchdog()
            }
            await loop.sleep(for: period)
        }
    }
}

/// Runs a bridge, and ends it when the program is to end or its settings have changed.
private final class Supervisor<Program: Bridge>: Sendable {
    /// Why `run` returned.
    enum Result: Sendable {
        case ended(Int32)
        case changed(Program.Settings)
    }

    private struct State: Sendable {
        var bridge: Program?
        var work: Task<Void, any Error>?
        var next: Program.Settings?
        /// The exit code, once the program is to end.
        var code: Int32?
    }

    private let loop: WorkLoop
    private let state = Locked(State())

    init(_ loop: WorkLoop) { self.loop = loop }

    func run(_ bridge: Program) async throws -> Result {
        let work = loop.task { try await bridge.run() }
        let isOver = state.withLock { state in
            state.bridge = bridge
            state.work = work
            return state.code != nil || state.next != nil
        }
        if isOver { work.cancel() }
        let result = await work.result
        let (next, code) = state.withLock { state in
            defer {
                state.work = nil
                state.next = nil
            }
            return (state.next, state.code)
        }
        // What a cancelled bridge throws says only that it was cancelled.
        if let code { return .ended(code) }
        if let next { return .changed(next) }
        try result.get()
        return .ended(ExitStatus.success)
    }

    /// Ends the bridge because it was told to.
    func stop() { end(ExitStatus.success) }

    /// Ends the bridge. The first code counts.
    func end(_ code: Int32) {
        state.withLock { state in
            state.code = state.code ?? code
            return state.work
        }?.cancel()
    }

    func reload(_ settings: Program.Settings) async {
        let bridge = state.withLock { $0.bridge }
        if let bridge, await bridge.reload(settings) { return }
        state.withLock { state in
            state.next = settings
            return state.work
        }?.cancel()
    }

    func check() async { await state.withLock { $0.bridge }?.check() }
}

/// Returns memory to the system after a flood of messages: the C library would keep what they took for as long as the
/// bridge runs.
///
/// It costs a bridge that does little nothing: no timer is armed before so many messages that they could have taken
/// megabytes.
package final class MemoryRelease: Sendable {
    private let loop: WorkLoop
    private let release: @Sendable () -> Void
    /// Messages since memory was returned last.
    private let count = Locked(0)

    /// Fewer messages leave less than a megabyte behind.
    private static let minimum = 200
    /// So long nothing may come before memory is returned.
    private static let pause = Duration.seconds(2)

    init(_ loop: WorkLoop, release: @escaping @Sendable () -> Void = Memory.release) {
        self.loop = loop
        self.release = release
    }

    /// Counts a message that was dealt with.
    package func noteWork() {
        let count = count.withLock { count in
            count += 1
            return count
        }
        if count == Self.minimum { releaseUnlessBusy(since: count) }
    }

    /// Returns memory after a pause in which nothing has come.
    private func releaseUnlessBusy(since seen: Int) {
        loop.perform(after: Self.pause) { [weak self] in
            guard let self else { return }
            let now = count.withLock { count in
                defer { if count == seen { count = 0 } }
                return count
            }
            if now == seen { release() } else { releaseUnlessBusy(since: now) }
        }
    }
}
