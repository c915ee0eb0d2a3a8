private import Foundation

/// The scenarios of this project: `Tests/Scenarios/*.timeline`.
public enum ScenarioFiles {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Tests/Scenarios").standardizedFileURL

    /// The names of all scenario files, in alphabetical order.
    public static let names: [String] = {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return files.filter { $0.hasSuffix(".timeline") }.sorted()
    }()

    public static func read(_ name: String) throws -> Scenario {
        let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
        return try Scenario(parsing: text, file: "Tests/Scenarios/\(name)")
    }
}
