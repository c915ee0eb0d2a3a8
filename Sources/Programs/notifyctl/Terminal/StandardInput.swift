import Dispatch
import Glibc
import NotifyClient

enum StandardInput {
    /// The whole input without the final line break.
    ///
    /// - Throws: `NotifyError` `invalidArgument` if it is not UTF-8, is too long or cannot be read.
    static func text(upTo limit: Int) throws(NotifyError) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while bytes.count <= limit {
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            if count < 0 {
                throw NotifyError(
                    .invalidArgument, "Standard input cannot be read: \(String(cString: strerror(errno))).")
            }
            if count == 0 { break }
            bytes += buffer[..<count]
        }
        if bytes.count > limit {
            throw NotifyError(.invalidArgument, "Standard input has more than \(limit) bytes, which no body may have.")
        }
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
            throw NotifyError(.invalidArgument, "Standard input is not text in UTF-8.")
        }
        return text
    }

    /// The first line of the input.
    ///
    /// - Throws: `NotifyError` `invalidArgument` if there is none, or it is too long.
    static func line(upTo limit: Int) throws(NotifyError) -> String {
        guard let line = readLine(), line.utf8.count <= limit else {
            throw NotifyError(.invalidArgument, "Standard input has no line, or one with more than \(limit) bytes.")
        }
        return line
    }

    /// Whether somebody types it.
    static var isInteractive: Bool { isatty(STDIN_FILENO) == 1 }

    /// The lines of the input, read on a separate thread, because reading blocks.
    static var lines: AsyncStream<String> {
        AsyncStream { continuation in
            DispatchQueue(label: "org.notifyd.input").async {
                while let line = readLine() { continuation.yield(line) }
                continuation.finish()
            }
        }
    }
}
