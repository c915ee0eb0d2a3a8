import Logging
import Mapping
public import NotifyBridge
import NotifyClient
public import TOMLTables

/// The connector of [UnifiedPush](https://unifiedpush.org) (D-Bus specification 0.3.0, version 2):
/// `notifyd-unifiedpush`.
///
/// What a distributor delivers is answered when it is on disk: in the journal of notifyd or, while notifyd takes
/// nothing, in the store of the bridge. Repeats are told by the digest of the message: who delivers again delivers the
/// same bytes, and an id could be used for another message.
@main
public actor PushBridge: Bridge {
    public static let name = "unifiedpush"
    public static let abstract = "Takes pushes of UnifiedPush and Web Push in as events."

    var settings: PushSettings
    let services: BridgeServices
    let link: DistributorLink
    let queue: PushQueue
    /// Calls of the connector's interface, with the names of distributors that the caller owned when it called; none if
    /// it is not a distributor.
    private let calls: AsyncStream<(call: IncomingCall, distributors: Set<String>)>
    /// Has endpoints registered.
    let wakeups: Wakeups

    /// By their tokens.
    var endpoints: [String: PushEndpoint] = [:]
    /// What is known about endpoints since the start, by token.
    var registrations: [String: Registration] = [:]
    /// Commands that wait for the address of an endpoint.
    var waiters: [String: [CheckedContinuation<Void, Never>]] = [:]
    var backoff = Backoff()
    /// When registering failed last.
    var lastTrouble: ContinuousClock.Instant?
    /// Registrations that are to be ended when their distributors are there.
    var former: [FormerRegistration] = []
    /// The distributors with which something was registered since the start.
    var usedDistributors: Set<String> = []
    /// Since when those are not there.
    var goneSince: [String: ContinuousClock.Instant] = [:]
    /// Endpoints whose address is on its way to the disk.
    var addressesUnderWay: Set<String> = []
    /// Publications without an answer.
    var underWay = 0
    /// Messages that can never be taken and are not confirmed yet.
    var refusals = 0
    /// The tokens of endpoints that were removed since the start.
    var removed: Set<String> = []
    /// Messages for endpoints that are not in the state.
    var unknownMessages = 0

    /// Calls that wait to be handled.
    private static let maximumCalls = 1024

    public static func settings(from table: inout TableReader) -> PushSettings? { .read(from: &table) }

    public init(_ settings: PushSettings, _ services: BridgeServices) async throws {
        self.settings = settings
        self.services = services
        queue = try await PushQueue(services)
        let (calls, delivered) = AsyncStream.makeStream(
            of: (call: IncomingCall, distributors: Set<String>).self,
            bufferingPolicy: .bufferingOldest(Self.maximumCalls))
        self.calls = calls
        let wakeups = Wakeups(services.loop)
        self.wakeups = wakeups
        do throws(NotifyError) {
            link = try await DistributorLink.open(services) {
                wakeups.wake()
            } onCall: { call, distributors in
                if case .dropped = delivered.yield((call, distributors)) {
                    call.fail(
                        "org.freedesktop.DBus.Error.LimitsExceeded",
                        "\(Self.maximumCalls) messages wait to be taken; deliver this one later.")
                }
            }
        } catch {
            throw BridgeFailure(75, "the bus cannot be reached: \(error)")
        }
        for (key, record) in try await services.store.all(prefix: PushEndpoint.recordPrefix) {
            guard let endpoint = PushEndpoint(record: record) else {
                services.logger.error("A record of an endpoint cannot be read", metadata: ["record": "\(key)"])
                continue
            }
            endpoints[endpoint.token] = endpoint
        }
        former = try await services.store.all(prefix: FormerRegistration.recordPrefix)
            .compactMap { FormerRegistration(key: $0.key) }
        exportMethods()
        // A distributor that has started this program delivers as soon as the name is taken.
        do throws(NotifyError) {
            try await link.takeName()
        } catch {
            throw BridgeFailure(69, "another program is the connector: \(error)")
        }
    }

    public func run() async throws {
        try await withThrowingTaskGroup { group in
            group.addTask { await self.takeCalls() }
            group.addTask { await self.keepRegistered() }
            group.addTask { await self.queue.run { await self.publish($0) } }
            // The first error ends the others, too; `waitForAll` would wait for them.
            while try await group.next() != nil {}
        }
        // What notifyd is about to answer is answered to the distributor too.
        await services.wait { underWay > 0 }
    }

    /// The connection and what is registered stay.
    public func reload(_ settings: PushSettings) async -> Bool {
        self.settings = settings
        wakeups.wake()
        return true
    }

    public func check() async {}

    private func takeCalls() async {
        for await (call, distributors) in calls { await handle(call, by: distributors) }
    }

    /// Registers what is not registered, whenever something has changed, and after a pause when it has failed.
    private func keepRegistered() async {
        wakeups.wake()
        for await _ in wakeups { wakeups.wake(after: await register()) }
        wakeups.cancelAlarm()
    }
}
