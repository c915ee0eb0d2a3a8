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
