import Foundation
import NotifyTestSupport
import Testing

/// The planted faults of `make mutants`, which takes too long to run with the other tests.
struct MutantTests {
    /// A patch that does not fit the sources any more plants nothing.
    @Test func everyPatchFitsTheSources() throws {
        let patches = try Project.texts(below: "Tests/Mutants", suffix: ".patch")
        #expect(patches.count == 36)
        for patch in patches {
            let file = try #require(patch.firstMatch(of: /\n--- a\/(.+)\n/)).1
            let hunks = patch.split(separator: /\n@@ .+ @@.*\n/, omittingEmptySubsequences: false).dropFirst()
            #expect(!hunks.isEmpty)
            for hunk in hunks {
                let before = hunk.split(separator: "\n", omittingEmptySubsequences: false)
                    .filter { $0.hasPrefix(" ") || $0.hasPrefix("-") }.map { $0.dropFirst() }.joined(separator: "\n")
                let isThere = try Project.text(String(file)).contains(before)
                #expect(isThere, "\(file) does not have the lines of: \(patch.prefix { $0 != "\n" })")
            }
        }
    }
}
