import Synchronization

@testable import NotifyClient

/// As much of a daemon as the client's tests need: it answers `Publish`, `Send` and `Claim`, and announces what the
/// test wants announced.
final class StandInRouter: Sendable {
    let connection: Connection
    private let lastID = Atomic<UInt64>(0)

    static func start(on address: String) async throws -> StandInRouter {
        let router = StandInRouter(connection: try await Connection.open(address))
        router.connection.export(Router.interface) { [weak router] in router?.handle($0) }
        router.connection.export("org.freedesktop.DBus.Properties") { [weak router] in router?.handle($0) }
        try await router.connection.requestName(Router.name)
        return router
    }

    init(connection: Connection) { self.connection = connection }

    deinit { connection.close() }

    func announce(_ topic: String, id: UInt64, title: String = "", to destination: String? = nil) {
        connection.send(
            .signal(
                "Event", of: Router.interface, at: Router.path, to: destination,
                [.string(topic), .uint64(id), .string(title), "", .variants([:]), .variants(["window": .uint32(100)])]))
    }

    private func handle(_ call: IncomingCall) {
        let arguments = call.message.arguments
        switch call.message.member {
        case "Send", "Publish":
            let id = lastID.add(1, ordering: .relaxed).newValue
            if arguments[0] == "/refused" {
                call.fail("org.notifyd.Router1.Error.InvalidTopic", "Not this one.")
                return
            }
            call.reply([.uint64(id)])
            let fields = arguments.count > 3 ? arguments[3] : .variants([:])
            connection.send(
                .signal(
                    "Event", of: Router.interface, at: Router.path,
                    [
                        arguments[0], .uint64(id), arguments[1], arguments[2], fields,
                        .variants(["window": .uint32(100)]),
                    ]))
        case "Claim":
            if arguments == [.uint64(666)] { return }
            call.reply(["suppressed"])
            connection.send(
                .signal(
                    "Resolved", of: Router.interface, at: Router.path,
                    [
                        "/post/27", arguments[0], "claimed",
                        .variants(["by": .string(call.message.sender ?? ""), "latency": .uint64(1500)]),
                    ]))
        case "GetAll":
            call.reply([
                .variants([
                    "Version": "1.0", "DefaultWindowMilliseconds": .uint32(100), "Pending": .uint32(3),
                    "Statistics": .dictionary(["accepted": .uint64(7)], keys: .string, values: .uint64),
                ])
            ])
        case "Get":
            call.reply([.variant(.dictionary(["accepted": .uint64(7)], keys: .string, values: .uint64))])
        default:
            call.fail("org.freedesktop.DBus.Error.UnknownMethod", "There is no such method.")
        }
    }
}
