import Glibc
import Routing
import Testing

@testable import NotifyDaemon

/// Which pause or mute it was, as the journal keeps it and `Explain` says it.
struct MuteCauseTests {
    @Test(arguments: [
        "paused", "paused until=5", "muted", "muted until=5 /post/27", "muted until=5 /a b/until=6",
        "schedule until=5 /", "schedule until=5 digest=4 /a b",
    ])
    func itIsReadAsItWasWritten(_ text: String) throws {
        #expect(try #require(MuteCause(text)).description == text)
    }

    @Test func itIsSaidInASentence() throws {
        let noon: Int64 = 1_790_000_000_000_000
        let clock = LocalTime(noon).text(on: LocalTime(noon))
        #expect(clock.count == 5)
        func sentence(_ text: String) -> String? { MuteCause(text)?.sentence(decided: noon) }
        #expect(sentence("paused") == "Banners were paused.")
        #expect(sentence("paused until=\(noon)") == "Banners were paused until \(clock).")
        #expect(sentence("muted") == "Its topic was muted.")
        #expect(sentence("muted until=\(noon) /post") == "Its topic was muted: /post, until \(clock).")
        #expect(sentence("schedule until=\(noon) /") == "A schedule held back all banners until \(clock).")
        #expect(sentence("schedule until=\(noon) /a") == "A schedule held back banners at or below /a until \(clock).")
        let later = noon + 48 * 3_600_000_000
        #expect(sentence("muted until=\(later) /")?.contains(", until 2026-") == true)
        #expect(MuteCause("publisher") == nil)
    }
}
