import Foundation
import NotifyTestSupport
import Testing

@testable import Journal

/// Whatever is written, and however often the store ends, is cut off or cannot write, it answers what a model answers.
///
/// `NOTIFYD_STORES=1000` tries as many seeds, beginning with `NOTIFYD_STORE`.
struct StoreModelTests {
    private let folder = Fixture.folder
    private static let seeds: [UInt64] = {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["NOTIFYD_STORE"].flatMap { UInt64($0) } ?? 1
        return Array(first..<first + (environment["NOTIFYD_STORES"].flatMap { UInt64($0) } ?? 4))
    }()

    @Test(.folder, arguments: seeds) func aStoreAnswersWhatAModelAnswers(_ seed: UInt64) throws {
        let run = try StoreRun(seed: seed, in: folder)
        for number in 1...300 {
            do {
                let flaws = try run.next()
                try #require(flaws == [], "step \(number), \(run.step)")
            } catch let error where !(error is ExpectationFailedError) {
                Issue.record("step \(number), \(run.step): \(error)")
                return
            }
        }
        #expect(try run.end() == [])
    }
}
