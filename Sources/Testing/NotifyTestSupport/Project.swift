private import Foundation

/// The files of this project.
package enum Project {
    private static let folder = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL

    /// The absolute path of a file that is named from the root of the project.
    package static func path(_ file: String) -> String { folder.appending(path: file).path }

    package static func text(_ file: String) throws -> String {
        try String(contentsOf: folder.appending(path: file), encoding: .utf8)
    }

    /// The texts of all files below a folder whose names end so.
    package static func texts(below path: String, suffix: String) throws -> [String] {
        let files = FileManager.default.enumerator(at: folder.appending(path: path), includingPropertiesForKeys: nil)
        return try (files?.allObjects ?? []).compactMap { $0 as? URL }.filter { $0.path.hasSuffix(suffix) }
            .map { try String(contentsOf: $0, encoding: .utf8) }
    }
}
