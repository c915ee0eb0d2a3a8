import Foundation
import NotifyFuzzing
import NotifyTestSupport
import Testing

/// What fuzzers have found, and what they set out from, once more; and a few inputs that nobody chose. A body that
/// traps ends the whole run: the last line of the output says which input it was.
struct FuzzTests {
    @Test(arguments: ["Corpora", "Failures"], FuzzTarget.all.map(\.name))
    func everyInputThatIsKeptStillHolds(_ kind: String, _ name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let folder = URL(filePath: Project.path("Tests/Fuzzing/\(kind)/\(name)"))
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        #expect(kind == "Failures" || !files.isEmpty, "a target has a corpus")
        for file in files.sorted() {
            print("\(kind)/\(name)/\(file)")
            target.body([UInt8](try Data(contentsOf: folder.appending(path: file))))
        }
    }

    @Test(arguments: FuzzTarget.all.map(\.name))
    func inputsThatNobodyChoseHold(_ name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        var generator = SplitMix64(seed: 1)
        for _ in 0..<300 {
            let count = Int.random(in: 0...300, using: &generator)
            target.body((0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
        }
    }
}
