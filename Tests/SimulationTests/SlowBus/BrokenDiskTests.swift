import Journal
import Routing
import Testing

@testable import NotifyDaemon

/// A disk that fails while the daemon runs, or before.
struct BrokenDiskTests {
    @Test func aClaimOfAnEventThatCannotBeLookedUpIsRefused() {
        let bus = SlowBus { $0.condition = .broken }
        let refusal = #expect(throws: Refusal.self) {
            try bus.daemon.answer(.claimed(EventID(1), by: ":1.2"), to: bus.calls.make())
        }
        guard case .storageUnavailable(let text)? = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
        #expect(text.contains("cannot be read: ") && !text.hasSuffix(": "))
    }

    @Test func aClaimOfAnEventThatTheDiskDoesNotGiveIsRefused() {
        let bus = SlowBus { $0.keepMuted(1) }
        bus.disk.condition = .unreadable
        let refusal = #expect(throws: Refusal.self) {
            try bus.daemon.answer(.claimed(EventID(1), by: ":1.2"), to: bus.calls.make())
        }
        guard case .storageUnavailable? = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
    }

    @Test func whileOnlyWritingFailsAnEventIsLookedUp() throws {
        let bus = SlowBus()
        bus.keepMuted(1)
        bus.disk.condition = .readOnly
        bus.publish(World.topics[0], window: .seconds(60))
        bus.endTurn()
        #expect(!bus.daemon.storage.degradation.isEmpty)
        try bus.daemon.answer(.claimed(EventID(1), by: ":1.2"), to: bus.calls.make())
        let unknown = #expect(throws: Refusal.self) {
            try bus.daemon.answer(.claimed(EventID(2), by: ":1.2"), to: bus.calls.make())
        }
        guard case .unknownEvent? = unknown else {
            Issue.record("\(String(describing: unknown))")
            return
        }
    }

    @Test func whoeverStopsWhileDegradedTriesOnceMoreToWrite() throws {
        let bus = SlowBus()
        bus.publish(World.topics[0], window: .seconds(60))
        bus.endTurn()
        let id = try #require(bus.accepted.first)
        bus.disk.condition = .broken
        bus.claim(id)
        bus.daemon.handle(.quieted(nil, for: .zero))
        bus.endTurn()
        #expect(!bus.daemon.storage.degradation.isEmpty)
        #expect(bus.disk.contents.events[id]?.decision == nil)
        bus.disk.condition = .well
        bus.daemon.finish()
        #expect(bus.disk.contents.events[id]?.decision?.outcome == .claimed)
        #expect(bus.disk.contents.quiet.map(\.cause) == [.paused])
    }

    /// A full disk takes no event, and everything of earlier runs is decided.
    @Test func onADiskThatIsFullAtTheStartWhatIsOpenIsDecided() throws {
        let bus = SlowBus { disk in
            disk.keep([.accepted(disk.event(1, World.topics[0]))])
            disk.condition = .full(room: 0)
        }
        #expect(bus.daemon.storage.degradation.contains("full"))
        #expect(bus.daemon.router.remembers(EventID(1)))
        bus.claim(EventID(1))
        bus.endTurn()
        #expect(bus.disk.contents.events[EventID(1)]?.decision?.outcome == .claimed, "the log has room for it")
        bus.disk.condition = .well
        bus.daemon.jobs.retry.retry(bus.daemon)
        #expect(bus.daemon.storage.degradation.isEmpty)
        #expect(bus.disk.contents.events[EventID(1)]?.decision?.outcome == .claimed)
    }
}
