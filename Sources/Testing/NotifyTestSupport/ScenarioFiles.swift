private import Foundation

/// The scenarios of this project: `Tests/Scenarios/*.timeline`.
public enum ScenarioFiles {
    private static let folder = "Tests/Scenarios"

    /// The names of all scenario files, in alphabetical order.
    public static let names: [String] = {
        guard let files = try? FileManager.default.contentsOfDirectory(atPath: Project.path(folder)) else {
            preconditionFailure("the scenarios are not in \(Project.path(folder))")
        }
        return files.filter { $0.hasSuffix(".timeline") }.sorted()
    }()

    public static func read(_ name: String) throws -> Scenario {
        let file = "\(folder)/\(name)"
        return try Scenario(parsing: Project.text(file), file: file)
    }
}

extension Scenario {
    /// The scenario's settings as the text of a configuration file.
    package var configuration: String {
        var lines = [
            "[defaults]", "window = \"\(settings.window.written)\"", "",
            "[banner]", "max_per_second = \(settings.maximumPerSecond)",
        ]
        if let states = settings.suppressingStates {
            lines += ["", "[screens]", "suppress = [\(states.map { "\"\($0)\"" }.joined(separator: ", "))]"]
        }
        for route in routes {
            lines += ["", "[[route]]", "topic = \"\(route.pattern)\""]
            for attribute in route.attributes {
                let value =
                    switch attribute.value {
                    case .text(let text), .word(let text): "\"\(text)\""
                    case .duration(let length): "\"\(length.written)\""
                    case .integer, .flag: "\(attribute.value)"
                    }
                lines.append("\(attribute.name) = \(value)")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
