import Glibc
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
