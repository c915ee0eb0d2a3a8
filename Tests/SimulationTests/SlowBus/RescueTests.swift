import Logging
import Routing
import Testing

@testable import NotifyDaemon

/// The user is away, and the session is not idle yet: a screen claims what nobody sees.
struct RescueTests {
    private let bus: SlowBus
    private let post = try! Topic("/post/27")
    private let chat = try! Topic("/chat/1")

    init() {
        var table = RouteTable(fallback: Route(pattern: nil, window: .milliseconds(100)))
        table.add(Route(pattern: try! TopicPattern("/post/{id}"), window: .milliseconds(100), rescues: true))
        let configuration = Configuration(
            routes: table, banners: BannerSettings(), screens: ScreenSettings(idleAfter: .seconds(300)),
            policy: Policy(), schedules: [], recoveryWindow: .zero, history: Retention(), logLevel: .critical, files: []
        )
        bus = SlowBus(configuration: configuration)
        for topic in [post, chat] {
            bus.daemon.handle(.screenOpened(TopicPrefix(topic), ScreenOptions(), by: ":1.3"))
        }
        bus.endTurn()
        bus.pass(.seconds(1000))
    }

    private func publish(_ topic: Topic) {
        bus.publish(topic, window: .milliseconds(100))
        bus.endTurn()
    }

    private func sessionIsIdle() {
        bus.daemon.sessionChanged(.unwatched(idleSince: bus.machine.wall))
        bus.endTurn()
    }

    private func userIsBack() {
        bus.pass(.seconds(3600))
        bus.daemon.sessionChanged(.watched)
        bus.endTurn()
    }

    private var rescues: [String] {
        bus.sent.compactMap { message in
            if case .event(let title, _) = message, title.hasSuffix("while you were away") { title } else { nil }
        }
    }

    @Test func oneBannerTellsOfAllThatScreensClaimed() {
        for _ in 1...3 { publish(post) }
        publish(chat)
        sessionIsIdle()
        #expect(rescues == [])
        userIsBack()
        #expect(rescues == ["3 events while you were away"])
        sessionIsIdle()
        userIsBack()
        #expect(rescues.count == 1)
    }

    @Test func whatTheUserSawIsNotTold() {
        publish(post)
        bus.pass(.seconds(301))
        sessionIsIdle()
        userIsBack()
        #expect(rescues == [])
    }

    @Test func whoLocksTheSessionWasThereUntilThen() {
        publish(post)
        bus.daemon.sessionChanged(.unwatched(idleSince: nil))
        userIsBack()
        #expect(rescues == [])
    }

    @Test func whatAProgramClaimedTooWasDealtWith() {
        publish(post)
        bus.claim(bus.accepted[0])
        bus.endTurn()
        sessionIsIdle()
        userIsBack()
        #expect(rescues == [])
    }

    @Test func aDiskThatCannotBeWrittenDelaysIt() {
        publish(post)
        sessionIsIdle()
        bus.disk.condition = .readOnly
        userIsBack()
        #expect(rescues == [])
        bus.disk.condition = .well
        bus.daemon.jobs.retry.retry(bus.daemon)
        bus.endTurn()
        #expect(rescues == ["1 event while you were away"])
    }
}
