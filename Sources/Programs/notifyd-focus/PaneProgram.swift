import Glibc
import NotifyText
import ScreenHolding
import Systemd
import UserFiles
import Watching

/// Keeps the program's objects until the process ends. Only the main thread writes it.
nonisolated(unsafe) private var running: AnyObject?

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
            running = panes
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
