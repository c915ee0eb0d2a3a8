import Testing

@testable import NotifyClient
@testable import notifyctl

/// The list of unread events, its keys and its picture, without a daemon.
struct InboxTests {
    private static let now: Int64 = 1_800_000_000_000_000

    private func entry(
        _ id: UInt64, _ topic: String = "/post/27", _ title: String? = nil, _ body: String = "",
        buttons: [BannerOptions.Button] = []
    ) -> InboxEntry {
        InboxEntry(
            id: EventID(rawValue: id), topic: topic, text: BannerText(title: title ?? "Event \(id)", body: body),
            published: Self.now - 120_000_000, outcome: .shown, appearance: BannerOptions(buttons: buttons))
    }

    private func list(_ entries: [InboxEntry], hasMore: Bool = false, total: Int? = nil) -> InboxList {
        var list = InboxList()
        list.take(entries, hasMore: hasMore, total: total ?? entries.count)
        return list
    }

    /// A screen in a class: a macro cannot change a value.
    private final class Bench {
        var screen = InboxScreen()

        @discardableResult
        func take(_ key: Key) -> InboxScreen.Command? { screen.take(key) }

        func lines(width: Int = 80, height: Int = 10) -> [String] {
            InboxFrame(now: now, width: width, height: height).lines(&screen)
        }
    }

    private func bench(_ entries: InboxEntry...) -> Bench {
        let bench = Bench()
        bench.screen.list = list(entries)
        bench.screen.daemon = .running
        return bench
    }

    private func outcome(_ id: UInt64, _ kind: Outcome.Kind) -> Outcome {
        Outcome(id: EventID(rawValue: id), topic: "/post/27", kind: kind)
    }

    /// Keys act on the selected event, so it is visible on every screen, whatever the header says.
    @Test(arguments: 1...8, [false, true]) func theSelectedEventIsVisibleOnEveryScreen(
        _ height: Int, _ hasWideHeader: Bool
    ) {
        let bench = bench(entry(4, "/a"), entry(3, "/a"), entry(2, "/b", "Two", "x\ny\nz"), entry(1, "/c"))
        if hasWideHeader {
            bench.screen.daemon = .absent
            bench.screen.quiet = [Quiet(topic: "/c", cause: .muted)]
        }
        for key in [Key.home, .down, .down, .enter, .down, .up, .up, .up] {
            bench.take(key)
            let lines = bench.lines(height: height)
            #expect(lines.count == height)
            let selected = bench.screen.list.selected.map { $0.text.title }
            #expect(lines.filter { $0.hasPrefix("> ") }.map { $0.contains(selected ?? "") } == [true], "\(lines)")
        }
        // Its heading is there if there is room for both.
        #expect(bench.lines(height: height).contains { $0.hasPrefix("/a") } == (height >= (hasWideHeader ? 6 : 4)))
    }

    @Test(arguments: [
        (80, "q end  ? help  r read  z snooze  m mute  Enter text  c claim  w why  1-8 button"),
        (40, "q end  ? help  r read  z snooze  m mute"), (13, "q end  ? help"), (5, "q end"),
    ])
    func theKeysThatEndAndHelpComeFirstAndNoneIsCut(_ width: Int, _ hints: String) {
        #expect(bench(entry(1)).lines(width: width).last == hints)
        #expect(InboxFrame.keys.first?.key == "q, Ctrl-C")
    }

    // MARK: The list

    @Test func topicsAreOrderedByTheirNewestEvents() {
        let list = list([entry(5, "/b"), entry(4, "/a"), entry(3, "/b")])
        #expect(list.groups.map(\.topic) == ["/b", "/a"])
        #expect(list.groups.map { $0.entries.map(\.id) } == [[5, 3], [4]])
        #expect(list.selection == 5)
    }

    @Test func theSelectionStaysOnItsEventAndMovesOnWithItsEnd() {
        var list = list([entry(3), entry(2), entry(1)])
        list.move(by: 1)
        list.take([entry(9, "/b"), entry(4), entry(3), entry(2), entry(1)], hasMore: false, total: 5)
        #expect(list.selection == 2)
        list.receive(outcome(2, .claimed))
        #expect(list.selection == 1)
        #expect(list.total == 4)
        list.receive(outcome(1, .dismissed))
        #expect(list.selection == 3)
        list.receive(outcome(3, .muted))
        #expect(list.selected?.outcome == .muted)
        for id: UInt64 in [3, 4, 9] { list.receive(outcome(id, .withdrawn)) }
        #expect(list.selection == nil)
        #expect(list.total == 0)
    }

    @Test func anOutcomeDuringALoadIsNewerThanThePage() {
        var list = list([entry(2), entry(1)])
        list.beginLoading()
        list.receive(outcome(1, .claimed))
        list.take([entry(2), entry(1)], hasMore: false, total: 2)
        #expect(list.entries.map(\.id) == [2])
        #expect(list.total == 1)
        let answers = [list.receive(outcome(7, .shown)), list.receive(outcome(7, .claimed))]
        #expect(answers == [true, false])
    }

    private func page(_ ids: ClosedRange<UInt64>) -> [InboxEntry] { ids.reversed().map { entry($0) } }

    @Test func olderEventsAreLoadedInPortionsUpToALimit() {
        var list = list(page(1...200), hasMore: true, total: 5000)
        #expect(!list.isShort)
        list.move(by: 160)
        #expect(list.isShort)
        #expect(list.wanted == 400)
        for _ in 1...100 { list.move(by: 160) }
        #expect(list.wanted == InboxList.capacity)
        list.take(page(1...5000), hasMore: false, total: 5000)
        #expect(list.entries.count == InboxList.capacity)
        #expect(list.hasMore)
    }

    @Test func theLastEventIsTheLastOfAllAndNotOfThePage() {
        var list = list(page(301...500), hasMore: true, total: 500)
        list.moveToLast()
        #expect(list.selection == 301)
        #expect(list.isShort)
        list.take(page(101...500), hasMore: true, total: 500)
        #expect(list.selection == 101)
        list.take(page(1...500), hasMore: false, total: 500)
        #expect(list.selection == 1)
        // What comes later does not move it any more.
        list.move(by: -1)
        list.take(page(1...501), hasMore: false, total: 501)
        #expect(list.selection == 2)
    }

    @Test func anotherKeyEndsTheWayToTheLastEvent() {
        var list = list(page(301...500), hasMore: true, total: 500)
        list.moveToLast()
        list.moveToFirst()
        list.take(page(1...500), hasMore: false, total: 500)
        #expect(list.selection == 500)
    }

    @Test func aFilterSaysNothingAboutAllBeforeItHasReadThem() {
        let bench = Bench()
        bench.screen.list = list(page(9...208), hasMore: true, total: 208)
        for key in "/Hang" { bench.take(.character(key)) }
        bench.take(.enter)
        #expect(bench.screen.list.isShort)
        let before = bench.lines()
        #expect(before[0] == "Inbox   208 unread   with “Hang”")
        #expect(before[1] == "No event so far has this text.")
        #expect(before[2] == "and 8 older; notifyd is asked for them")
        bench.screen.list.take(
            page(9...208) + (1...8).reversed().map { entry($0, "/hang") }, hasMore: false, total: 208)
        #expect(Array(bench.lines().prefix(2)) == ["Inbox   8 of 208 unread   with “Hang”", "/hang  8"])
        bench.screen.list.take(page(9...208), hasMore: false, total: 200)
        #expect(bench.lines()[0] == "Inbox   0 of 200 unread   with “Hang”")
        #expect(bench.lines()[1] == "Nothing has this text; Esc shows all.")
    }

    @Test func withMoreThanTheLimitItSaysThatTheRestIsNotListed() {
        let bench = Bench()
        bench.screen.list = list(page(301...500), hasMore: true, total: 2100)
        #expect(bench.lines()[0] == "Inbox   2100 unread, the newest 2000 are listed")
        bench.take(.end)
        bench.screen.list.take(page(101...2100), hasMore: true, total: 2100)
        for key in "/210" { bench.take(.character(key)) }
        #expect(bench.lines()[0] == "Inbox   3 of the newest 2000, 2100 unread")
        bench.take(.character("x"))
        #expect(bench.lines()[1] == "None of the newest 2000 has this text; Esc shows all.")
        #expect(bench.lines()[2] == "and 100 older; name a topic to see them")
    }

    @Test func aFilterFindsTopicsTextsAndApplications() {
        var list = list([entry(3, "/a", "Tea"), entry(2, "/b", "Coffee", "with TEA"), entry(1, "/tea")])
        list.filter = "tea"
        #expect(list.groups.map(\.topic) == ["/a", "/b", "/tea"])
        list.filter = "coffee"
        #expect(list.selection == 2)
        list.filter = "nothing"
        #expect(list.selection == nil)
    }

    // MARK: Keys

    @Test func keysSelectAndAsk() {
        let button = BannerOptions.Button(key: "yes", label: "Yes")
        let bench = bench(entry(3), entry(2, buttons: [button]), entry(1, "/other"))
        #expect(bench.take(.character("r")) == .read(3))
        #expect(bench.take(.character("R")) == .readTopic("/post/27", upTo: 3))
        bench.take(.character("1"))
        bench.take(.down)
        #expect(bench.take(.character("1")) == .press(button, 2))
        #expect(bench.take(.character("b")) == .press(button, 2))
        bench.take(.character("2"))
        #expect(bench.lines().last == "Its button is 1.")
        bench.take(.end)
        #expect(bench.take(.character("m")) == .mute(entry(1, "/other")))
        #expect(bench.take(.character("c")) == .claim(1))
        #expect(bench.take(.character("w")) == .explain(1))
        #expect(bench.take(.character("q")) == .quit)
        let empty = self.bench()
        for key in "rRmcwb1" { #expect(empty.take(.character(key)) == nil) }
        for key: Key in [.up, .down, .pageUp, .pageDown, .home, .end, .enter] { #expect(empty.take(key) == nil) }
    }

    @Test func aFilterIsTypedAndLettersInItAreNoCommands() {
        let bench = bench(entry(2, "/a", "Quince"), entry(1, "/b", "Rhubarb"))
        for key in "/qui" { bench.take(.character(key)) }
        #expect(bench.lines().last == "/qui_")
        bench.take(.backspace)
        bench.take(.enter)
        #expect(bench.lines().first == "Inbox   1 of 2 unread   with “qu”")
        #expect(bench.take(.character("r")) == .read(2))
        bench.take(.escape)
        #expect(bench.screen.list.groups.count == 2)
    }

    @Test func onlyWhatConcernsTheInboxIsQuietThere() {
        let bench = bench(entry(1, "/live/1"))
        bench.screen.topic = "/live"
        bench.screen.quiet = [Quiet(topic: "/alarm/x", cause: .muted), Quiet(topic: "/", cause: .paused)]
        #expect(bench.lines()[0] == "Inbox   1 unread   banners paused")
        #expect(bench.lines()[1] == "/live/1")
        bench.screen.quiet = ["/live/2", "/live"].map { Quiet(topic: $0, cause: .muted) }
        #expect(bench.lines()[1] == "muted: /live/2, /live")
        #expect(bench.lines().last?.contains("m mute") == true)
        bench.screen.quiet = [Quiet(topic: "/live/1", cause: .muted)]
        #expect(bench.lines().last?.contains("m unmute") == true)
    }

    // MARK: Pictures

    @Test func aPictureHasTopicsTimesTextsAndButtons() {
        let bench = bench(
            entry(
                3, "/run/r1", "Mina invites you", "to a run\nby the river", buttons: [.init(key: "a", label: "Join")]),
            entry(2), entry(1))
        bench.take(.enter)
        bench.screen.quiet = [Quiet(topic: "/", cause: .paused), Quiet(topic: "/post", cause: .muted)]
        let picture = bench.lines(height: 12)
        #expect(picture.count == 12)
        #expect(
            Array(picture.prefix(7)) == [
                "Inbox   3 unread   banners paused", "muted: /post", "/run/r1",
                "> 2 min  Mina invites you – to a run by the river  [1]", "    Mina invites you", "    to a run",
                "    by the river",
            ])
        #expect(picture[7] == "    1 Join")
        #expect(picture[8].hasPrefix("    3  "))
        #expect(picture[9] == "/post/27  2")
    }

    @Test(arguments: [(40, 8), (20, 3), (1, 1), (80, 24)])
    func everyLineFitsTheTerminalWhateverAPushSays(_ width: Int, _ height: Int) {
        let bench = bench(
            entry(
                2, "/run/r1/mate/영희", "영희가 5 km를 뛰었다 👩‍👩‍👧",
                "\u{1b}[31mred\u{1b}[0m\u{202e}\u{7}" + String(repeating: "축하", count: 60)),
            entry(1, "/b", String(repeating: "x", count: 300)))
        for key: Key in [.enter, .down, .enter] { bench.take(key) }
        for mode: [Key] in [[], [.character("?")], [.character("q"), .character("/"), .character("영")]] {
            for key in mode { _ = bench.take(key) }
            let picture = bench.lines(width: width, height: height)
            #expect(picture.count == height)
            #expect(picture.allSatisfy { $0.columns <= max(2, width) })
            #expect(!picture.joined().unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x202e })
        }
    }

    @Test func theSelectedEventIsAlwaysVisible() {
        let bench = Bench()
        bench.screen.list = list((1...60).reversed().map { entry($0, "/post/\($0 % 7)") })
        for key: Key in Array(repeating: .down, count: 59) + Array(repeating: .up, count: 59) + [.end, .pageUp, .home] {
            _ = bench.take(key)
            #expect(bench.lines(height: 7).count { $0.hasPrefix("> ") } == 1)
        }
        #expect(bench.lines(height: 7)[1] == "/post/4  9")
    }

    @Test func itSaysWhatIsMissing() {
        let bench = Bench()
        #expect(bench.lines()[1] == "asking notifyd")
        bench.screen.daemon = .absent
        #expect(bench.lines()[1] == "notifyd is not running; waiting for it")
        bench.screen.daemon = .running
        bench.screen.list = list([])
        #expect(bench.lines()[1] == "Nothing unread.")
        bench.screen.list = list([entry(2)], hasMore: true, total: 12)
        #expect(bench.lines()[3] == "and 11 older; notifyd is asked for them")
    }

    @Test func timesAreShort() {
        let noon: Int64 = 1_795_348_800_000_000
        #expect(Timestamp(noon).age(seenAt: noon) == "now")
        #expect(Timestamp(noon).age(seenAt: noon + 120_000_000) == "2 min")
        #expect(Timestamp(noon).age(seenAt: noon + 7_200_000_000).count == 5)
        #expect(Timestamp(noon).age(seenAt: noon + 86_400_000_000).hasPrefix("yesterday "))
    }
}
