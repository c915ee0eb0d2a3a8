import Journal
import Routing
import Testing

@testable import NotifyDaemon

/// Which banners wait for the commit at the end of a turn: those that speak of what is not on disk, and none that is
/// closed.
struct BannerOrderTests {
    private let bus = SlowBus()
    private let post = World.topics[0]
    private let other = World.topics[1]

    init() {
        bus.startServer()
    }

    /// What the server had been asked for when the commit of this turn began.
    private func beforeCommit<ID>(_ asked: KeyPath<SlowMachine, [ID]>, _ turn: () -> Void) -> [ID]? {
        var before: [ID]?
        bus.disk.onWrite = { [bus] in before = before ?? bus.machine[keyPath: asked] }
        turn()
        bus.endTurn()
        bus.disk.onWrite = {}
        return before
    }

    private func bannersBeforeCommit(_ turn: () -> Void) -> [EventID]? { beforeCommit(\.banners, turn) }

    private var accepted: [EventID] { bus.accepted }

    /// An event is on disk, and its window ends in a turn in which another one comes in.
    private func endWindowBesideAnotherEvent() {
        bus.pass(.milliseconds(100))
        bus.publish(other, window: .seconds(1))
    }

    @Test func oneThatSpeaksOfWhatIsOnDiskDoesNotWait() {
        bus.publish(post, window: .milliseconds(100))
        bus.endTurn()
        #expect(bannersBeforeCommit(endWindowBesideAnotherEvent) == [accepted[0]])
        #expect(bus.machine.banners == [accepted[0]])
    }

    @Test func oneThatSpeaksOfWhatIsNewWaits() {
        #expect(bannersBeforeCommit { bus.publish(post, window: .zero) } == [])
        #expect(bus.machine.banners == accepted)
    }

    /// Killed before the commit, a later run would show both again, and a kill repeats one banner at most.
    @Test func oneThatFollowsAnotherWaitsUntilThatIsWritten() {
        for topic in [post, other] { bus.publish(topic, window: .milliseconds(100)) }
        bus.endTurn()
        bus.pass(.milliseconds(100))
        bus.endTurn()
        #expect(bus.machine.banners == [accepted[0]])
        #expect(bannersBeforeCommit { bus.showBanner(BannerID(7)) } == [accepted[0]])
        #expect(bus.machine.banners == accepted)
    }

    /// A daemon that ends after the commit, and before the banner is closed, leaves it up for good.
    @Test func oneThatIsToBeClosedDoesNotWait() {
        bus.publish(post, window: .zero)
        bus.endTurn()
        bus.showBanner(BannerID(7))
        #expect(beforeCommit(\.closed) { bus.claim(accepted[0]) } == [BannerID(7)])
        #expect(bus.machine.closed == [BannerID(7)])
        #expect(bus.sent.contains(.verdict(.retracted)))
    }

    /// They stand in one banner, and it waits for the newer one.
    @Test func oneThatSpeaksOfBothWaits() {
        bus.publish(post, window: .milliseconds(100))
        bus.endTurn()
        let before = bannersBeforeCommit {
            bus.publish(post, window: .milliseconds(100))
            bus.pass(.milliseconds(100))
        }
        #expect(before == [])
        #expect(bus.machine.banners == [accepted[1]])
    }

    /// Nothing has left yet.
    @Test func oneThatIsClaimedInTheTurnInWhichItsWindowEndsNeverLeaves() {
        bus.publish(post, window: .milliseconds(100))
        bus.endTurn()
        bus.pass(.milliseconds(100))
        bus.daemon.handle(.timerFired)
        #expect(bus.daemon.router.waitingBanners == 0, "the banner is decided on")
        bus.claim(accepted[0])
        bus.endTurn()
        #expect(bus.machine.banners.isEmpty)
        #expect(bus.sent.contains(.verdict(.suppressed)))
        #expect(bus.disk.contents.events[accepted[0]]?.decision?.outcome == .claimed)
    }

    /// What cannot be written does not keep back what was.
    @Test func oneThatSpeaksOfWhatIsOnDiskAppearsThoughTheCommitFails() {
        bus.publish(post, window: .milliseconds(100))
        bus.endTurn()
        bus.disk.condition = .broken
        #expect(bannersBeforeCommit(endWindowBesideAnotherEvent) == [accepted[0]])
        #expect(bus.machine.banners == [accepted[0]])
        guard case .refused(.storageUnavailable) = bus.sent.last else {
            Issue.record(
                "What cannot be written is refused, not \(bus.sent.last.map { "\($0)" } ?? "left unanswered").")
            return
        }
    }
}
