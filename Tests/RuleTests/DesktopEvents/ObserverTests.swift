import Routing
import TOMLTables
import Testing
import Watching

/// Which banner is which event, and what becomes of both: in virtual time.
struct ObserverTests {
    private var observer = Observer(bus: "b")
    private var now = Instant(microseconds: 0)
    private var serial: UInt32 = 0

    init() { _ = observer.serverChanged(":1.5", at: now) }

    private static func notice(_ title: String = "Hello", app: String = "Chat") -> Notice {
        var notice = Notice()
        (notice.app, notice.title) = (app, title)
        return notice
    }

    private func route(_ topic: String = "/app/Chat") throws -> DesktopRules.Route {
        DesktopRules.Route(rule: nil, topic: try Topic(topic))
    }

    private mutating func call(_ notice: Notice = notice(), expectsReply: Bool = true) -> CallID {
        serial += 1
        let id = CallID(sender: ":1.9", serial: serial)
        #expect(observer.called(id, notice, expectsReply: expectsReply, time: 0, at: now).isEmpty)
        return id
    }

    /// A program shows something.
    private mutating func show(_ number: UInt32, _ notice: Notice = notice()) -> (DesktopName, [Observer.Effect]) {
        let id = call(notice)
        let effects = observer.answered(id, .banner(.number(number)), at: now)
        return (name(id, number), effects)
    }

    private func name(_ id: CallID, _ number: UInt32?) -> DesktopName {
        DesktopName(ServerID(bus: "b", name: ":1.5"), id, number.map(BannerKey.number), isShared: false)
    }

    private mutating func wait(_ time: Duration) -> [Observer.Effect] {
        now = now + time
        return observer.timePassed(at: now)
    }

    // MARK: Programs

    @Test mutating func aNotificationIsPublishedWhenTheServerHasAnswered() throws {
        let id = call()
        let effects = observer.answered(id, .banner(.number(7)), at: now)
        #expect(
            effects == [.publish(name(id, 7), Self.notice(), try route(), collapse: "b/:1.5/7")])
        #expect(name(id, 7).eventID == "b/:1.5/:1.9-1/7")
        #expect(name(id, 7).source == "local:desktop")
        #expect(observer.count == 1)
    }

    @Test mutating func whatTheServerRefusesIsNoEvent() {
        let id = call()
        #expect(observer.answered(id, .refused, at: now).isEmpty)
        #expect(wait(.seconds(100)).isEmpty)
        #expect(observer.deadline == nil)
    }

    @Test mutating func anUpdateTakesThePlaceOfTheOneBefore() throws {
        _ = show(7)
        let (second, effects) = show(7, Self.notice("Again"))
        #expect(effects == [.publish(second, Self.notice("Again"), try route(), collapse: "b/:1.5/7")])
        #expect(observer.count == 1)
    }

    @Test mutating func anUpdateAtAnotherTopicTakesTheOneBeforeBack() throws {
        let (first, _) = show(7)
        let (second, effects) = show(7, Self.notice("Hello", app: "Mail"))
        #expect(
            effects == [
                .withdraw(first),
                .publish(second, Self.notice("Hello", app: "Mail"), try route("/app/Mail"), collapse: "b/:1.5/7"),
            ])
    }

    @Test mutating func aCallWithoutAnAnswerIsPublishedWithoutItsBanner() throws {
        let id = call()
        #expect(wait(.milliseconds(1999)).isEmpty)
        #expect(
            wait(.milliseconds(1)) == [.publish(name(id, nil), Self.notice(), try route(), collapse: nil)])
        // Its number comes later, and it is closed by that.
        #expect(observer.answered(id, .banner(.number(8)), at: now).isEmpty)
        #expect(observer.decided(name(id, nil).eventID, "claimed") == [.close(.number(8))])
    }

    @Test mutating func whatWasDecidedBeforeTheServerAnswersIsClosedThen() {
        let id = call()
        _ = wait(.seconds(2))
        #expect(observer.decided(name(id, nil).eventID, "claimed").isEmpty)
        #expect(observer.answered(id, .banner(.number(8)), at: now) == [.close(.number(8))])
    }

    @Test mutating func aProgramThatWantsNoAnswerIsNotWaitedFor() throws {
        let id = call(expectsReply: false)
        #expect(wait(.zero) == [.publish(name(id, nil), Self.notice(), try route(), collapse: nil)])
    }

    @Test mutating func aNumberThatNeverComesIsForgotten() {
        _ = call()
        _ = wait(.seconds(2))
        #expect(observer.deadline != nil)
        #expect(wait(.seconds(60)).isEmpty)
        #expect(observer.deadline == nil)
    }

    @Test(arguments: ["transient", "synchronous", "value"])
    mutating func aVolumeIsNotTaken(_ kind: String) {
        var notice = Self.notice()
        switch kind {
        case "transient": notice.isTransient = true
        case "synchronous": notice.isSynchronous = true
        default: notice.progress = 40
        }
        #expect(show(7, notice).1.isEmpty)
        #expect(observer.count == 0)
    }

    @Test mutating func aProgressWithATextIsTaken() {
        var notice = Self.notice()
        (notice.progress, notice.body) = (40, "of a download")
        #expect(show(7, notice).1.count == 1)
    }

    @Test mutating func aBrowserWhosePageHasPublishedTheSameIsNotTaken() throws {
        observer.published(
            "1", source: "webpush", topic: try Topic("/a"), title: "Mina", body: "Hi", buttons: [], row: 1, time: 0)
        var notice = Self.notice("Mina", app: "Firefox")
        notice.body = "Hi"
        #expect(show(7, notice).1.isEmpty)
        notice.app = "Chat"
        #expect(show(8, notice).1.count == 1)
    }

    @Test mutating func aProgramThatTakesBackWithdraws() {
        let (name, _) = show(7)
        #expect(observer.closingRequested(.number(7)).isEmpty)
        #expect(observer.ended(.number(7), reason: 3) == [.withdraw(name)])
        #expect(observer.count == 0)
    }

    @Test mutating func aProgramWhoseServerGivesAnotherReasonWithdrawsToo() {
        let (name, _) = show(7)
        _ = observer.closingRequested(.number(7))
        #expect(observer.ended(.number(7), reason: 1) == [.withdraw(name)])
    }

    @Test(arguments: [1, 4] as [UInt32]) mutating func whatHasGoneByItselfCanBeTakenBackOnce(_ reason: UInt32) {
        let (name, _) = show(7)
        _ = observer.ended(.number(7), reason: reason)
        #expect(observer.closingRequested(.number(7)) == [.withdraw(name)])
        #expect(observer.closingRequested(.number(7)).isEmpty)
    }

    @Test mutating func whatIsMutedOrSnoozedCanBeTakenBackAndDoesNotComeAgain() {
        let (name, _) = show(7)
        _ = observer.decided(name.eventID, "muted")
        _ = observer.closingRequested(.number(7))
        _ = observer.ended(.number(7), reason: 3)
        #expect(observer.closingRequested(.number(7)) == [.withdraw(name)])
        #expect(observer.decided(name.eventID, "shown").isEmpty)
    }

    @Test mutating func whatHasANewBannerInItsPlaceIsNotTakenBackWithThat() {
        let (first, _) = show(7)
        _ = observer.ended(.number(7), reason: 1)
        let (second, _) = show(7, Self.notice("Again"))
        #expect(observer.closingRequested(.number(7)).isEmpty)
        #expect(observer.ended(.number(7), reason: 3) == [.withdraw(second)])
        #expect(first != second)
    }

    // MARK: The user

    @Test mutating func aBannerThatTheUserClosesIsDismissed() {
        let (name, _) = show(7)
        #expect(observer.ended(.number(7), reason: 2) == [.dismiss(name)])
    }

    @Test(arguments: [1, 4] as [UInt32]) mutating func whatExpiresStaysUnread(_ reason: UInt32) {
        _ = show(7)
        #expect(observer.ended(.number(7), reason: reason).isEmpty)
        #expect(observer.count == 0)
    }

    @Test mutating func aButtonIsPressedAndItsBannerIsNotDismissedToo() {
        var notice = Self.notice()
        notice.buttons = [Notice.Button(key: "yes", label: "Yes")]
        let (name, _) = show(7, notice)
        #expect(observer.pressed(.number(7), "yes") == [.press(name, "yes")])
        // notifyd says it to everybody; the program has heard it from the server.
        #expect(observer.announced(name.eventID, action: "yes").isEmpty)
        #expect(observer.decided(name.eventID, "retracted", action: "yes") == [.close(.number(7))])
        #expect(observer.ended(.number(7), reason: 2).isEmpty)
    }

    @Test mutating func aButtonThatNotifydDoesNotKnowDismisses() {
        let (name, _) = show(7)
        #expect(observer.pressed(.number(7), "default") == [.dismiss(name)])
    }

    // MARK: notifyd

    @Test(arguments: ["claimed", "retracted", "muted", "withdrawn", "dismissed", "replaced", "read"])
    mutating func anEventThatIsOverClosesItsBanner(_ outcome: String) {
        let (name, _) = show(7)
        #expect(observer.decided(name.eventID, outcome) == [.close(.number(7))])
        #expect(observer.decided(name.eventID, outcome).isEmpty, "once")
        // Our own call comes back as that of a program would.
        #expect(observer.ended(.number(7), reason: 3).isEmpty)
    }

    @Test mutating func aBannerIsGoneWhenTheServerHasAnsweredUnlessSomethingElseIsUpInItsPlace() {
        let (first, _) = show(7)
        _ = observer.decided(first.eventID, "claimed")
        let (second, _) = show(7, Self.notice("Again"))
        observer.closed(.number(7))
        #expect(observer.decided(second.eventID, "claimed") == [.close(.number(7))])
        observer.closed(.number(7))
        #expect(observer.count == 0)
    }

    @Test(arguments: ["shown", "expired", ""]) mutating func anEventThatIsNotOverKeepsItsBanner(_ outcome: String) {
        let (name, _) = show(7)
        #expect(observer.decided(name.eventID, outcome).isEmpty)
        #expect(observer.count == 1)
    }

    @Test mutating func theOutcomeOfAnEarlierTextDoesNotCloseTheBanner() {
        let (first, _) = show(7)
        let (second, _) = show(7, Self.notice("Again"))
        #expect(observer.decided(first.eventID, "replaced").isEmpty)
        #expect(observer.decided(second.eventID, "claimed") == [.close(.number(7))])
    }

    @Test mutating func aSnoozedBannerIsShownAgain() throws {
        let (name, _) = show(7)
        #expect(observer.decided(name.eventID, "shown").isEmpty)
        #expect(observer.decided(name.eventID, "muted") == [.close(.number(7))])
        _ = observer.ended(.number(7), reason: 3)
        #expect(observer.decided(name.eventID, "shown") == [.show(name, Self.notice(), try Topic("/app/Chat"))])
        observer.shown(name, Self.notice(), as: .number(9), topic: try Topic("/app/Chat"))
        #expect(observer.decided(name.eventID, "claimed") == [.close(.number(9))])
    }

    @Test mutating func aButtonThatIsPressedInTheInboxReachesTheProgramBeforeItsBannerIsClosed() {
        let (name, _) = show(7)
        #expect(
            observer.decided(name.eventID, "retracted", action: "yes") == [
                .invoke(.number(7), action: "yes"), .close(.number(7)),
            ])
    }

    @Test mutating func aButtonOfABannerThatStaysReachesTheProgramOnce() {
        var notice = Self.notice()
        notice.buttons = [Notice.Button(key: "next", label: "Next")]
        notice.isResident = true
        let (name, _) = show(7, notice)
        #expect(
            observer.announced(name.eventID, action: "next") == [
                .invoke(.number(7), action: "next")
            ])
        #expect(observer.pressed(.number(7), "next") == [.press(name, "next")])
        #expect(observer.announced(name.eventID, action: "next").isEmpty)
    }

    // MARK: The server

    @Test mutating func anotherServerKnowsNoneOfTheBanners() {
        let (name, _) = show(7)
        #expect(observer.serverChanged("", at: now).isEmpty)
        #expect(observer.serverChanged(":1.6", at: now).isEmpty)
        #expect(observer.count == 0)
        #expect(observer.decided(name.eventID, "claimed").isEmpty)
        // The same number is another banner there.
        #expect(observer.ended(.number(7), reason: 2).isEmpty)
    }

    @Test mutating func whatAServerHasNotAnsweredWhenItGoesIsPublished() throws {
        let id = call()
        #expect(
            observer.serverChanged("", at: now)
                == [.publish(name(id, nil), Self.notice(), try route(), collapse: nil)])
    }

    @Test mutating func aCallThatStartsTheServerWaitsForIt() {
        _ = observer.serverChanged("", at: now)
        let id = call()
        #expect(observer.serverChanged(":1.7", at: now).isEmpty)
        #expect(observer.answered(id, .banner(.number(1)), at: now).count == 1)
    }

    // MARK: Units

    @Test mutating func aBannerThatEndsBeforeItsUnitIsKnownEndsAfterwards() {
        let id = CallID(sender: ":1.9", serial: 1)
        _ = observer.called(id, Self.notice(), isUnitKnown: false, time: 0, at: now)
        #expect(observer.answered(id, .banner(.number(7)), at: now).isEmpty)
        #expect(observer.ended(.number(7), reason: 2).isEmpty)
        let effects = observer.know(id, unit: "chat.service", at: now)
        #expect(effects.count == 2)
        #expect(effects.last == .dismiss(name(id, 7)))
    }

    @Test mutating func aUnitThatIsNeverFoundHoldsNothingBack() {
        let id = CallID(sender: ":1.9", serial: 1)
        _ = observer.called(id, Self.notice(), isUnitKnown: false, time: 0, at: now)
        _ = observer.answered(id, .banner(.number(7)), at: now)
        #expect(wait(.seconds(2)).count == 1)
        #expect(observer.count == 1)
    }

    // MARK: After a start

    private mutating func journal(_ number: UInt32, row: UInt64, title: String = "Hello") throws -> String {
        let id = CallID(sender: ":1.9", serial: UInt32(row))
        let name = name(id, number)
        observer.published(
            name.eventID, source: name.source, topic: try Topic("/app/Chat"), title: title, body: "", buttons: [],
            row: row, time: 0)
        return name.eventID
    }

    @Test mutating func whatWasUpBeforeTheStartIsClosed() throws {
        let old = try journal(7, row: 3)
        #expect(observer.decided(old, "claimed") == [.close(.number(7))])
    }

    @Test mutating func ofTwoRowsTheLaterIsUp() throws {
        let old = try journal(7, row: 3)
        let new = try journal(7, row: 4)
        #expect(observer.decided(old, "replaced").isEmpty)
        #expect(observer.decided(new, "claimed") == [.close(.number(7))])
    }

    /// A start while notifyd has more rows.
    private mutating func restart() {
        observer = Observer(bus: "b", catchesUp: true)
        _ = observer.serverChanged(":1.5", at: now)
    }

    @Test mutating func whatTookThePlaceOfAnEndedOneBeforeTheStartStaysUp() throws {
        restart()
        let old = try journal(7, row: 3)
        #expect(observer.decided(old, "claimed").isEmpty)
        let new = try journal(7, row: 5)
        #expect(observer.caughtUp().isEmpty)
        #expect(observer.decided(new, "claimed") == [.close(.number(7))])
    }

    @Test mutating func whatEndedBeforeTheStartIsClosedWhenTheJournalHasBeenRead() throws {
        restart()
        let ended = try journal(7, row: 3)
        let snoozed = try journal(8, row: 4)
        #expect(observer.decided(ended, "retracted").isEmpty)
        #expect(observer.decided(snoozed, "muted").isEmpty)
        #expect(observer.decided(snoozed, "shown").isEmpty, "it has come back meanwhile")
        #expect(observer.caughtUp() == [.close(.number(7))])
        #expect(observer.caughtUp().isEmpty)
        observer.closed(.number(7))
        #expect(observer.count == 1)
    }

    @Test mutating func anApplicationIsNotToldOfAButtonAgainAfterARestart() throws {
        restart()
        let key = BannerKey.gtk(app: "org.example.Chat", id: "1")
        let name = DesktopName(
            ServerID(bus: "b", name: ":1.5"), CallID(sender: ":1.9", serial: 1), key, isShared: false)
        observer.published(
            name.eventID, source: name.source, topic: try Topic("/app/Chat"), title: "Hello", body: "", buttons: [],
            row: 1, time: 0)
        _ = observer.decided(name.eventID, "retracted", action: "app.open")
        #expect(observer.caughtUp() == [.close(key)])
    }

    @Test mutating func whatWasSeenSinceTheStartIsNotTakenForAnOldOne() throws {
        let (name, _) = show(7)
        let old = try journal(7, row: 3)
        #expect(observer.decided(old, "claimed").isEmpty)
        #expect(observer.decided(name.eventID, "claimed") == [.close(.number(7))])
    }

    @Test mutating func theBannersOfAnotherServerAreNotClosed() throws {
        _ = observer.serverChanged(":1.6", at: now)
        let old = try journal(7, row: 3)
        #expect(observer.decided(old, "claimed").isEmpty)
    }

    @Test mutating func theJournalIsReadAgainFromTheOldestBannerThatIsUp() throws {
        let old = try journal(7, row: 3)
        _ = try journal(8, row: 6)
        #expect(observer.firstRow == 2)
        _ = observer.decided(old, "claimed")
        _ = observer.ended(.number(7), reason: 3)
        #expect(observer.firstRow == 5)
        _ = observer.ended(.number(8), reason: 1)
        #expect(observer.firstRow == 6)
    }

    // MARK: Programs of GTK

    @Test mutating func aNotificationOfGTKIsClosedByItsName() {
        let key = BannerKey.gtk(app: "org.example.Chat", id: "room:1/2")
        let id = call()
        #expect(observer.answered(id, .banner(key), at: now).count == 1)
        let name = DesktopName(ServerID(bus: "b", name: ":1.5"), id, key, isShared: false)
        #expect(observer.decided(name.eventID, "claimed") == [.close(key)])
        #expect(observer.count == 0)
    }

    @Test mutating func aProgramOfGTKTakesBack() {
        let key = BannerKey.gtk(app: "org.example.Chat", id: "1")
        let id = call()
        _ = observer.answered(id, .banner(key), at: now)
        let name = DesktopName(ServerID(bus: "b", name: ":1.5"), id, key, isShared: false)
        #expect(observer.closingRequested(key) == [.withdraw(name)])
    }

    // MARK: What came lately

    @Test mutating func whatIsLeftAloneIsToldWithoutItsTextAndTheRestForADay() throws {
        observer.rules = try TableReader.read(
            file: "", text: "[[app]]\napp = \"Secrets\"\nkeep = \"0\"", DesktopRules.read)
        _ = show(7, Self.notice("A secret", app: "Secrets"))
        _ = show(8)
        #expect(observer.sightings.map(\.notice.title) == ["", "Hello"])
        #expect(observer.sightings.map(\.notice.app) == ["Secrets", "Chat"])
        observer.forgetSightings(at: 24 * 3600 * 1_000_000)
        #expect(observer.sightings.count == 2)
        observer.forgetSightings(at: 24 * 3600 * 1_000_000 + 1)
        #expect(observer.sightings.isEmpty)
    }

    // MARK: Limits

    @Test mutating func aProgramThatShowsTooMuchMakesNothingGrow() {
        for number in 1...10_000 as ClosedRange<UInt32> { _ = show(number) }
        #expect(observer.count == 4096)
        #expect(observer.sightings.count == 64)
        var effects: [Observer.Effect] = []
        for number in 1...2000 as ClosedRange<UInt32> {
            effects += observer.called(CallID(sender: ":1.8", serial: number), Self.notice(), time: 0, at: now)
        }
        #expect(effects.count == 2000 - 1024, "the oldest goes without its number")
        #expect(wait(.seconds(2)).count == 1024)
    }
}
