import Logging
import Mapping
import NIOCore
import NIOPosix
public import NotifyBridge
import NotifyClient
import NotifyText
public import TOMLTables

/// The bridge to servers of ntfy: `notifyd-ntfy`.
@main
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
            var senders: [Sender] = []
            for client in clients {
                let server = client.settings
                let sender = server.tells ? Sender(client, services, board) : nil
                if let sender {
                    if !server.outbound.isEmpty { senders.append(sender) }
                    board.add(server.address.name, .outbound)
                    tasks.addTask { try await sender.run() }
                }
                guard !server.topics.isEmpty else { continue }
                board.add(server.address.name, .inbound)
                let receiver = Receiver(server, services, pictures: pictures) { await sender?.ended($0) }
                let subscription = Subscription(
                    client: client, receiver: receiver, access: TopicAccess(client, services.status), board: board,
                    loop: services.loop, logger: services.logger)
                tasks.addTask {
                    try await withTaskCancellationHandler {
                        try await subscription.run()
                    } onCancel: {
                        services.loop.task { await receiver.stop() }
                    }
                }
            }
            services.export(Self.interface(of: senders))
            // The first error ends the others, too; `waitForAll` would wait for them.
            while try await tasks.next() != nil {}
        }
    }

    /// For `notifyctl why`. systemd/org.notifyd.Ntfy1.xml is its contract.
    private static func interface(of senders: [Sender]) -> BridgeInterface {
        let told = BridgeMethod("Told", in: [("source", "s"), ("event-id", "s")], out: [("told", "a(ssx)")]) {
            arguments in
            var told: [Value] = []
            for sender in senders {
                told += await sender.told(
                    source: arguments[0].string ?? "", eventID: arguments[1].string ?? "")
            }
            return [.array(told, of: .structure([.string, .string, .int64]))]
        }
        return BridgeInterface("org.notifyd.Ntfy1", senders.isEmpty ? [] : [told])
    }

    /// - Returns: `nil` if no map wants pictures, or they cannot be kept, which is a problem of the bridge then.
    private func makePictures(on group: any EventLoopGroup) -> Pictures? {
        guard settings.servers.contains(where: { $0.inbound.contains(where: \.hasImages) }) else { return nil }
        do throws(PictureFolder.Failure) {
            return try Pictures(on: group, services.loop, logger: services.logger)
        } catch {
            services.logger.warning("Banners have no pictures", metadata: ["error": "\(error)"])
            services.status.setProblem(
                "pictures", "banners have no pictures: \(error)",
                "Make that folder one that only you can write to, and restart notifyd-ntfy; its unit makes it by "
                    + "RuntimeDirectory=.")
            return nil
        }
    }
}

extension NtfySettings.Server {
    /// Whether something is said to this server.
    fileprivate var tells: Bool { !outbound.isEmpty || inbound.contains(where: \.clears) }
}

/// How all servers are, as one state of the bridge: the worst one, with a sentence for each server.
final class StatusBoard: Sendable {
    /// What is done with a server.
    enum Direction {
        case inbound, outbound
    }

    private struct Entry {
        var name: String
        var direction: Direction
        var state: BridgeStatus.State
        var detail = ""
        var advice: String?
        var backlog = 0
    }

    private let status: BridgeStatus
    private let entries = Locked<[Entry]>([])

    init(_ status: BridgeStatus) { self.status = status }

    /// What goes out is tried when there is something, so that it begins as if it were connected.
    func add(_ name: String, _ direction: Direction) {
        entries.withLock { entries in
            let state: BridgeStatus.State = direction == .inbound ? .connecting : .connected
            entries.append(Entry(name: name, direction: direction, state: state))
        }
        updateStatus()
    }

    /// - Parameter advice: what to do about it; `nil` for the usual advice.
    func set(
        _ name: String, _ direction: Direction, _ state: BridgeStatus.State, _ detail: String = "",
        advice: String? = nil
    ) {
        change(name, direction) { entry in
            entry.state = state
            entry.detail = detail
            entry.advice = advice
        }
        updateStatus()
    }

    func set(_ name: String, _ direction: Direction, _ failure: ServerFailure) {
        set(
            name, direction, failure.needsSomebody ? .failed : .waiting, failure.description, advice: failure.advice)
        if failure.isRude { setRude(name, direction, failure.description) }
    }

    /// Tells that a server says what no server of ntfy says, also while it is tried again.
    ///
    /// - Parameter reason: `nil` if it does not any more.
    func setRude(_ name: String, _ direction: Direction, _ reason: String?) {
        status.setProblem(
            direction == .inbound ? "\(name) rude" : "\(name) rude to what is sent", reason.map { "\(name): \($0)" },
            "It is tried again by itself. If a login page of the network is in between, log in; else correct "
                + "'url' in ntfy.toml.")
    }

    /// How much waits to be sent there.
    func setBacklog(_ name: String, _ count: Int) {
        change(name, .outbound) { $0.backlog = count }
        status.setBacklog(UInt64(entries.withLock { $0.reduce(0) { $0 + $1.backlog } }))
    }

    private func change(_ name: String, _ direction: Direction, _ body: (inout Entry) -> Void) {
        entries.withLock { entries in
            guard let index = entries.firstIndex(where: { $0.name == name && $0.direction == direction }) else {
                return
            }
            body(&entries[index])
        }
    }

    private func updateStatus() {
        let (state, detail, advice) = entries.withLock { entries -> (BridgeStatus.State, String, String?) in
            // What is wrong comes first.
            let order: [BridgeStatus.State] = [.failed, .waiting, .connecting, .connected]
            let sorted = order.flatMap { state in entries.filter { $0.state == state } }
            var told: [String] = []
            for entry in sorted where !told.contains(where: { $0.hasPrefix(entry.name) }) {
                told.append(entry.detail.isEmpty ? entry.name : "\(entry.name): \(entry.detail)")
            }
            return (sorted.first?.state ?? .connected, told.joined(separator: "; "), sorted.first?.advice)
        }
        status.set(state, detail, advice: advice)
    }
}

extension ServerAddress {
    /// The line by which events and claims came.
    var via: String { "ntfy:\(name)".beginning(ofBytes: 64) }

    /// Where a claim was made, for people.
    var device: String { name.beginning(ofBytes: 64) }
}

extension NtfyEvent {
    /// What notifyd is asked for.
    ///
    /// - Parameters:
    ///   - name: the topic at the server.
    ///   - picture: the path of a file.
    func call(from server: ServerAddress, _ name: String, picture: String?) -> DaemonCall {
        let appearance = BannerOptions(
            // A button that does nothing leaves the banner where it is; otherwise the event is claimed.
            app: "ntfy", image: picture, isResident: buttons.isEmpty ? nil : true,
            buttons: buttons.map { BannerOptions.Button(key: $0.key, label: $0.label) })
        let options = PublishOptions(
            source: server.source(ofTopic: name), eventID: eventID, urgency: PublishOptions.Urgency(rawValue: urgency),
            banner: isSilent ? false : nil, published: published, collapse: collapse, via: server.via,
            appearance: appearance)
        return .publish(topic.description, title: title, body: body, fields: fields, options: options)
    }
}
