import ArgumentParser
import Glibc
import TOMLTables
import WindowRules

/// The file with the rules of notifyd-focus.
struct FocusFile {
    private let path: String

    init(_ path: String) {
        self.path = path
    }

    /// The rules in it.
    ///
    /// - Throws: the exit code, after its mistakes were told.
    func rules() throws -> WindowRules {
        try tellingMistakes { () throws(ConfigurationError) in
            try WindowRules.parse(ConfigurationText.read(path) ?? "", file: path)
        }
    }

    private func tellingMistakes<Result>(_ body: () throws(ConfigurationError) -> Result) throws -> Result {
        do throws(ConfigurationError) { return try body() } catch {
            for line in error.lines { Terminal.complain(line) }
            throw ExitCode.badConfiguration
        }
    }

    /// Adds a rule at the end. What is there stays as it is, with its comments.
    ///
    /// - Parameter window: it fits the rule.
    func add(_ rule: LearnedRule, for window: FocusInfo.FocusedWindow) throws {
        var (new, rules) = ("", WindowRules())
        try tellingMistakes { () throws(ConfigurationError) in
            let old = try ConfigurationText.read(path) ?? ""
            let gap = old.isEmpty ? "" : old.hasSuffix("\n") ? "\n" : "\n\n"
            new = gap + rule.text + "\n"
            rules = try WindowRules.parse(old, file: path)
            _ = try WindowRules.parse(old + new, file: path)
        }
        let window = Window(id: 0, app: window.app, instance: window.instance, title: window.title)
        if let fit = rules.fit(window) {
            Terminal.complain(
                "Rule \(fit.rule + 1) in \(Terminal.plain(path)) fits this window already, and the first that fits counts; "
                    + "nothing was changed.")
            throw ExitCode.refused
        }
        try append(new)
    }

    private func append(_ text: String) throws {
        makeFolder()
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        var failure: CInt? = descriptor < 0 ? errno : nil
        var bytes = Array(text.utf8)[...]
        while failure == nil, !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 { bytes = bytes.dropFirst(count) } else if errno != EINTR { failure = errno }
        }
        if descriptor >= 0, close(descriptor) != 0 { failure = failure ?? errno }
        guard let failure else { return }
        Terminal.complain("\(Terminal.plain(path)) cannot be written: \(String(cString: strerror(failure))).")
        throw ExitCode.refused
    }

    private func makeFolder() {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return }
        // What could not be made shows when the file is opened.
        mkdir(String(path[..<slash]), 0o700)
    }
}
