import NotifyText
import Routing
import Systemd
import Testing

@testable import NotifyDaemon

struct CallerTests {
    @Test func aProcessThatWasSeenHasAUnitOrNone() {
        let credentials = Credentials(user: 1000, process: 7)
        let seen = Caller(credentials, ProcessIdentity(startTime: 1, userUnit: "feed.service"), owner: 1000)
        #expect(seen.unit == .found("feed.service"))
        #expect(seen.app == .absent)
        #expect(seen.user == .found(1000))
        #expect(Caller(credentials, ProcessIdentity(startTime: 1, userUnit: nil), owner: 1000).unit == .absent)
    }

    @Test func aProcessThatWasNotSeenIsNotTakenForOneWithoutAUnit() {
        let caller = Caller(Credentials(user: 1000, process: 7), nil, owner: 1000)
        #expect(caller.unit == .unknown)
        #expect(caller.app == .unknown)
        #expect(caller.user == .found(1000))
    }

    @Test func unitsOfOtherUsersDoNotCount() {
        let process = ProcessIdentity(startTime: 1, userUnit: "feed.service")
        #expect(Caller(Credentials(user: 0, process: 7), process, owner: 1000).unit == .absent)
        #expect(Caller(Credentials(process: 7), process, owner: 1000).unit == .unknown)
    }

    @Test(arguments: [
        ("app-flatpak-org.example.Feed-4711.scope", "org.example.Feed"),
        ("app-flatpak-org.example.my\\x2dfeed-4711.scope", "org.example.my-feed"),
        ("app-flatpak-org.example.Feed.scope", nil), ("app-flatpak--4711.scope", nil),
        ("app-flatpak-org.example.Feed-4711.service", nil), ("app-gnome-org.example.Feed-4711.scope", nil),
        ("app-flatpak-org.example.my-feed-4711.scope", nil), ("app-flatpak-org\\x2-1.scope", nil),
        ("app-flatpak-org\\xff-1.scope", nil), ("feed.service", nil),
    ])
    func aFlatpakAppIsKnownByItsScope(unit: String, app: String?) {
        #expect(Caller.flatpakApp(inUnit: unit) == app)
    }

    @Test func aLabelIsWithoutTheEndOfItsTextAndWithoutItsMode() {
        #expect(Credentials.label(Array("snap.feed.feed (enforce)\0".utf8)) == "snap.feed.feed")
        #expect(Credentials.label(Array("unconfined\0".utf8)) == "unconfined")
        #expect(Credentials.label(Array("\0".utf8)) == nil)
        #expect(Credentials.label([0xFF, 0]) == nil)
    }
}

struct ProgramNameTests {
    @Test(arguments: [
        ("app-gnome-firefox-1234.scope", "firefox"), ("app-firefox-1234.scope", "firefox"),
        ("app-firefox.scope", "firefox"), ("app-flatpak-org.example.Feed-4711.scope", "org.example.Feed"),
        ("app-gnome-org.example.my\\x2dfeed-4711.scope", "org.example.my-feed"),
        ("app-org.kde.dolphin@1f2e3d.service", "org.kde.dolphin"),
        ("app-gnome-org.example.Feed@autostart.service", "org.example.Feed"),
        ("app-gnome-firefox-1234.service", "firefox"), ("app-gnome-firefox.service", "firefox"),
        ("snap.firefox.firefox-550e8400-e29b-41d4-a716-446655440000.scope", "firefox"),
        ("dbus-:1.2-org.example.Feed@0.service", "org.example.Feed"), ("feed.service", "feed.service"),
    ])
    func aUnitSaysWhichProgramItIs(unit: String, program: String) {
        #expect(ProgramName.make(unit: unit, command: "python3") == program)
    }

    @Test(arguments: [
        "session-2.scope", "vte-spawn-550e8400.scope", "init.scope", "run-u17.service", "run-r17.scope", "dbus.service",
        "dbus-broker.service", "app-.scope", "app-gnome--1.scope", "app-\\xff-1.scope", "app.slice", "", ".",
    ])
    func aUnitThatSaysNothingLeavesTheNameOfTheCommand(unit: String) {
        #expect(ProgramName.make(unit: unit, command: "busctl") == "busctl")
        #expect(ProgramName.make(unit: unit, command: nil) == nil)
    }

    @Test func aProcessWithoutAUnitHasTheNameOfItsCommand() {
        #expect(ProgramName.make(unit: nil, command: "notifyctl") == "notifyctl")
        #expect(ProgramName.make(unit: nil, command: nil) == nil)
    }

    @Test func aNameIsShortAndNothingThatATerminalActsOn() {
        #expect(ProgramName.make(unit: nil, command: "a\u{1b}[31m\u{202e}b\n\0c\u{ffff}") == "a[31mbc")
        #expect(ProgramName.make(unit: nil, command: "\u{1b}\n \t") == nil)
        let long = ProgramName.make(unit: String(repeating: "é", count: 100) + ".service", command: nil)
        #expect(long == String(repeating: "é", count: 32))
        #expect(ProgramName.make(unit: nil, command: "a" + String(repeating: "é", count: 100))?.utf8.count == 63)
    }

    @Test func claimsThatWaitForANameAreLimitedInAll() {
        var claims = UnnamedClaims()
        for number in 0..<UInt64(2 * UnnamedClaims.limit) { claims.add(EventID(number), by: ":1.\(number % 2)") }
        let first = claims.removeAll(of: ":1.0")
        #expect(first.count + claims.removeAll(of: ":1.1").count == UnnamedClaims.limit)
        #expect(claims.removeAll(of: ":1.0").isEmpty)
        claims.add(EventID(1), by: ":1.0")
        claims.add(EventID(1), by: ":1.0")
        #expect(claims.removeAll(of: ":1.0") == [EventID(1)])
    }
}
