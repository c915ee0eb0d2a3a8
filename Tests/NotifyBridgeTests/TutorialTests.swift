import Foundation
import Testing

/// The tutorial shows the program that the tests run.
struct TutorialTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    @Test func itsCodeIsTheExample() throws {
        let page = try text("Sources/Bridge/NotifyBridge/NotifyBridge.docc/WritingABridge.md")
        let blocks = page.components(separatedBy: "```swift\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
        let shown = blocks.joined().split(separator: "\n")
        let example = try text("examples/bridge/Sources/folder-bridge/FolderBridge.swift").split(separator: "\n")
        #expect(shown == example)
        #expect(example.count < 60, "without empty lines")
    }
}
