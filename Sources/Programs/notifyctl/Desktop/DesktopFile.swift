import ArgumentParser
import DesktopEvents
import TOMLTables

/// The file with the rules of notifyd-desktop.
struct DesktopFile {
    private let file: RuleFile

    init(_ path: String) {
        file = RuleFile(path: path)
    }

    private func parse(_ text: String) throws(ConfigurationError) -> DesktopRules {
        try TableReader.read(file: file.path, text: text, DesktopRules.read)
    }

    /// The rules in it.
    ///
    /// - Throws: the exit code, after its mistakes were told.
    func rules() throws -> DesktopRules { try file.read(parse).rules }

    /// Adds a rule at the end.
    ///
    /// - Parameter sighting: it fits the rule.
    func add(_ rule: LearnedRule, for sighting: DesktopInfo.Sighting) throws {
        let (old, rules) = try file.read(parse)
        if let fit = rules.decision(for: sighting.notice).rule {
            Terminal.complain(
                "Rule \(fit) in \(Terminal.plain(file.path)) fits this notification already, and the first that fits counts; "
                    + "nothing was changed.")
            throw ExitCode.refused
        }
        let (text, newRules) = try file.adding(rule.text, to: old, parse)
        guard newRules.decision(for: sighting.notice).rule != nil else {
            Terminal.complain(
                "A rule for this notification would not fit it: “\(Terminal.plain(sighting.notice.title))”. "
                    + "Nothing was changed.")
            throw ExitCode.badData
        }
        try file.write(text)
    }
}
