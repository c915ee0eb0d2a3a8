import Routing
import ScreenHolding
import Testing

struct ScreenReconcilerTests {
    let post = try! Topic("/post/27")
    let other = try! Topic("/post/28")
    var reconciler = ScreenReconciler()

    func screens(_ states: (Topic, Screen.State)...) -> WantedScreens {
        states.reduce(into: WantedScreens()) { $0.insert($1.0, $1.1) }
    }

    @Test mutating func aWantedScreenIsOpenedWhenNotifydComes() {
        #expect(reconciler.want(screens((post, .focused))) == [])
        #expect(reconciler.held == [post: .waiting])
        #expect(reconciler.connected() == [.open(post, .focused)])
        #expect(reconciler.opened(post, as: ScreenID(1)) == [])
        #expect(reconciler.held == [post: .open(ScreenID(1), .focused)])
    }

    @Test mutating func onlyTheDifferenceIsDone() {
        _ = reconciler.connected()
        _ = reconciler.want(screens((post, .focused)))
        _ = reconciler.opened(post, as: ScreenID(1))
        #expect(reconciler.want(screens((post, .focused))) == [])
        #expect(reconciler.want(screens((post, .visible))) == [.update(post, ScreenID(1), .visible)])
        // What goes is closed before what comes is opened.
        #expect(reconciler.want(screens((other, .focused))) == [.close(ScreenID(1)), .open(other, .focused)])
    }

    @Test mutating func changesWaitForTheNumberOfAScreen() {
        _ = reconciler.connected()
        #expect(reconciler.want(screens((post, .focused))) == [.open(post, .focused)])
        #expect(reconciler.want(screens((post, .visible))) == [])
        #expect(reconciler.opened(post, as: ScreenID(1)) == [.update(post, ScreenID(1), .visible)])
    }

    @Test mutating func aScreenNobodyWantsAnyMoreIsClosedAsSoonAsItIsOpen() {
        _ = reconciler.connected()
        _ = reconciler.want(screens((post, .focused)))
        #expect(reconciler.want(screens()) == [])
        #expect(reconciler.opened(post, as: ScreenID(1)) == [.close(ScreenID(1))])
        #expect(reconciler.held == [:])
        #expect(reconciler.want(screens((post, .focused))) == [.open(post, .focused)])
    }

    @Test mutating func afterARestartAllIsOpenedAgain() {
        _ = reconciler.connected()
        _ = reconciler.want(screens((post, .focused)))
        _ = reconciler.opened(post, as: ScreenID(1))
        reconciler.disconnected()
        #expect(reconciler.held == [post: .waiting])
        #expect(reconciler.want(screens((post, .visible))) == [])
        #expect(reconciler.connected() == [.open(post, .visible)])
        // A notifyd that takes another's place without a pause.
        #expect(reconciler.connected() == [.open(post, .visible)])
    }

    @Test mutating func aRefusedScreenIsAskedForAgainWhenItIsWantedAnew() {
        _ = reconciler.connected()
        _ = reconciler.want(screens((post, .focused)))
        _ = reconciler.refused(post, reason: "not allowed")
        #expect(reconciler.held == [post: .refused(reason: "not allowed")])
        #expect(reconciler.want(screens((post, .visible))) == [])
        #expect(reconciler.want(screens()) == [])
        #expect(reconciler.want(screens((post, .focused))) == [.open(post, .focused)])
    }

    @Test mutating func aRefusalOfWhatNobodyWantsIsForgotten() {
        _ = reconciler.connected()
        _ = reconciler.want(screens((post, .focused)))
        _ = reconciler.want(screens())
        _ = reconciler.refused(post, reason: "not allowed")
        #expect(reconciler.want(screens((post, .focused))) == [.open(post, .focused)])
    }

    @Test mutating func aScreenThatNotifydHasLostIsOpenedAgain() {
        _ = reconciler.connected()
        _ = reconciler.want(screens((post, .focused)))
        _ = reconciler.opened(post, as: ScreenID(1))
        _ = reconciler.want(screens((post, .visible)))
        let again = reconciler.updateFailed(post, ScreenID(1), isUnknown: true, reason: "no such screen")
        #expect(again == [.open(post, .visible)])
    }

    @Test mutating func aScreenThatCannotBeChangedIsClosed() {
        _ = reconciler.connected()
        _ = reconciler.want(screens((post, .focused)))
        _ = reconciler.opened(post, as: ScreenID(1))
        _ = reconciler.want(screens((post, .visible)))
        let closing = reconciler.updateFailed(post, ScreenID(1), isUnknown: false, reason: "not allowed")
        #expect(closing == [.close(ScreenID(1))])
        #expect(reconciler.held == [post: .refused(reason: "not allowed")])
    }

    @Test func ofTwoStatesTheBetterSeenOneCounts() {
        #expect(screens((post, .visible), (post, .focused)) == screens((post, .focused)))
        #expect(screens((post, .focused), (post, .visible)) == screens((post, .focused)))
        #expect(screens((post, .focused))[post] == .focused && screens((post, .focused))[other] == nil)
    }

    @Test func aTopicThatNoMessageCanCarryIsNotWanted() throws {
        var wanted = WantedScreens()
        let isAdded = wanted.insert(try Topic("/post/\u{FFFE}"), .focused)
        #expect(!isAdded && wanted.screens.isEmpty)
    }

    @Test func noMoreThanTheLimitIsWanted() throws {
        var wanted = WantedScreens()
        for number in 1...WantedScreens.limit {
            let isAdded = wanted.insert(try Topic("/post/\(number)"), .visible)
            #expect(isAdded)
        }
        let isOneMoreAdded = wanted.insert(try Topic("/other"), .focused)
        let isKnownOneTaken = wanted.insert(post, .focused)
        #expect(!isOneMoreAdded && isKnownOneTaken)
        #expect(wanted.screens.count == WantedScreens.limit)
    }

    @Test mutating func whatIsWantedLastIsOpenedHoweverSlowNotifydIs() throws {
        _ = reconciler.connected()
        var calls: [ScreenReconciler.Action] = []
        let topics = try (1...500).map { number throws(TopicError) in try Topic("/post/\(number)") }
        for topic in topics { calls += reconciler.want(screens((topic, .focused))) }
        #expect(calls.count == 128)
        var closed = 0
        for (number, topic) in topics.prefix(128).enumerated() {
            let actions = reconciler.opened(topic, as: ScreenID(UInt64(number)))
            closed += actions.filter { $0 == .close(ScreenID(UInt64(number))) }.count
            #expect(actions.contains(.open(topics[499], .focused)) == (number == 0))
        }
        #expect(closed == 128)
        #expect(reconciler.opened(topics[499], as: ScreenID(999)) == [])
        #expect(reconciler.held == [topics[499]: .open(ScreenID(999), .focused)])
    }
}
