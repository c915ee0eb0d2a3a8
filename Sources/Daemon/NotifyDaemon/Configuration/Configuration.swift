import Logging
package import Routing

/// The settings of the daemon: the built-in routes, and the files of the administrator and the user.
package struct Configuration: Sendable {
    package var routes: RouteTable
    var banners: BannerSettings
    var screens: ScreenSettings
    var policy: Policy
    /// When no banners appear.
    var schedules: [Schedule] = []
    /// The shortest window of an event that is announced again after a restart.
    var recoveryWindow: Duration
    /// How long decided events stay in the journal.
    var history: Retention
    var logLevel: Logger.Level
    /// The files that were read; later ones override earlier ones.
    var files: [String]
    /// The drop-ins of packages that were not read, each with the file of the same name that replaces it.
    var replacedFiles: [ConfigurationFiles.Replacement] = []
    /// The mistakes in drop-ins of packages, which were left out.
    var leftOut: [ConfigurationError.Mistake] = []

    /// The window of a route that does not set its own.
    var defaultWindow: Duration { routes.fallback.window }
}

/// The mistakes of a configuration, each with its place and a remedy.
package struct ConfigurationError: Error, Equatable, CustomStringConvertible {
    package struct Mistake: Equatable, Sendable, CustomStringConvertible {
        package let file: String
        /// Counted from 1; 0 without a place.
        package let line: Int
        /// In characters of Unicode (scalars), counted from 1.
        package let column: Int
        package let reason: String

        package init(file: String, line: Int, column: Int, reason: String) {
            self.file = PlainText.line(file)
            self.line = line
            self.column = column
            self.reason = PlainText.line(reason)
        }

        package var description: String {
            line > 0 ? "\(file):\(line):\(column): \(reason)" : "\(file): \(reason)"
        }
    }

    /// Mistakes that are listed; further ones are counted.
    static let told = 20

    /// At least one, in the order of the files and of their lines.
    package let mistakes: [Mistake]
    /// The number of all mistakes.
    package let count: Int

    package init(_ mistakes: [Mistake], of count: Int? = nil) {
        precondition(!mistakes.isEmpty, "an error has a reason")
        self.mistakes = Array(mistakes.prefix(Self.told))
        self.count = count ?? mistakes.count
    }

    package init(file: String, line: Int, column: Int, reason: String) {
        self.init([Mistake(file: file, line: line, column: column, reason: reason)])
    }

    /// The first mistake, on one line.
    var summary: String { "\(mistakes[0])" + (count > 1 ? " (and \(count - 1) more)" : "") }

    package var description: String { lines.joined(separator: "\n") }

    /// One line for each mistake.
    var lines: [String] {
        let rest = count - mistakes.count
        let more = rest > 0 ? ["and \(rest) more mistake\(rest == 1 ? "" : "s")"] : []
        return mistakes.map(\.description) + more
    }
}

/// Text of a configuration in a message: on one line, and shortened.
enum PlainText {
    private static let maximum = 600

    static func line(_ text: String) -> String {
        var result = ""
        for (count, scalar) in text.unicodeScalars.enumerated() {
            if count == maximum { return result + "…" }
            switch scalar.value {
            case 0...0x1F, 0x7F...0x9F, 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069:
                result += "\\u{" + String(scalar.value, radix: 16) + "}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// The beginning of a long text.
    static func excerpt(_ text: String) -> String {
        text.unicodeScalars.count <= 60 ? text : String(text.unicodeScalars.prefix(60)) + "…"
    }
}
