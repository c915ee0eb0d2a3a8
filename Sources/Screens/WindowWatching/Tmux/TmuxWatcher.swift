import Glibc
package import Systemd

/// Follows which panes of a tmux are looked at: a process of tmux waits for a change, tells how it is, and the next one
/// waits.
package final class TmuxWatcher {
    private let server: TmuxServer
    private let loop: EventLoop
    private let channel: String
    private let onPanes: ([UInt32]) -> Void
    private let onEnd: () -> Void
    private var child: ChildProcess?
    /// Ended; its handler may still be running.
    private var previous: ChildProcess?

    /// - Parameters:
    ///   - onPanes: called with the panes that are looked at, after each change.
    ///   - onEnd: tmux has ended, or another program watches it now.
    package init(
        _ server: TmuxServer, loop: EventLoop, onPanes: @escaping ([UInt32]) -> Void, onEnd: @escaping () -> Void
    ) {
        self.server = server
        self.loop = loop
        self.onPanes = onPanes
        self.onEnd = onEnd
        channel = "notifyd-focus-\(getpid())-" + String(UInt64.random(in: 0 ... .max), radix: 16)
    }

    package func start() {
        run(server.askingOwner) { [unowned self] owner in
            let old = owner.split(separator: "\n").first.map { String($0) }
            run(server.taking(channel, from: old)) { [unowned self] in take($0) }
        }
    }

    /// Takes back what it has brought into tmux, and ends.
    package func stop() {
        run(server.leaving(channel)) { [unowned self] _ in onEnd() }
    }

    private func take(_ output: String) {
        // Without an answer there is no server any more; if there is no client, tmux fails, but has answered.
        guard let report = TmuxReport(output), report.owner == channel else { return onEnd() }
        onPanes(report.panes)
        run(server.waiting(on: channel)) { [unowned self] in take($0) }
    }

    /// Runs a command of tmux, and hands over what it has written.
    private func run(_ command: [String], _ ended: @escaping (String) -> Void) {
        var ends: [CInt] = [-1, -1]
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { return onEnd() }
        let reading = ends[0]
        // A line is short, and there are not so many clients that the socket would not hold them.
        previous = child
        do throws(SystemdError) {
            child = try ChildProcess.start(command, output: ends[1], on: loop) { _ in
                let output = Self.text(of: reading)
                close(reading)
                ended(output)
            }
        } catch {
            close(reading)
            onEnd()
        }
        close(ends[1])
    }

    private static func text(of descriptor: CInt) -> String {
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}
