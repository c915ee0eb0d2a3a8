import Glibc
import Journal
import Logging
import Systemd

/// Checks a large journal in a second process of this program, so that the daemon does not wait.
final class IntegrityChecker {
    private let loop: EventLoop
    private let logger: Logger
    private var process: ChildProcess?

    init(loop: EventLoop, logger: Logger) {
        self.loop = loop
        self.logger = logger
    }

    /// - Parameter ended: called with the result; before this returns only if no process can be started.
    func check(_ file: String, _ ended: @escaping (IntegrityCheck) -> Void) {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { return ended(failed("no pipe, errno \(errno)")) }
        let (reading, writing) = (ends[0], ends[1])
        // No other thread starts a program in between. Swift's Glibc lacks pipe2(2).
        for descriptor in ends { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        defer { close(writing) }
        do throws(SystemdError) {
            process = try ChildProcess.start(
                ["/proc/self/exe", "--check-journal", file], output: writing, on: loop
            ) { [self] end in
                process = nil
                ended(result(from: reading, end))
                close(reading)
            }
        } catch {
            close(reading)
            ended(failed("\(error)"))
        }
    }

    /// The output fits into the pipe's buffer, and the process has ended.
    private func result(from pipe: CInt, _ end: ChildEnd) -> IntegrityCheck {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = max(0, read(pipe, &bytes, bytes.count))
        let words = String(decoding: bytes.prefix(count).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        guard let result = IntegrityCheck(words), result != .failed else { return failed(words + ", \(end)") }
        return result
    }

    private func failed(_ error: String) -> IntegrityCheck {
        logger.record(.integrityCheckFailed, ["error": "\(error)"])
        return .failed
    }
}
