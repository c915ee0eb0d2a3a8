import Journal
import NotifyTestSupport
import Routing
import Testing

@testable import NotifyDaemon
@testable import Routing

/// What the notification server says of a banner of an earlier run while the daemon still loads such banners. There are
/// three; the newest is loaded, and the one with the number 1 is the last.
struct UnloadedBannerTests {
    private let bus = SlowBus(isRestoring: true) { disk in
        // The route of /all/a has a button.
        for number in 1...3 as ClosedRange<UInt32> {
            let topic = number == 1 ? World.topics[11] : World.topics[0]
            disk.keepShown(UInt64(number), topic, in: number, of: UInt64(number))
        }
    }
    private let oldest = BannerID(1)

    private func outcome(_ id: UInt64) -> Outcome? { bus.disk.contents.events[EventID(id)]?.decision?.outcome }
    private var unloaded: [BannerID] { bus.daemon.recovery.bannerIDs }
    /// The numbers that the router has, which are those in the journal.
    private var known: [UInt32] {
        let known = bus.daemon.router.banners.keys.keys.map(\.rawValue).sorted()
        #expect(known == bus.disk.contents.banners.keys.sorted())
        return known
    }

    @Test func allAreLoadedOnePerTurn() {
        #expect(unloaded == [BannerID(2), oldest])
        _ = bus.endOneTurn()
        #expect(unloaded == [oldest])
        bus.endTurn()
        #expect(known == [1, 2, 3])
    }

    @Test func oneThatTheUserClosesIsDismissed() {
        bus.dismiss(oldest)
        bus.pass(.seconds(1))
        bus.endTurn()
        #expect(known == [2, 3])
        #expect(outcome(1) == .dismissed)
    }

    @Test func theShellIsBelievedAboutOne() {
        bus.dismiss(oldest, says: SlowBus.shell)
        bus.pass(.seconds(1))
        bus.endTurn()
        #expect(known == [2, 3])
        #expect(outcome(1) == .dismissed)
    }

    @Test func aButtonOfOneIsRelayedAndClosesIt() {
        bus.press(oldest)
        bus.endTurn()
        #expect(bus.sent.contains(.action(EventID(1))))
        #expect(bus.machine.closed == [oldest])
        #expect(known == [2, 3])
        #expect(outcome(1) == .dismissed)
    }

    @Test func oneThatTheServerClosesIsNotRestored() {
        bus.daemon.handle(.bannerClosed(oldest, .other))
        bus.endTurn()
        #expect(known == [2, 3])
        #expect(outcome(1) == .shown)
    }

    @Test func oneWhoseNumberGoesToAnotherBannerIsNotRestored() {
        bus.publish(World.topics[1], window: .zero)
        bus.daemon.handle(.timerFired)
        _ = bus.endOneTurn()
        #expect(unloaded == [oldest])
        bus.answerBanner(oldest)
        bus.dismiss(oldest)
        bus.endTurn()
        #expect(known == [2, 3])
        #expect(outcome(1) == .shown)
        #expect(bus.accepted.map { outcome($0.rawValue) } == [.dismissed])
    }

    @Test func oneThatIsClosedWhileTheDiskIsBrokenIsNotRestored() {
        bus.disk.condition = .broken
        bus.dismiss(oldest)
        bus.press(BannerID(2))
        bus.endTurn()
        bus.disk.condition = .well
        bus.daemon.jobs.retry.retry(bus.daemon)
        bus.takeAll()
        #expect(known == [2, 3])
        #expect(outcome(1) == .shown)
    }

    @Test func aReadThatFailsHalfwayLosesNone() {
        var reads = 0
        bus.disk.condition = .well
        bus.disk.otherFault = { call in
            if call == .read { reads += 1 }
            return call == .read && reads > 1 ? .inputOutput : nil
        }
        #expect(throws: Refusal.self) { try bus.daemon.restoreBanners() }
        bus.disk.otherFault = { _ in nil }
        bus.endTurn()
        bus.takeAll()
        #expect(known == [1, 2, 3])
    }
}
