import Logging
import Routing
import Systemd
import Testing

@testable import NotifyDaemon

/// A notification server that never says what it can do.
private final class SilentLink: NotificationLink {
    var starts = 0
    let bus = "bus"
    var closes: [(banner: BannerID, server: String)] = []

    func start(_ answer: @escaping (BusFailure?) -> Void) {
        starts += 1
        answer(BusFailure(name: "org.freedesktop.DBus.Error.ServiceUnknown", text: "not there"))
    }

    func askForCapabilities(
        of server: String, within time: Duration, _ answer: @escaping (Result<Set<String>, BusFailure>) -> Void
    ) {}

    func notify(
        _ server: String, _ request: BannerRequest, _ text: BannerText, hasButtons: Bool, within time: Duration,
        _ answer: @escaping (Result<BannerID?, BusFailure>) -> Void
    ) {}

    func watchOldBanners(of server: String, _ answer: @escaping (String?) -> Void) { answer(":1.8") }

    func close(_ banner: BannerID, at server: String) { closes.append((banner, server)) }
}

/// Who the server is is known before what it can do, and claims of what it shows do not wait for that.
struct NotificationServerTests {
    private let link = SilentLink()
    private let server: NotificationServer

    init() {
        server = NotificationServer(
            link: link, clock: { Instant(microseconds: 0) },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    @Test func aServerThatIsStillBeingAskedIsToldToCloseItsBanner() {
        server.ownerIs(":1.7")
        #expect(server.owner == nil)
        #expect(server.holder == ":1.7")
        server.close(BannerID(4))
        #expect(link.closes.map(\.banner) == [BannerID(4)])
        #expect(link.closes.map(\.server) == [":1.7"])
    }

    @Test func noServerIsStartedWhereThereIsOne() {
        server.ownerIs(":1.7")
        server.start()
        #expect(link.starts == 0)
        server.ownerChanged(to: "")
        server.start()
        #expect(link.starts == 1)
        #expect(server.startFailures == 1)
    }

    @Test func itIsBelievedToo() {
        var inputs: [Input] = []
        server.onInput = { inputs.append($0) }
        server.ownerIs(":1.7")
        server.closed(BannerID(4), reason: 2, says: ":1.8")
        #expect(inputs.isEmpty)
        server.closed(BannerID(4), reason: 2, says: ":1.7")
        guard case .bannerClosed(BannerID(4), .dismissed)? = inputs.first else {
            Issue.record("A closed banner was expected, not \(inputs)")
            return
        }
    }

    @Test func theShellIsBelievedAboutBannersOfAnEarlierRunAndNoOthers() {
        var inputs: [Input] = []
        server.onInput = { inputs.append($0) }
        server.ownerIs(":1.7")
        server.inherit([BannerID(4)])
        server.closed(BannerID(5), reason: 2, says: ":1.8")
        server.actionInvoked(BannerID(5), "default", says: ":1.8")
        server.closed(BannerID(4), reason: 2, says: ":1.9")
        #expect(inputs.isEmpty)
        server.actionInvoked(BannerID(4), "default", says: ":1.8")
        server.closed(BannerID(4), reason: 2, says: ":1.8")
        #expect(inputs.count == 2)
        server.closed(BannerID(4), reason: 2, says: ":1.8")
        #expect(inputs.count == 2)
    }

    @Test func whatItShowedIsVoidWhenItLeavesBeforeItAnswers() {
        var inputs: [Input] = []
        server.onInput = { inputs.append($0) }
        server.ownerIs(":1.7")
        server.ownerChanged(to: "")
        #expect(server.holder == nil)
        guard case .serverVanished? = inputs.first else {
            Issue.record("The server's departure was expected, not \(inputs)")
            return
        }
        server.close(BannerID(4))
        #expect(link.closes.isEmpty)
    }
}
