import Logging
import NIOCore
import NIOPosix
public import NotifyBridge
import NotifyClient
import NtfyMessages
public import NtfySettings
public import TOMLTables

/// The bridge to servers of ntfy: `notifyd-ntfy`.
public struct NtfyBridge: Bridge {
    public static let name = "ntfy"
    public static let abstract =
        "Takes in what is published on servers of ntfy, and tells the phone what nobody has seen."

    private let settings: NtfySettings
    private let services: BridgeServices

    public static func settings(from table: inout TableReader) -> NtfySettings? { .read(from: &table) }

    public static func mistakes(in settings: NtfySettings, isRunning: Bool) -> [String] {
        settings.mistakes(isRunning: isRunning)
    }

    public static func warnings(in settings: NtfySettings) -> [String] { settings.warnings }

    public init(_ settings: NtfySettings, _ services: BridgeServices) {
        self.settings = settings
        self.services = services
    }

    public func run() async throws {
        for warning in settings.warnings {
            services.logger.warning("The configuration may not be what is meant", metadata: ["error": "\(warning)"])
        }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var clients: [ServerClient] = []
        do {
            for server in settings.servers { clients.append(try ServerClient(server, on: group, services.loop)) }
        } catch {
            throw BridgeFailure(78, "the certificates in 'authorities' cannot be read")
        }
        var failure: (any Error)?
        do { try await work(clients, on: group) } catch { failure = error }
        for client in clients { await client.shutdown() }
        try? await group.shutdownGracefully()
        if let failure, !(failure is CancellationError) { throw failure }
    }

    private func work(_ clients: [ServerClient], on group: any EventLoopGroup) async throws {
        let board = StatusBoard(services.status)
        let buttons = Buttons(settings.servers, services, on: group)
        let pictures = makePictures(on: group)
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await buttons.run() }
            var outlets: [Outlet] = []
            for client in clients {
                let server = client.settings
                let outlet = server.tells ? Outlet(client, services, board) : nil
                if let outlet {
                    if !server.outbound.isEmpty { outlets.append(outlet) }
                    board.add(server.address.name, .outbound)
                    tasks.addTask { try await outlet.run() }
                }
                guard !server.topics.isEmpty else { continue }
                board.add(server.address.name, .inbound)
                let intake = Intake(server, services, pictures: pictures) { await outlet?.ended($0) }
                let subscription = Subscription(
                    client: client, intake: intake, access: TopicAccess(client, services.status), board: board,
                    loop: services.loop, logger: services.logger)
                tasks.addTask {
                    try await withTaskCancellationHandler {
                        try await subscription.run()
                    } onCancel: {
                        services.loop.task { await intake.stop() }
                    }
                }
            }
            services.export(Self.interface(of: outlets))
            // The first error ends the others, too; `waitForAll` would wait for them.
            while try await tasks.next() != nil {}
        }
    }

    /// For `notifyctl why`. systemd/org.notifyd.Ntfy1.xml is its contract.
    private static func interface(of outlets: [Outlet]) -> BridgeInterface {
        let told = BridgeMethod("Told", in: [("source", "s"), ("event-id", "s")], out: [("told", "a(ssx)")]) {
            arguments in
            var told: [BusValue] = []
            for outlet in outlets {
                told += await outlet.told(
                    source: arguments[0].string ?? "", eventID: arguments[1].string ?? "")
            }
            return [.array(told, of: .structure([.string, .string, .int64]))]
        }
        return BridgeInterface("org.notifyd.Ntfy1", outlets.isEmpty ? [] : [told])
    }

    /// - Returns: `nil` if no map wants pictures, or they cannot be kept, which is a problem of the bridge then.
    private func makePictures(on group: any EventLoopGroup) -> Pictures? {
        var problem: BridgeStatus.Problem?
        defer { services.status.setProblem("pictures", problem) }
        guard settings.servers.contains(where: { $0.inbound.contains(where: \.hasImages) }) else { return nil }
        do throws(PictureFolder.Failure) {
            return try Pictures(on: group, services.loop, logger: services.logger)
        } catch {
            services.logger.warning("Banners have no pictures", metadata: ["error": "\(error)"])
            problem = BridgeStatus.Problem(
                "banners have no pictures: \(error)",
                "Make that folder one that only you can write to, and restart notifyd-ntfy; its unit makes it by RuntimeDirectory=."
            )
            return nil
        }
    }
}

extension NtfySettings.Server {
    /// Whether something is said to this server.
    fileprivate var tells: Bool { !outbound.isEmpty || inbound.contains(where: \.clears) }
}
