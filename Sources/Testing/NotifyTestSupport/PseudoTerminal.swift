package import Glibc
package import NotifyClient
package import NotifyRehearsal

/// A pseudoterminal: tests read its output and send input. Its settings persist when the program on it ends.
package final class PseudoTerminal: Sendable {
    /// The path of its device, such as `/dev/pts/7`.
    package let path: String
    private let ours: CInt
    private let theirs: CInt
    private let bytes = Locked<[UInt8]>([])
    private let isRead = Locked(true)

    // Swift does not see posix_openpt(3) and its kin, nor these macros: TIOCSPTLCK and TIOCGPTN of ioctl_tty(2).
    private static let lock: UInt = 0x4004_5431
    private static let number: UInt = 0x8004_5430

    package init(columns: UInt16 = 80, rows: UInt16 = 24) throws(RehearsalError) {
        var isLocked: CInt = 0
        var number: CUnsignedInt = 0
        ours = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard ours >= 0, ioctl(ours, Self.lock, &isLocked) == 0, ioctl(ours, Self.number, &number) == 0 else {
            throw RehearsalError("No pseudo-terminal can be made: \(String(cString: strerror(errno))).")
        }
        path = "/dev/pts/\(number)"
        theirs = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        resize(columns: columns, rows: rows)
        onOwnThread { [ours, bytes, isRead] in
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                while !isRead.withLock({ $0 }) { usleep(1_000) }
                let count = read(ours, &buffer, buffer.count)
                if count < 0 && errno == EINTR { continue }
                // No process has it open.
                guard count > 0 else { break }
                bytes.withLock { $0 += buffer[..<count] }
            }
            close(ours)
        }
    }

    deinit { close(theirs) }

    /// Runs a program on it, as the leader of its session.
    package func run(_ program: String, _ arguments: [String], environment: [String: String]) throws -> ChildProcess {
        try ChildProcess(
            "/bin/sh",
            ["-c", "exec setsid --ctty \"$@\" <\(path) >\(path) 2>&1", "sh", program] + arguments,
            environment: environment)
    }

    package var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }

    package func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(ours, bytes, bytes.count)
    }

    /// Whether anybody reads what is written on it. Nobody does in a terminal emulator that hangs.
    package func setRead(_ flag: Bool) { isRead.withLock { $0 = flag } }

    /// Whether a program on it can write more.
    package var takesMore: Bool {
        var wait = pollfd(fd: theirs, events: Int16(POLLOUT), revents: 0)
        return poll(&wait, 1, 0) > 0
    }

    /// Programs on it get SIGWINCH.
    package func resize(columns: UInt16, rows: UInt16) {
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(ours, UInt(TIOCSWINSZ), &size)
    }

    /// What `stty` shows: the modes, in its order.
    package var modes: [tcflag_t] {
        var settings = termios()
        tcgetattr(theirs, &settings)
        return [settings.c_iflag, settings.c_oflag, settings.c_cflag, settings.c_lflag]
    }

    /// Waits until a text was written on it after the first characters; `false` if that takes too long.
    package func shows(_ wanted: String, after start: Int = 0, within limit: Duration = .seconds(10)) async throws
        -> Bool
    {
        try await shows(within: limit) { $0.dropFirst(start).contains(wanted) }
    }

    /// Waits until its output meets a condition; `false` if that takes too long.
    package func shows(within limit: Duration = .seconds(10), _ isRight: (String) -> Bool) async throws -> Bool {
        try await becomesTrue(within: limit) { isRight(text) }
    }
}
