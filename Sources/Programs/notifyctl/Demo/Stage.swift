import ChildProcesses
import NotifyClient
import NotifyRehearsal

/// Everything the story needs: a private bus with a real daemon and a stand-in for the desktop's notification server,
/// a publisher and a screen, each with its own connection.
struct Stage {
    struct Heard<Content: Sendable>: Sendable {
        let content: Content
        let time: ContinuousClock.Instant
    }

    let server: NotificationServer
    let daemon: DaemonProcess
    let publisher: NotifyClient
    let screen: NotifyClient
    private let outcomes: Mailbox<Heard<Outcome>>

    init(_ bus: PrivateBus, daemon program: String) async throws {
        server = try await NotificationServer.start(on: bus)
        daemon = try await DaemonProcess.start(program, on: bus)
        publisher = try await NotifyClient(address: bus.address)
        screen = try await NotifyClient(address: bus.address)
        outcomes = Stage.timed(try await publisher.outcomes(at: "/"))
    }

    func end() async {
        await publisher.close()
        await screen.close()
        await daemon.stop()
        server.stop()
    }

    /// The events of a topic that the screen receives from now on.
    func shows(_ topic: String) async throws -> Mailbox<Heard<Event>> {
        Stage.timed(try await screen.events(at: topic))
    }

    func outcome(_ kinds: Outcome.Kind..., of id: EventID) async throws -> Heard<Outcome> {
        try await Stage.expect("the outcome of event \(id)") {
            await outcomes.next(within: $0) { $0.content.id == id && kinds.contains($0.content.kind) }
        }
    }

    func banner(since start: ContinuousClock.Instant) async throws -> NotificationServer.Banner {
        try await Stage.expect("a banner") { await server.banners.next(within: $0) { $0.arrival >= start } }
    }

    func takenDown(_ banner: UInt32) async throws -> NotificationServer.Close {
        try await Stage.expect("the banner to be taken down") {
            await server.closes.next(within: $0) { $0.id == banner }
        }
    }

    static func expect<Thing>(_ what: String, _ wait: (Duration) async -> Thing?) async throws -> Thing {
        let limit = Duration.seconds(10)
        guard let thing = await wait(limit) else {
            throw RehearsalError("The demo waited \(limit.shortText) for \(what), in vain.")
        }
        return thing
    }

    static func timed<Content>(_ source: Subscription<Content>) -> Mailbox<Heard<Content>> {
        let box = Mailbox<Heard<Content>>()
        Task { for try await content in source { box.put(Heard(content: content, time: .now)) } }
        return box
    }
}
