import Foundation
import NotifyTestSupport
import Testing

/// The tutorial shows the program that the tests run.
struct TutorialTests {
    @Test func itsCodeIsTheExample() throws {
        let page = try Project.text("Sources/Bridge/NotifyBridge/NotifyBridge.docc/WritingABridge.md")
        let blocks = page.components(separatedBy: "```swift\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
        let shown = blocks.joined().split(separator: "\n")
        let example = try Project.text("examples/bridge/Sources/folder-bridge/FolderBridge.swift").split(
            separator: "\n")
        #expect(shown == example)
        #expect(example.count < 60, "without empty lines")
    }
}
