import Routing
import ScreenHolding
import Testing

struct LockerProgramTests {
    private func status(_ state: String, user: Int) -> String {
        "Name:\tswaylock\nState:\t\(state)\nPid:\t42\nUid:\t\(user)\t0\t0\t0\n"
    }

    @Test func aLockerIsKnownByItsName() {
        #expect(LockerProgram.name("swaylock\n") == "swaylock")
        #expect(LockerProgram.name("sway\n") == nil)
        #expect(LockerProgram.name("swaylock-plugin\n") == nil)
        // The kernel keeps 15 bytes.
        #expect(LockerProgram.name("xscreensaver-gf\n") == "xscreensaver-gfx")
        #expect(LockerProgram.name("xscreensaver\n") == nil)
    }

    @Test func itLocksForTheUserWhoHasStartedIt() {
        #expect(LockerProgram.isRunning(status("S (sleeping)", user: 1000), for: 1000))
        #expect(!LockerProgram.isRunning(status("S (sleeping)", user: 1001), for: 1000))
        #expect(LockerProgram.isRunning(status("S (sleeping)", user: 0), for: 1000))
        #expect(!LockerProgram.isRunning(status("Z (zombie)", user: 1000), for: 1000))
        #expect(!LockerProgram.isRunning("", for: 1000))
    }

    @Test func inDoubtItLocksThisSession() {
        let folder = "/run/user/1000"
        #expect(LockerProgram.isHere(nil, runtimeFolder: folder))
        #expect(LockerProgram.isHere("HOME=/home/mina\0", runtimeFolder: folder))
        #expect(LockerProgram.isHere("HOME=/home/mina\0XDG_RUNTIME_DIR=/run/user/1000\0", runtimeFolder: folder))
        #expect(!LockerProgram.isHere("XDG_RUNTIME_DIR=/tmp/test\0", runtimeFolder: folder))
    }

    @Test func behindALockerEveryScreenIsHidden() throws {
        var wanted = WantedScreens()
        wanted.insert(try Topic("/post/27"), .focused)
        wanted.insert(try Topic("/chat"), .visible)
        #expect(wanted.hidden.screens.map(\.state) == [.hidden, .hidden])
        #expect(wanted.hidden.screens.map(\.topic) == wanted.screens.map(\.topic))
    }
}
