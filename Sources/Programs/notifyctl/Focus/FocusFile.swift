import ArgumentParser
import Glibc
import TOMLTables
import UserFiles
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
        var (text, rules, newRules) = ("", WindowRules(), WindowRules())
        try tellingMistakes { () throws(ConfigurationError) in
            let old = try ConfigurationText.read(path) ?? ""
            let gap = old.isEmpty ? "" : old.hasSuffix("\n") ? "\n" : "\n\n"
            text = old + gap + rule.text + "\n"
            rules = try WindowRules.parse(old, file: path)
            newRules = try WindowRules.parse(text, file: path)
        }
        let window = Window(id: 0, app: window.app, instance: window.instance, title: window.title)
        if let fit = rules.fit(window) {
            Terminal.complain(
                "Rule \(fit.rule + 1) in \(Terminal.plain(path)) fits this window already, and the first that fits counts; "
                    + "nothing was changed.")
            throw ExitCode.refused
        }
        guard newRules.fit(window)?.topic != nil else {
            Terminal.complain(
                "A rule for this window would make no topic of its title, because what stands for the name in braces is no part "
                    + "of a topic: “\(Terminal.plain(window.title))”. Nothing was changed.")
            throw ExitCode.badData
        }
        makeFolder()
        do throws(WholeFile.Failure) {
            try WholeFile.write(text, to: path)
        } catch {
            Terminal.complain("\(Terminal.plain(path)) cannot be written: \(Terminal.plain(error.description)).")
            throw ExitCode.refused
        }
    }

    private func makeFolder() {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return }
        // What could not be made shows when the file is written.
        mkdir(String(path[..<slash]), 0o700)
    }
}
