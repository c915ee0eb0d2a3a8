import Glibc
import NotifyText
import Routing
import ScreenHolding
import Systemd
import UserFiles
import Watching

/// Keeps the program's objects until the process ends. Only the main thread writes it.
nonisolated(unsafe) private var running: (PaneScreens, EventSource)?

/// The process that holds screens for the panes of a tmux, as long as that runs. tmux shows its user what such a
/// process writes and that it has failed, so it does neither.
struct PaneProgram {
    let server: TmuxServer
    let address: String?

    /// Runs on the calling thread until tmux ends.
    ///
    /// - Returns: the exit code.
    func run() -> Int32 {
        Memory.keepLargeBlocksApart()
        EventLoop.ignoreFailureSignals()
        EventLoop.blockSignals([SIGTERM, SIGINT, SIGHUP, SIGCHLD])
        silence()
        guard let address = address ?? BaseDirectories().sessionBusAddress else { return ExitStatus.success }
        do throws(SystemdError) {
            let loop = try EventLoop()
            let panes = PaneScreens(server: server, address: address, loop: loop)
            running = (panes, try Memory.releaseAllAfterStart(on: loop))
            guard panes.isConnected else { return ExitStatus.success }
            try panes.start()
            return try loop.run()
        } catch {
            return ExitStatus.systemFailure
        }
    }

    private func silence() {
        let nothing = open("/dev/null", O_RDWR | O_CLOEXEC)
        for descriptor in STDIN_FILENO...STDERR_FILENO { dup2(nothing, descriptor) }
    }
}

/// Holds the screens of the panes of a tmux that are looked at.
final class PaneScreens {
    /// What goes with a bus.
    private struct Connection {
        let bus: BusConnection
        let holder: ScreenHolder
        let disconnection: BusSlot
    }

    private let server: TmuxServer
    private let address: String
    private let loop: EventLoop
    private var connection: Connection?
    private var isLost = false
    private var watcher: TmuxWatcher?
    private var signals: [EventSource] = []

    /// Connects to the bus; `isConnected` says whether that was possible.
    init(server: TmuxServer, address: String, loop: EventLoop) {
        self.server = server
        self.address = address
        self.loop = loop
        connect()
    }

    var isConnected: Bool { connection != nil }

    func start() throws(SystemdError) {
        let watcher = TmuxWatcher(
            server, loop: loop, onPanes: { [unowned self] in hold($0) },
            onEnd: { [unowned self] in loop.exit(ExitStatus.success) })
        self.watcher = watcher
        for number in [SIGTERM, SIGINT, SIGHUP] { signals.append(try loop.signal(number) { watcher.stop() }) }
        watcher.start()
    }

    private func connect() {
        connection = nil
        do throws(SystemdError) {
            let bus = try BusConnection(address: address)
            try bus.attach(to: loop)
            connection = Connection(
                bus: bus, holder: try ScreenHolder(on: bus, loop: loop),
                disconnection: try bus.onDisconnect { [unowned self] in isLost = true })
            isLost = false
        } catch {
            // There is no bus, or not any more: the next change in tmux tries again.
        }
    }

    /// A tmux may outlive the session that it was started in, and be found again in the next.
    private func hold(_ panes: [UInt32]) {
        if connection == nil || isLost { connect() }
        var wanted = WantedScreens()
        for pane in panes {
            let pane = ShellTopic.Pane.tmux(server: server.process, pane: pane)
            wanted.insert(ShellTopic(host: HostName.current, pane: pane).topic, .focused)
        }
        connection?.holder.want(wanted)
    }
}
