import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

@testable import notifyctl

@Suite(.timeLimit(.minutes(1))) struct BannerTextsTests {
    private let bus: PrivateBus! = Fixture.current()

    @Test(.privateBus) func aDaemonWithoutRenderTellsNothing() async throws {
        let router = try await StandInRouter.start(on: bus.address)
        let client = try await NotifyClient(address: bus.address)
        let texts = BannerTexts(client)
        #expect(await texts.text(of: 1) == nil)
        let events = (1...40).map { RecordedEvent(event: Event(id: EventID(rawValue: $0), topic: "/post/27")) }
        #expect(await texts.texts(of: events).isEmpty)
        router.connection.close()
        #expect(await BannerTexts(client).text(of: 1) == nil)
    }
}
