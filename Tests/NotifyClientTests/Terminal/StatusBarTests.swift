import NotifyText
import Testing

@testable import NotifyClient
@testable import notifyctl

/// The lines of `notifyctl inbox --follow`.
struct StatusBarTests {
    private func status(_ entries: InboxEntry..., unread: Int? = nil, quiet: Quiet? = nil) -> InboxStatus {
        InboxStatus(isRunning: true, unread: unread ?? entries.count, newest: entries, quiet: quiet)
    }

    private func entry(_ title: String, _ body: String = "", _ urgency: PublishOptions.Urgency? = nil) -> InboxEntry {
        InboxEntry(
            id: 7, topic: "/post/27", text: BannerText(title: title, body: body), published: 5, outcome: .shown,
            urgency: urgency)
    }

    private func line(_ bar: StatusBar, _ status: InboxStatus) -> String { bar.line(status, at: 0) }

    private let pause = Quiet(topic: "/", cause: .paused)

    @Test func waybarGetsAnObject() {
        #expect(
            line(.waybar, status(entry("Nice!", "first\nsecond", .critical), unread: 3))
                == #"{"text":"3","alt":"unread","tooltip":"3 unread\n<b>Nice!</b> first second\nand 2 more","#
                + #""class":["unread","critical"],"percentage":3}"#
        )
        #expect(
            line(.waybar, status(quiet: pause))
                == #"{"text":"0","alt":"quiet","tooltip":"0 unread\nquiet","class":["none","quiet"],"percentage":0}"#)
        #expect(
            line(.waybar, InboxStatus())
                == #"{"text":"","alt":"absent","tooltip":"notifyd is not running","#
                + #""class":["absent","trouble"],"percentage":0}"#
        )
        #expect(line(.waybar, status(unread: 4711)).hasSuffix(#""percentage":100}"#))
    }

    @Test func i3statusGetsAnObject() {
        #expect(
            line(.i3status, status(entry("Nice!")))
                == #"{"icon":"bell","state":"Info","text":"1 · Nice!","short_text":"1"}"#)
        #expect(
            line(.i3status, status(entry("Now", "", .critical), quiet: pause))
                == #"{"icon":"bell-slash","state":"Warning","text":"1 (quiet) · Now","short_text":"1"}"#)
        #expect(line(.i3status, status()) == #"{"icon":"bell","state":"Idle","text":"","short_text":""}"#)
        #expect(
            line(.i3status, InboxStatus()) == #"{"icon":"bell","state":"Idle","text":"(absent)","short_text":""}"#)
    }

    @Test(arguments: StatusBar.allCases) func everyBarTellsUntilWhenItIsQuiet(_ bar: StatusBar) {
        let end: Int64 = 7_200_000_000
        let told = bar == .json ? #""until":7200000000"# : "quiet until \(Timestamp(end).end(seenAt: 0))"
        let quiet = Quiet(topic: "/", until: end, cause: .paused)
        #expect(line(bar, status(quiet: quiet)).contains(told))
        #expect(line(bar, status(entry("Nice!"), quiet: quiet)).contains(told))
    }

    @Test func polybarGetsText() {
        #expect(line(.polybar, status(entry("Nice!"), unread: 3)) == "3 · Nice!")
        #expect(line(.polybar, status(entry("Nice!"), quiet: pause)) == "1 (quiet) · Nice!")
        #expect(line(.polybar, status()) == "")
        #expect(line(.polybar, InboxStatus()) == "(absent)")
    }

    @Test func aTitleThatBeginsWithANumberDoesNotRunIntoTheCount() {
        #expect(line(.polybar, status(entry("4 events"), unread: 6)) == "6 · 4 events")
    }

    @Test func everyBarTellsThatNotifydIsInTrouble() {
        var status = status(entry("Nice!"))
        status.degradation = "the disk is full & slow"
        let waybar = line(.waybar, status)
        #expect(waybar.contains(#""class":["unread","trouble"]"#))
        #expect(waybar.contains("notifyd accepts nothing, because the disk is full &amp; slow"))
        #expect(line(.json, status).hasSuffix(#""trouble":true}"#))
        #expect(line(.json, InboxStatus()).hasSuffix(#""trouble":true}"#))
        #expect(line(.i3status, status).contains(#""state":"Critical""#))
        #expect(line(.polybar, status) == "(in trouble) 1 · Nice!")
    }

    @Test func theReasonOfTroubleIsNotCut() {
        var status = status()
        status.degradation =
            "the journal in /" + String(repeating: "a", count: 100) + " cannot be written: the disk is full"
        #expect(line(.waybar, status).contains("the disk is full"))
    }

    @Test func textIsTextInEveryBar() {
        let evil = entry("<b>&%{F#f00}\u{1b}[31m\u{fffe}\"\\", "</span>\n<!--")
        #expect(line(.polybar, status(evil)) == #"1 · <b>&% {F#f00}\u{1b}[31m"# + "\u{fffe}\"\\")
        #expect(line(.i3status, status(evil)).contains(#""text":"1 · &lt;b&gt;&amp;%{F#f00}\\u{1b}[31m\"\\","#))
        #expect(
            line(.waybar, status(evil)).contains(
                #"<b>&lt;b&gt;&amp;%{F#f00}\\u{1b}[31m\"\\</b> &lt;/span&gt; &lt;!--""#))
        let long = line(.polybar, status(entry(String(repeating: "축", count: 200))))
        #expect(long.columns <= 64)
        #expect(long.hasSuffix("…"))
    }

    @Test func theQuietThatLastsLongestIsTold() {
        let short = Quiet(topic: "/", until: 5, cause: .paused)
        let long = Quiet(topic: "/post", until: 9, cause: .muted)
        let other = Quiet(topic: "/run", cause: .muted)
        #expect(InboxStatus.quiet([short, long, other], at: "/post/27") == long)
        #expect(InboxStatus.quiet([short, long, other], at: "/") == short)
        #expect(InboxStatus.quiet([long], at: "/") == nil)
        #expect(InboxStatus.quiet([short, other], at: "/run") == other)
        let line = line(.json, status(entry("Nice!"), quiet: short))
        #expect(line.hasPrefix(#"{"running":true,"unread":1,"newest":{"id":7,"#))
        #expect(line.hasSuffix(#"},"quiet":true,"until":5,"trouble":false}"#))
    }
}
