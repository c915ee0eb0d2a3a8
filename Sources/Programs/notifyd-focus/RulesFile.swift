import TOMLTables
import UserFiles
import Watching

/// The file with the rules.
struct RulesFile {
    let path: String
    /// Whether it was named on the command line, and so has to exist.
    private let isNamed: Bool

    init(_ path: String?) {
        self.path = path.map { BaseDirectories.absolute(path: $0) } ?? BaseDirectories().configuration + "/focus.toml"
        isNamed = path != nil
    }

    /// Without a file there are no rules.
    func read() throws(ConfigurationError) -> WindowRules {
        guard let text = try ConfigurationText.read(path) else {
            guard !isNamed else {
                throw ConfigurationError(file: path, line: 0, column: 0, reason: "there is no such file")
            }
            if let link = FileKind.brokenLink(above: path) {
                throw ConfigurationError(
                    file: link.path, line: 0, column: 0,
                    reason: "it cannot be read: it is \(link); make what it leads to, or remove the link")
            }
            return WindowRules()
        }
        return try WindowRules.parse(text, file: path)
    }
}
