import ChildProcesses
import Glibc

/// A QR code for a terminal.
enum QRCode {
    /// How long drawing may take.
    private static let patience: Duration = .seconds(5)

    /// The lines that show a text, drawn by qrencode(1). The text goes through a pipe, because others can read
    /// arguments.
    ///
    /// - Parameter text: at most 2 KiB; a pipe holds it.
    static func lines(of text: String) async throws(ProcessError) -> [String] {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw ProcessError("No pipe can be made: \(String(cString: strerror(errno))).")
        }
        // The child must not keep the other end open.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        let bytes = Array(text.utf8)
        let written = write(ends[1], bytes, bytes.count)
        close(ends[1])
        guard written == bytes.count else { throw ProcessError("The text is too long for a QR code.") }
        let process = try ChildProcess(
            "qrencode", ["-t", "UTF8", "-m", "2"], environment: ChildProcess.currentEnvironment, capturing: [1, 2],
            input: ends[0])
        guard await process.waitForExit(within: patience) == .code(0) else {
            throw ProcessError("qrencode failed: \(await process.allLines(of: 2)?.first ?? "it said nothing").")
        }
        return await process.allLines(of: 1) ?? []
    }
}
