import Routing
import Testing
import Watching

/// What is held back, and when it is shown: in virtual time.
struct PortalNoticesTests {
    private typealias Effect = PortalNotices.Effect

    private var notices = PortalNotices(bus: "b")
    private var now = Instant(microseconds: 0)
    private var serial: UInt32 = 0
    private let key = PortalNotices.Key(app: "org.example.Chat", id: "a")
    private let route: DesktopRules.Route

    init() throws { route = DesktopRules.Route(rule: nil, topic: try Topic("/app/org.example.Chat")) }

    private static func notice(_ title: String) -> Notice {
        var notice = Notice()
        notice.title = title
        return notice
    }

    private mutating func add(_ title: String, as key: PortalNotices.Key? = nil) -> (DesktopName, [Effect]) {
        serial += 1
        let id = CallID(sender: ":1.9", serial: serial)
        let effects = notices.added(key ?? self.key, Self.notice(title), id, .take(route), at: now)
        return (DesktopName(ServerID(bus: "b", name: "portal"), id, nil, isShared: false), effects)
    }

    /// Adds one that notifyd takes.
    private mutating func hold(_ title: String, as key: PortalNotices.Key? = nil) -> DesktopName {
        let (name, _) = add(title, as: key)
        #expect(notices.answered(name.eventID, isTaken: true).isEmpty)
        return name
    }

    /// Adds one, which is shown.
    private mutating func show(_ title: String, _ number: UInt32, as key: PortalNotices.Key? = nil) -> DesktopName {
        let name = hold(title, as: key)
        _ = notices.decided(name.eventID, "shown")
        #expect(notices.displayed(key ?? self.key, name, number, at: now).isEmpty)
        return name
    }

    private func shown(_ name: DesktopName?, _ title: String, replacing number: UInt32 = 0) -> Effect {
        .show(key, name, Self.notice(title), name.map { _ in route.topic }, replacing: number)
    }

    private mutating func wait(_ time: Duration) -> [Effect] {
        now = now + time
        return notices.timePassed(at: now)
    }

    // MARK: Holding back

    @Test mutating func nothingIsShownBeforeNotifydHasDecided() {
        let (name, effects) = add("Hello")
        #expect(
            effects == [
                .publish(name, Self.notice("Hello"), route, collapse: "b/portal/org.example.Chat/a")
            ])
        #expect(notices.answered(name.eventID, isTaken: true).isEmpty)
        #expect(wait(.seconds(60)).isEmpty)
        #expect(notices.decided(name.eventID, "shown") == [shown(name, "Hello")])
        #expect(notices.displayed(key, name, 7, at: now).isEmpty)
        #expect(notices.isUp(key, name))
        #expect(notices.decided(name.eventID, "shown").isEmpty)
    }

    @Test(arguments: ["claimed", "withdrawn", "replaced", "expired", "silent", "read", "dismissed"])
    mutating func whatIsOverBeforeItWasShownIsNeverShown(_ outcome: String) {
        let name = hold("Hello")
        #expect(notices.decided(name.eventID, outcome) == [.forget(key)])
        #expect(notices.decided(name.eventID, "shown").isEmpty)
        #expect(notices.count == 0)
    }

    @Test mutating func whatIsOverWhileTheServerIsAskedIsClosedWhenItAnswers() {
        let name = hold("Hello")
        _ = notices.decided(name.eventID, "shown")
        #expect(notices.decided(name.eventID, "retracted") == [.forget(key)])
        #expect(notices.displayed(key, name, 7, at: now) == [.close(7)])
    }

    @Test mutating func whatIsUpIsClosedByTheObserver() {
        let name = show("Hello", 7)
        #expect(notices.decided(name.eventID, "retracted") == [.forget(key)])
    }

    @Test mutating func whatIsMutedMayBeShownLater() {
        let name = hold("Hello")
        #expect(notices.decided(name.eventID, "muted").isEmpty)
        #expect(notices.decided(name.eventID, "shown") == [shown(name, "Hello")])
    }

    @Test mutating func whatWasUpAndIsSnoozedIsShownAgainByTheObserver() {
        let name = show("Hello", 7)
        #expect(notices.decided(name.eventID, "muted").isEmpty)
        #expect(notices.ended(7).isEmpty)
        #expect(notices.decided(name.eventID, "shown").isEmpty)
        #expect(notices.displayed(key, name, 8, at: now).isEmpty)
        #expect(notices.key(ofBanner: 8) == key)
    }

    @Test mutating func aProgramThatIsLeftAloneIsShownAtOnce() {
        let id = CallID(sender: ":1.9", serial: 1)
        let effects = notices.added(
            key, Self.notice("Hello"), id, .leave(rule: 1, reason: "its rule leaves it alone"), at: now)
        #expect(effects == [shown(nil, "Hello")])
        #expect(notices.displayed(key, nil, 7, at: now).isEmpty)
        #expect(notices.removed(key) == [.close(7), .forget(key)])
    }

    // MARK: The same id again

    @Test mutating func theSameIDAgainTakesThePlaceOfItsBanner() {
        let first = show("Hello", 7)
        let (second, effects) = add("Hello again")
        #expect(
            effects == [
                .publish(second, Self.notice("Hello again"), route, collapse: "b/portal/org.example.Chat/a")
            ])
        _ = notices.answered(second.eventID, isTaken: true)
        #expect(notices.decided(first.eventID, "replaced").isEmpty, "its banner stays until the next one is decided")
        #expect(notices.decided(second.eventID, "shown") == [shown(second, "Hello again", replacing: 7)])
        #expect(notices.displayed(key, second, 7, at: now).isEmpty)
        #expect(notices.key(ofBanner: 7) == key)
    }

    @Test mutating func aClaimOfTheSecondClosesTheBannerOfTheFirst() {
        _ = show("Hello", 7)
        let second = hold("Hello again")
        #expect(notices.decided(second.eventID, "claimed") == [.close(7), .forget(key)])
    }

    @Test mutating func aNumberThatComesLateIsThatOfTheNext() {
        let first = hold("Hello")
        _ = notices.decided(first.eventID, "shown")
        let second = hold("Hello again")
        #expect(notices.displayed(key, first, 7, at: now).isEmpty)
        #expect(notices.decided(second.eventID, "shown") == [shown(second, "Hello again", replacing: 7)])
    }

    @Test mutating func anIDThatIsTooLongForCollapsingWithdrawsTheFirst() {
        let long = PortalNotices.Key(app: "org.example.Chat", id: String(repeating: "x", count: 250))
        let (first, _) = add("Hello", as: long)
        let (second, effects) = add("Hello again", as: long)
        #expect(
            effects == [
                .withdraw(first), .publish(second, Self.notice("Hello again"), route, collapse: nil),
            ])
    }

    // MARK: Taking back

    @Test mutating func aProgramTakesBackWhatIsHeldBackOrUp() {
        let held = hold("Hello")
        #expect(notices.removed(key) == [.withdraw(held), .forget(key)])
        let up = show("Hello", 7)
        #expect(notices.removed(key) == [.close(7), .withdraw(up), .forget(key)])
        #expect(notices.removed(key).isEmpty)
    }

    // MARK: In doubt it is shown

    @Test mutating func whatNotifydDoesNotAnswerInASecondIsShown() {
        let (name, _) = add("Hello")
        #expect(wait(.milliseconds(999)).isEmpty)
        #expect(wait(.milliseconds(1)) == [shown(name, "Hello")])
        _ = notices.displayed(key, name, 7, at: now)
        #expect(notices.answered(name.eventID, isTaken: true).isEmpty)
        #expect(notices.decided(name.eventID, "shown").isEmpty, "it is shown once")
    }

    @Test mutating func whatNotifydRefusesIsShown() {
        let (name, _) = add("Hello")
        #expect(notices.answered(name.eventID, isTaken: false) == [shown(name, "Hello")])
    }

    @Test mutating func whatNotifydHasNotDecidedIsShownIfItDoesNotComeBack() {
        let name = hold("Hello")
        notices.daemonChanged(isThere: false, at: now)
        #expect(wait(.seconds(4)).isEmpty)
        notices.daemonChanged(isThere: true, at: now)
        #expect(wait(.seconds(60)).isEmpty, "notifyd decides after its restart")
        notices.daemonChanged(isThere: false, at: now)
        #expect(notices.deadline == now + .seconds(5))
        #expect(wait(.seconds(5)) == [shown(name, "Hello")])
        #expect(notices.deadline == nil)
    }

    // MARK: The server

    @Test mutating func whatTheServerHasNotShownIsShownByTheNext() {
        let name = hold("Hello")
        _ = notices.decided(name.eventID, "shown")
        #expect(notices.serverReady().isEmpty, "it has been asked")
        #expect(notices.displayed(key, name, nil, at: now).isEmpty)
        #expect(notices.serverChanged().isEmpty)
        #expect(notices.serverReady() == [shown(name, "Hello")])
        #expect(notices.displayed(key, name, nil, at: now).isEmpty)
        #expect(wait(.seconds(30)) == [shown(name, "Hello")])
    }

    @Test mutating func whatWasUpIsGoneWithItsServer() {
        let name = show("Hello", 7)
        #expect(notices.serverChanged() == [.forget(key)])
        #expect(notices.decided(name.eventID, "retracted").isEmpty)
    }

    @Test mutating func aBannerThatEndsIsForgotten() {
        _ = show("Hello", 7)
        #expect(notices.ended(7) == [.forget(key)])
        #expect(notices.count == 0)
    }

    @Test mutating func ofTooManyTheOldestThatIsDecidedIsForgotten() {
        let keys = (0..<1024).map { PortalNotices.Key(app: "org.example.Chat", id: "\($0)") }
        for key in keys { _ = hold("Hello", as: key) }
        let (_, effects) = add("One more")
        #expect(
            effects.first == .show(keys[0], notices.name(of: keys[0]), Self.notice("Hello"), route.topic, replacing: 0))
        let (_, next) = add("And another", as: PortalNotices.Key(app: "org.example.Chat", id: "another"))
        #expect(next.first == .forget(keys[0]))
        #expect(notices.count == 1025)
    }

    // MARK: Restarts

    @Test mutating func whatWasHeldBackIsPublishedOnceMore() {
        let name = DesktopName(eventID: "b/portal/:1.2-3/", source: "local:desktop")
        #expect(
            notices.recovered(key, name, Self.notice("Hello"), route, number: nil, at: now) == [
                .publish(name, Self.notice("Hello"), route, collapse: "b/portal/org.example.Chat/a")
            ])
        #expect(wait(.seconds(4)).isEmpty, "notifyd may start later")
        _ = notices.answered(name.eventID, isTaken: true)
        #expect(notices.decided(name.eventID, "claimed") == [.forget(key)])
    }

    @Test mutating func whatWasUpIsNotShownAgain() {
        let name = DesktopName(eventID: "b/portal/:1.2-3/", source: "local:desktop")
        #expect(notices.recovered(key, name, Self.notice("Hello"), route, number: 7, at: now).isEmpty)
        #expect(notices.decided(name.eventID, "shown").isEmpty)
        #expect(notices.removed(key) == [.close(7), .withdraw(name), .forget(key)])
    }
}
