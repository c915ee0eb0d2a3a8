import NIOCore
import NIOPosix
public import NotifyBridge
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

    public init(_ settings: NtfySettings, _ services: BridgeServices) {
        self.settings = settings
        self.services = services
    }

    public func run() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var clients: [ServerClient] = []
        do {
            for server in settings.servers { clients.append(try ServerClient(server, on: group)) }
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
        let wantsPictures = settings.servers.contains { $0.inbound.contains(where: \.hasImages) }
        let pictures = wantsPictures ? Pictures(on: group, logger: services.logger) : nil
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await buttons.run() }
            for client in clients {
                let server = client.settings
                let outlet = server.tells ? Outlet(client, services, board) : nil
                if let outlet {
                    board.add(server.address.name, .outbound)
                    tasks.addTask { try await outlet.run() }
                }
                guard !server.topics.isEmpty else { continue }
                board.add(server.address.name, .inbound)
                let intake = Intake(server, services, pictures: pictures) { await outlet?.ended($0) }
                let subscription = Subscription(client: client, intake: intake, board: board, logger: services.logger)
                tasks.addTask {
                    defer { Task { await intake.stop() } }
                    try await subscription.run()
                }
            }
            try await tasks.waitForAll()
        }
    }
}

extension NtfySettings.Server {
    /// Whether something is said to this server.
    fileprivate var tells: Bool { !outbound.isEmpty || inbound.contains(where: \.clears) }
}
