import NotifyClient
import NotifyText

/// What is said of a command that has ended.
struct ShellReport: Equatable {
    /// The longest title, in characters.
    static let longestTitle = 80
    /// A command that Ctrl-C has ended, or that is stopped, as by Ctrl-Z: whoever typed that is there.
    private static let statusesByHand: Set<Int> = [130, 147, 148, 149, 150]

    let title: String
    let body: String
    let hasFailed: Bool

    /// - Parameters:
    ///   - command: as it was typed. It is only text.
    ///   - ignored: the commands that are not reported, as `InteractiveCommands` reads them.
    /// - Returns: `nil` if it is not to be reported.
    init?(command: String, status: Int, duration: Duration, ignored: String) {
        let line = command.unicodeScalars.split { $0 == "\n" || $0 == "\r" }.first.map { String($0) } ?? ""
        let words = String(line.unicodeScalars.drop { $0 == " " || $0 == "\t" })
        // Who begins a command with a space does not want it to be remembered.
        guard !words.isEmpty, command.unicodeScalars.first == words.unicodeScalars.first else { return nil }
        guard !Self.statusesByHand.contains(status), !InteractiveCommands(ignored).contains(words) else { return nil }
        title = Self.cut(Self.sendable(words).visible())
        hasFailed = status != 0
        body = (hasFailed ? "Exit status \(status)" : "Done") + " after \(Self.text(duration))"
    }

    /// Without what no message holds.
    static func sendable(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { $0.isForInternalUse ? "\u{FFFD}" : $0 }))
    }

    private static func cut(_ text: String) -> String {
        guard text.unicodeScalars.count > longestTitle else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.prefix(longestTitle - 1))) + "…"
    }

    /// Such as `42 s`, `5 min 12 s` and `3 h 5 min`.
    private static func text(_ duration: Duration) -> String {
        let seconds = duration.components.seconds
        switch seconds {
        case ..<60: return "\(seconds) s"
        case ..<3600: return "\(seconds / 60) min \(seconds % 60) s"
        default: return "\(seconds / 3600) h \(seconds / 60 % 60) min"
        }
    }
}
