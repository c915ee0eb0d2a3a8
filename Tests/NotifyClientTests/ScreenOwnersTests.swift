import Testing

@testable import notifyctl

/// What a control group says about the unit of a program.
struct ScreenOwnersTests {
    @Test(
        arguments: [
            ("0::/user.slice/user-1.slice/user@1.service/app.slice/app-firefox-1234.scope\n", "app-firefox-1234.scope"),
            ("0::/user.slice/user-1.slice/user@1.service/app.slice/app-x.slice/feed.service/child\n", "feed.service"),
            ("12:cpu:/\n1:name=systemd:/user.slice/user-1.slice/user@1.service/feed.service\n", "feed.service"),
            ("0::/user.slice/user-1000.slice/user@1000.service/_cpu.service\n", "cpu.service"),
            ("0::/user.slice/user-1000.slice/session-2.scope\n", nil), ("0::/\n", nil), ("", nil),
        ] as [(String, String?)])
    func theUnitComesAfterTheManager(_ text: String, _ unit: String?) {
        #expect(ScreenOwners.userUnit(inControlGroup: text) == unit)
    }
}
