import NotifyText
import Routing
import Testing

@testable import NotifyDaemon

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
        for number in 0..<UInt64(2 * UnnamedClaims.limit) { claims.note(EventID(number), by: ":1.\(number % 2)") }
        let first = claims.take(":1.0")
        #expect(first.count + claims.take(":1.1").count == UnnamedClaims.limit)
        #expect(claims.take(":1.0").isEmpty)
        claims.note(EventID(1), by: ":1.0")
        claims.note(EventID(1), by: ":1.0")
        #expect(claims.take(":1.0") == [EventID(1)])
    }
}
