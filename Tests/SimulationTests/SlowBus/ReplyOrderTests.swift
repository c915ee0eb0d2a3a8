import Routing
import Testing

@testable import NotifyDaemon

/// In which order replies and signals of one turn leave.
struct ReplyOrderTests {
    private let bus = SlowBus()

    private var kinds: [String] {
        bus.sent.map { message in
            switch message {
            case .accepted, .verdict, .refused: "reply"
            case .event: "event"
            case .resolved: "resolved"
            case .removed, .action: "other"
            }
        }
    }

    private var accepted: [EventID] {
        bus.sent.compactMap { if case .accepted(let id) = $0 { id } else { nil } }
    }

    @Test func allRepliesOfATurnLeaveBeforeItsSignals() throws {
        bus.publish(World.topics[0], window: .seconds(1))
        bus.endTurn()
        #expect(kinds == ["reply", "event"])
        bus.publish(title: "second", body: "")
        bus.claim(try #require(accepted.first))
        bus.publish(title: "third", body: "")
        bus.endTurn()
        #expect(kinds.dropFirst(2) == ["reply", "reply", "reply", "event", "resolved", "event"])
    }

    @Test func repliesAndSignalsKeepTheirOrderAmongThemselves() {
        for number in 1...20 { bus.publish(title: "\(number)", body: "") }
        bus.endTurn()
        #expect(accepted == accepted.sorted())
        let announced = bus.sent.compactMap { if case .event(let title, _) = $0 { title } else { nil } }
        #expect(announced == (1...20).map { "\($0)" })
    }

    /// What was decided in an earlier turn has left before.
    @Test func theSignalsOfATurnLeaveBeforeTheRepliesOfTheNext() {
        for title in ["first", "second"] {
            bus.publish(title: title, body: "")
            bus.endTurn()
        }
        #expect(kinds == ["reply", "event", "reply", "event"])
    }

    @Test func whoIsRefusedBecauseOfTheDiskHearsItAndNobodyElseHearsAnything() {
        for title in ["first", "second"] { bus.publish(title: title, body: "") }
        bus.disk.condition = .failsOnce
        bus.endTurn()
        #expect(kinds == ["reply", "reply"])
        #expect(bus.sent.allSatisfy { if case .refused(.storageUnavailable) = $0 { true } else { false } })
    }
}
