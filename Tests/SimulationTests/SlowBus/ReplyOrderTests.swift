import Routing
import Testing

@testable import NotifyDaemon

/// In which order replies and signals leave. What is decided in one turn leaves together, and keeps its order all the
/// same.
struct ReplyOrderTests {
    private let bus = SlowBus()

    private var kinds: [String] {
        bus.sent.map { message in
            switch message {
            case .accepted, .verdict, .count, .refused: "reply"
            case .event: "event"
            case .resolved: "resolved"
            case .removed, .action: "other"
            }
        }
    }

    /// Whoever has all his replies, and listens from then on, hears nothing of what he pushed before.
    @Test func theSignalsOfWhatIsAcceptedLeaveBeforeTheNextReply() {
        for title in ["first", "second", "third"] { bus.publish(title: title, body: "") }
        bus.endTurn()
        #expect(kinds == ["reply", "event", "reply", "event", "reply", "event"])
    }

    @Test func whoClaimsHearsOfItBeforeEverybodyElse() throws {
        bus.publish(World.topics[0], window: .seconds(1))
        bus.endTurn()
        let claimed = try #require(bus.accepted.first)
        bus.publish(title: "second", body: "")
        bus.claim(claimed)
        bus.endTurn()
        #expect(kinds == ["reply", "event", "reply", "event", "reply", "resolved"])
    }

    /// A reader who listens has heard of all that he reads.
    @Test func whatSomebodyReadsStaysBehindTheSignalsOfWhatItTellsOf() {
        bus.publish(title: "first", body: "")
        bus.daemon.sendAfterCommit(.reply(.verdict(.recorded), to: bus.calls.make()))
        bus.endTurn()
        #expect(kinds == ["reply", "event", "reply"])
        #expect(bus.sent.last == .verdict(.recorded))
    }

    @Test func whoIsRefusedBecauseOfTheDiskHearsItAndNobodyElseHearsAnything() {
        for title in ["first", "second"] { bus.publish(title: title, body: "") }
        bus.disk.condition = .failsOnce
        bus.endTurn()
        #expect(kinds == ["reply", "reply"])
        #expect(bus.sent.allSatisfy { if case .refused(.storageUnavailable) = $0 { true } else { false } })
        let counts = Dictionary(uniqueKeysWithValues: bus.daemon.statistics)
        #expect(counts["published"] == 0 && counts["refused"] == 2)
    }
}
