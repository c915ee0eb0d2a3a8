import ArgumentParser
import Dispatch
import Glibc
import NotifyClient
import NotifyText
import StandardStreams

/// Standard output and standard error, with colours on a terminal.
enum Terminal {
    static var isInteractive: Bool { isatty(STDOUT_FILENO) == 1 }

    enum Style: String, Hashable, Sendable {
        case plain = ""
        case bold = "1"
        case dim = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
    }

    static func bold(_ text: String) -> String { styled(text, .bold) }
    static func dim(_ text: String) -> String { styled(text, .dim) }
    static func green(_ text: String) -> String { styled(text, .green) }
    static func red(_ text: String) -> String { styled(text, .red) }

    /// Styled text, if the terminal supports it and <https://no-color.org> is not set.
    static func styled(_ text: String, _ style: Style) -> String {
        let refusal = getenv("NO_COLOR").map { $0.pointee != 0 } ?? false
        if style == .plain || text.isEmpty || !isInteractive || isDumb || refusal { return text }
        return "\u{1b}[\(style.rawValue)m\(text)\u{1b}[0m"
    }

    /// Whether the terminal understands only plain text.
    static var isDumb: Bool { getenv("TERM").map { ["", "dumb"].contains(String(cString: $0)) } ?? true }

    /// The size of the terminal; `nil` if the output is not a terminal.
    static var size: (columns: Int, rows: Int)? {
        guard isInteractive else { return nil }
        var size = winsize()
        if ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 {
            return (Int(size.ws_col), Int(size.ws_row))
        }
        return (number("COLUMNS") ?? 80, number("LINES") ?? 24)
    }

    private static func number(_ variable: String) -> Int? {
        getenv(variable).flatMap { Int(String(cString: $0)) }.flatMap { $0 > 0 ? $0 : nil }
    }

    static func print(_ line: String) { write(line + "\n") }

    /// Writes text unchanged with one call.
    static func write(_ text: String) { StandardStreams.write(text) }

    static func complain(_ line: String) { StandardStreams.complain(line) }

    /// Text from the bus on one line, without control characters.
    static func plain(_ text: String) -> String { text.visible() }
}

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

    /// Asks a question, such as “Turn it on”, until it is answered with y or n; an empty line is a no.
    ///
    /// - Returns: `nil` at the end of the input.
    static func confirms(_ question: String) -> Bool? {
        while true {
            Terminal.write("\(question)? [y/N] ")
            switch readLine()?.lowercased() {
            case "y", "yes": return true
            case "", "n", "no": return false
            case nil:
                Terminal.write("\n")
                return nil
            default: Terminal.print("Answer with y or n.")
            }
        }
    }

    /// Asks before something is done that cannot be undone.
    ///
    /// - Throws: this advice if nobody can be asked, and if the answer is not yes.
    static func confirm(_ question: String, otherwise advice: String) throws {
        guard isInteractive else { throw ValidationError(advice) }
        guard confirms(question) == true else { throw Complaint(.nothing, "Nothing was changed.") }
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

/// Handles signals, SIGINT and SIGTERM by default, for as long as it is retained, so that a command can end in an
/// orderly way.
///
/// The signals are ignored until dispatch sources watch them: blocking them does not work in a program with an
/// asynchronous `main`. Children get the default actions back. A source begins to watch some time after `activate`, and
/// an ignored signal is lost, so `init` returns when all of them watch.
///
/// After a signal that ends the program, output that is blocked for ``patience`` is dropped.
final class TerminationSignals: @unchecked Sendable {
    // Proof: constant after `init`, and dispatch sources may be used from any thread.

    /// How long a program that is to end still waits for the reader of its output.
    private static let patience = DispatchTimeInterval.milliseconds(500)

    private let sources: [any DispatchSourceSignal]
    private let flag: Locked<Bool>

    init(_ signals: [CInt] = [SIGINT, SIGTERM], _ action: @escaping @Sendable (_ number: CInt) -> Void) {
        let flag = Locked(false)
        self.flag = flag
        let registrations = DispatchGroup()
        sources = signals.map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                flag.withLock { $0 = true }
                if [SIGINT, SIGTERM, SIGHUP].contains(number) {
                    DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) {
                        StandardStreams.stopWaiting()
                    }
                }
                action(number)
            }
            registrations.enter()
            source.setRegistrationHandler { registrations.leave() }
            source.activate()
            return source
        }
        registrations.wait()
    }

    var hasCome: Bool { flag.withLock(\.self) }
}

extension TerminationSignals {
    /// Runs `work` to its end, or until a signal or the end of a time limit cancels it, or the reader of the output
    /// exits.
    ///
    /// - Parameter isForReader: whether nothing but its output is the purpose of the command.
    /// - Returns: its result, and whether a signal came; without a result if it failed because of the signal.
    @discardableResult
    static func run<Result: Sendable>(
        _ signals: [CInt] = [SIGINT, SIGTERM], within limit: Duration? = nil, isForReader: Bool = true,
        _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> (result: Result?, isInterrupted: Bool) {
        if isForReader { StandardStreams.endWithReader() }
        let (gate, opening) = AsyncStream.makeStream(of: Never.self)
        let task = Task {
            for await _ in gate {}
            return try await work()
        }
        let interruption = TerminationSignals(signals) { _ in task.cancel() }
        opening.finish()
        let alarm = Task {
            guard let limit else { return }
            try await Task.sleep(for: limit)
            task.cancel()
        }
        defer { alarm.cancel() }
        do {
            return (try await task.value, interruption.hasCome)
        } catch
            where interruption.hasCome
            && (error is CancellationError || (error as? NotifyError)?.code == .cancelled)
        {
            return (nil, true)
        }
    }
}
