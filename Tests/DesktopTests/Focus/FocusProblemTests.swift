import Routing
import ScreenHolding
import Testing

@testable import notifyd_focus

/// What notifyd-focus answers to `Diagnose`.
struct FocusProblemTests {
    private static let following = WindowFollower.Status(source: "sway", isFollowing: true)

    @Test func withoutADisplayItSaysWhatTheDesktopHasToRun() {
        func problems(knowsDisplay: Bool) -> [FocusProblem] {
            let status = WindowFollower.Status(detail: "there is no desktop here")
            return FocusProblem.all(status, knowsDisplay: knowsDisplay, rules: 1, held: [:])
        }
        #expect(problems(knowsDisplay: true).map(\.state) == ["no windows are followed: there is no desktop here"])
        #expect(problems(knowsDisplay: true).first?.advice.contains("notifyd-focus(8)") == true)
        #expect(
            problems(knowsDisplay: false).first?.advice.hasPrefix("The service manager knows of no display.") == true)
    }

    @Test func withoutARuleItSaysHowToMakeOne() {
        let problems = FocusProblem.all(Self.following, knowsDisplay: true, rules: 0, held: [:])
        #expect(problems.first?.advice.contains("notifyctl focus --learn") == true)
        #expect(FocusProblem.all(Self.following, knowsDisplay: true, rules: 1, held: [:]).isEmpty)
    }

    @Test func aScreenThatIsNotOpenIsToldWithWhatHelps() throws {
        let topic = try Topic("/post/27")
        func problem(_ screen: HeldScreen) -> FocusProblem? {
            FocusProblem.all(Self.following, knowsDisplay: true, rules: 1, held: [topic: screen]).first
        }
        let denied = problem(.refused(reason: "you may not claim it", error: "org.notifyd.Router1.Error.AccessDenied"))
        #expect(denied?.state == "the screen of /post/27 is not open: you may not claim it")
        #expect(denied?.advice.contains("[[policy]]") == true)
        let other = problem(.refused(reason: "too many", error: "org.notifyd.Router1.Error.LimitExceeded"))
        #expect(other?.advice.contains("restart notifyd-focus") == true)
        // notifyd tells that itself.
        #expect(problem(.refused(reason: "bad", error: "org.freedesktop.DBus.Error.InvalidFileContent")) == nil)
        #expect(problem(.waiting) == nil)
    }
}
