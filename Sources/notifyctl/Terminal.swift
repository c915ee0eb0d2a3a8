import Glibc

/// Standard output for people and programs, standard error for complaints.
enum Terminal {
    static var isInteractive: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Bold, if the terminal can and the user did not say no: <https://no-color.org>.
    static func bold(_ text: String) -> String { styled(text, "1") }
    static func dim(_ text: String) -> String { styled(text, "2") }
    static func green(_ text: String) -> String { styled(text, "32") }
    static func red(_ text: String) -> String { styled(text, "31") }

    private static func styled(_ text: String, _ code: String) -> String {
        let refusal = getenv("NO_COLOR").map { $0.pointee != 0 } ?? false
        let isDumb = getenv("TERM").map { String(cString: $0) == "dumb" } ?? true
        return isInteractive && !refusal && !isDumb ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text
    }

    static func print(_ line: String) { write(line + "\n", to: STDOUT_FILENO) }

    static func complain(_ line: String) { write("notifyctl: " + line + "\n", to: STDERR_FILENO) }

    private static func write(_ text: String, to descriptor: CInt) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            // Nobody reads any more, as after “| head -1”.
            if count < 0 { exit(0) }
            rest = rest.dropFirst(count)
        }
    }

    /// Text from the bus on one line, without anything a terminal would act on.
    static func plain(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case _ where isActive(scalar): result += "\\u{" + String(scalar.value, radix: 16) + "}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Control characters, and those that turn the direction of text around.
    private static func isActive(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0...0x1f, 0x7f...0x9f, 0x200e, 0x200f, 0x202a...0x202e, 0x2066...0x2069: true
        default: false
        }
    }
}
