import ArgumentParser
import TOMLTables
import WindowRules

/// The file with the rules of notifyd-focus.
struct FocusFile {
    private let file: RuleFile

    init(_ path: String) {
        file = RuleFile(path: path)
    }

    private func parse(_ text: String) throws(ConfigurationError) -> WindowRules {
        try WindowRules.parse(text, file: file.path)
    }

    /// The rules in it.
    ///
    /// - Throws: the exit code, after its mistakes were told.
    func rules() throws -> WindowRules { try file.read(parse).rules }

    /// Adds a rule at the end.
    ///
    /// - Parameter window: it fits the rule.
    func add(_ rule: LearnedRule, for window: FocusInfo.FocusedWindow) throws {
        var (old, rules) = try file.read(parse)
        var (text, newRules) = try file.adding(rule.text, to: old, parse)
        let window = Window(id: 0, app: window.app, instance: window.instance, title: window.title)
        if let fit = rules.fit(window) {
            Terminal.complain(
                "Rule \(fit.rule + 1) in \(Terminal.plain(file.path)) fits this window already, and the first that fits counts; "
                    + "nothing was changed.")
            throw ExitCode.refused
        }
        guard newRules.fit(window)?.topic != nil else {
            Terminal.complain(
                "A rule for this window would make no topic of its title, because what stands for the name in braces is no part "
                    + "of a topic: “\(Terminal.plain(window.title))”. Nothing was changed.")
            throw ExitCode.badData
        }
        try file.write(text)
    }
}
