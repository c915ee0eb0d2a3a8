import ArgumentParser
import Glibc
import TOMLTables
import UserFiles

/// A configuration file with rules, to which one is added. What is there stays as it is, with its comments.
struct RuleFile {
    let path: String

    /// Reads the file, and its rules.
    ///
    /// - Throws: the exit code, after its mistakes were told.
    func read<Rules>(_ parse: (String) throws(ConfigurationError) -> Rules) throws -> (text: String, rules: Rules) {
        try tellingMistakes { () throws(ConfigurationError) in
            let text = try ConfigurationText.read(path) ?? ""
            return (text, try parse(text))
        }
    }

    /// The text of the file with one more rule, and the rules then.
    func adding<Rules>(
        _ rule: String, to text: String, _ parse: (String) throws(ConfigurationError) -> Rules
    ) throws -> (text: String, rules: Rules) {
        let gap = text.isEmpty ? "" : text.hasSuffix("\n") ? "\n" : "\n\n"
        let new = text + gap + rule + "\n"
        return try tellingMistakes { () throws(ConfigurationError) in (new, try parse(new)) }
    }

    private func tellingMistakes<Result>(_ body: () throws(ConfigurationError) -> Result) throws -> Result {
        do throws(ConfigurationError) { return try body() } catch {
            for line in error.lines { Terminal.complain(line) }
            throw ExitCode.badConfiguration
        }
    }

    /// - Throws: the exit code, after the reason was told.
    func write(_ text: String) throws {
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
