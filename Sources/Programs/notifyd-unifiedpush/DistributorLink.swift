import Mapping
import NotifyBridge
import NotifyClient

/// The side of the bus where distributors are: a connection of its own, which owns the name of the connector.
///
/// It knows at every message who owns the names of distributors: notices about owners and calls arrive in the order in
/// which the bus has sent them.
final class DistributorLink: Sendable {
    /// The name under which distributors know this program. A distributor may forget those that the bus cannot start.
    static let service = "org.notifyd.UnifiedPush"
    static let connectorPath = "/org/unifiedpush/Connector"
    static let connectorInterface = "org.unifiedpush.Connector2"
    private static let path = "/org/unifiedpush/Distributor"
    private static let interface = "org.unifiedpush.Distributor2"

    private let connection: Connection
    /// Unique names by names of distributors.
    private let owners: Locked<[String: String]>

    private init(_ connection: Connection, _ owners: Locked<[String: String]>) {
        self.connection = connection
        self.owners = owners
    }

    /// Connects, and finds the distributors that are there.
    ///
    /// - Parameters:
    ///   - onOwners: runs when a distributor has come or gone.
    ///   - onCall: runs for each call of the connector's interface, with the names of distributors that the caller
    ///     owns. Of its arguments, it has as much as is looked at.
    static func open(
        _ services: BridgeServices, onOwners: @escaping @Sendable () -> Void,
        onCall: @escaping @Sendable (IncomingCall, _ distributors: Set<String>) -> Void
    ) async throws(NotifyError) -> DistributorLink {
        let owners = Locked<[String: String]>([:])
        let connection = try await services.connect { signal in
            guard let (name, owner) = signal.ownerChange else { return }
            Self.setOwner(owner, of: name, owners)
            onOwners()
        }
        connection.export(connectorInterface) { call in
            let sender = call.message.sender
            onCall(call.trimmed, Set(owners.withLock { $0.filter { $0.value == sender }.keys }))
        }
        let link = DistributorLink(connection, owners)
        do throws(NotifyError) {
            // Matches the names below the prefix too.
            let rule =
                "type='signal',sender='\(Bus.name)',interface='\(Bus.interface)',member='NameOwnerChanged',"
                + "arg0namespace='\(DistributorName.prefix.dropLast())'"
            _ = try await connection.call(.toBus("AddMatch", [.string(rule)]))
            for name in try await link.names("ListNames") { await link.findOwner(of: name) }
        } catch {
            connection.close()
            throw error
        }
        return link
    }

    private static func setOwner(_ owner: String?, of name: String, _ owners: Locked<[String: String]>) {
        guard DistributorName.isOne(name) else { return }
        owners.withLock { $0[name] = owner }
    }

    /// The answer is noted in order with the signals.
    private func findOwner(of name: String) async {
        await withCheckedContinuation { continuation in
            connection.call(.toBus("GetNameOwner", [.string(name)])) { [owners] answer in
                if let owner = (try? answer.get())?.arguments.first?.string { Self.setOwner(owner, of: name, owners) }
                continuation.resume()
            }
        }
    }

    /// From now on distributors may call.
    func takeName() async throws(NotifyError) { try await connection.requestName(Self.service) }

    // MARK: Distributors

    func owner(of name: String) -> String? { owners.withLock { $0[name] } }

    /// The distributors that are there or can be started, by name.
    func available() async throws(NotifyError) -> [String] {
        let activatable = try await names("ListActivatableNames")
        return Set(activatable).union(owners.withLock { Array($0.keys) }).sorted()
    }

    private func names(_ member: String) async throws(NotifyError) -> [String] {
        let names = try await connection.call(.toBus(member)).arguments.first?.elements ?? []
        return names.compactMap(\.string).filter(DistributorName.isOne)
    }

    /// Has the bus start a distributor that is not there.
    ///
    /// - Throws: an error of the bus, which says why not.
    func start(_ name: String) async throws(NotifyError) {
        guard owner(of: name) == nil else { return }
        _ = try await connection.call(.toBus("StartServiceByName", [.string(name), .uint32(0)]))
        await findOwner(of: name)
    }

    /// Calls a method of a distributor, by its unique name: only itself can answer.
    ///
    /// - Returns: its answer; empty if it has none.
    func call(_ member: String, on owner: String, _ arguments: [String: Value]) async throws(NotifyError) -> [String:
        Value]
    {
        try await connection.call(
            .call(member, of: Self.interface, at: Self.path, on: owner, autoStart: false, [.variants(arguments)])
        ).arguments.first?.entries ?? [:]
    }
}

extension IncomingCall {
    /// With as much of its arguments as is looked at: many calls may wait, and each may have megabytes. What is too
    /// long stays so.
    fileprivate var trimmed: IncomingCall {
        guard message.signature == "a{sv}", let arguments = message.arguments.first?.entries else {
            return replacing([])
        }
        var kept: [String: Value] = [:]
        if let token = arguments["token"]?.string {
            kept["token"] = .string(token.beginning(ofBytes: PushEndpoint.maximumToken + 1))
        }
        if let address = arguments["endpoint"]?.string {
            kept["endpoint"] = .string(address.beginning(ofBytes: PushEndpoint.maximumAddress + 1))
        }
        if let message = arguments["message"]?.bytes {
            kept["message"] = .bytes(Array(message.prefix(PushKeys.maximumMessage + 1)))
        }
        if let id = arguments["id"]?.string { kept["id"] = .string(id.beginning(ofBytes: PushEndpoint.maximumAddress)) }
        return replacing([.variants(kept)])
    }
}

/// Which distributor is to have an endpoint. A plain value: who is there goes in.
///
/// An endpoint belongs to the distributor that has given its address, because its sender knows only that address.
/// Another one gets it only if the configuration names it; of a new endpoint, the only one there is.
struct DistributorChoice: Equatable, Sendable {
    /// The one of the configuration.
    var configured: String?
    /// Those that are there or can be started, in order.
    var available: [String]
    /// Those that have endpoints.
    var known: Set<String>

    enum Answer: Equatable, Sendable {
        /// It is registered there, and in spite of a problem it is of use.
        case register(String, Registration.Problem? = nil)
        /// It waits.
        case wait(Registration.Problem)
    }

    /// - Parameters:
    ///   - endpoint: its name.
    ///   - owner: the distributor that has given the endpoint its address; empty if none has.
    func answer(for endpoint: String, of owner: String) -> Answer {
        if let configured, configured != owner {
            if available.contains(configured) { return .register(configured) }
            let text = "the distributor \(configured) of unifiedpush.toml is not there; is it installed?"
            guard available.contains(owner) else { return .wait("\(text)") }
            return .register(owner, "\(text) Until then \(owner) delivers")
        }
        guard owner.isEmpty else {
            if available.contains(owner) { return .register(owner) }
            return .wait(
                Registration.Problem(
                    text: "its distributor \(owner) is away, and the endpoint waits for it; "
                        + "if it does not come back: notifyctl push-endpoint move \(endpoint)"))
        }
        if let name = available.first(where: known.contains) { return .register(name) }
        guard let name = available.first else {
            return .wait("there is no distributor of UnifiedPush on the bus; install one, such as KUnifiedPush")
        }
        guard available.count == 1 else {
            let names = available.joined(separator: ", ")
            return .wait(
                Registration.Problem(
                    text: "there are several distributors: \(names); "
                        + "choose one in unifiedpush.toml: distributor = \"\(name)\"",
                    needsUser: true,
                    advice: "Write the line into ~/.config/notifyd/unifiedpush.toml, then: "
                        + "systemctl --user restart notifyd-unifiedpush"))
        }
        return .register(name)
    }
}
