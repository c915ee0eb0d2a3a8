// Values, ids and levels of urgency, which the daemon has too.
@_exported public import NotifyText
internal import UserFiles

/// A client of notifyd, the local event bus: it publishes, receives and claims events.
///
///     let client = try await NotifyClient()
///     let events = try await client.events(at: "/post/27")
///     for try await event in events {
///         try await client.claim(event.id)      // post 27 is on screen: no banner
///     }
///
/// One client is one connection to the session bus; it may be used from any number of tasks. Subscriptions continue
/// after a restart of the bus or the daemon. The interface behind it is `org.notifyd.Router1`, described in
/// `org.notifyd.Router1.xml`.
///
/// Every method throws ``NotifyError``:
/// - `notReachable`: there is no bus, or no daemon on it and none could be started;
/// - `refused`: the daemon's own error, with its name (`org.notifyd.Router1.Error.InvalidTopic`, …) and its message;
/// - `timedOut`: no answer within 25 seconds;
/// - `invalidArgument`: nothing was sent, because an argument is invalid;
/// - `cancelled`: the calling task was cancelled. The call may have taken effect;
/// - `closed`: after ``close()``.
public final class NotifyClient: Sendable {
    let connections: ConnectionManager
    /// Whether the bus starts a daemon that is not running when it is called.
    private let startsDaemon: Bool

    /// Connects to a message bus.
    ///
    /// - Parameter address: a [D-Bus address](https://dbus.freedesktop.org/doc/dbus-specification.html#addresses); if
    ///   `nil`, ``sessionBusAddress``.
    /// - Throws: `notReachable` when there is no bus. The daemon need not be running yet.
    public init(address: String? = nil) async throws(NotifyError) {
        guard let address = address ?? Self.sessionBusAddress else { throw .noSessionBus }
        connections = ConnectionManager(address: address)
        startsDaemon = true
        _ = try await connections.connection()
    }

    private init(_ connections: ConnectionManager) { (self.connections, startsDaemon) = (connections, false) }

    /// The same client, but its calls do not start a daemon that is not running: they throw `notReachable`.
    package var notStarting: NotifyClient { NotifyClient(connections) }

    /// The address of the user's session bus: `$DBUS_SESSION_BUS_ADDRESS`, else `unix:path=$XDG_RUNTIME_DIR/bus`, else
    /// `unix:path=/run/user/UID/bus`, whichever is a socket of this user; `nil` if no bus is known.
    public static var sessionBusAddress: String? { BaseDirectories().sessionBusAddress }

    /// Closes the connection and ends all subscriptions with the error `closed`. A client that is released closes
    /// itself when its last subscription has ended.
    public func close() async { await connections.close() }

    // MARK: Publishing

    /// Publishes an event with a title and a body, and returns its id. The event is then on disk.
    ///
    /// - Parameters:
    ///   - topic: where the event belongs, such as `/post/27`.
    ///   - title: at most 1 KiB. If it is empty, the route of the topic supplies one.
    ///   - body: at most 8 KiB.
    @discardableResult
    public func send(_ topic: String, title: String = "", body: String = "") async throws(NotifyError) -> EventID {
        try await call("Send", [.string(topic), .string(title), .string(body)]).result(EventID.init)
    }

    /// Publishes an event with fields and options, and returns its id.
    ///
    /// - Parameters:
    ///   - topic: where the event belongs, such as `/run/r1/invite`.
    ///   - title: at most 1 KiB. If it is empty, the route of the topic supplies one.
    ///   - body: at most 8 KiB.
    ///   - fields: delivered to every subscriber unchanged; at most 64, at most 4 levels deep.
    ///   - options: settings that override those of the route.
    @discardableResult
    public func publish(
        _ topic: String, title: String = "", body: String = "", fields: Fields = [:],
        options: PublishOptions = PublishOptions()
    ) async throws(NotifyError) -> EventID {
        let options = Value.variants(try options.values())
        return try await call("Publish", [.string(topic), .string(title), .string(body), fields.value, options])
            .result(EventID.init)
    }

    /// Takes an event back, because it no longer matters. An undecided event gets no banner. A banner that shows it is
    /// closed, or updated if it shows other events too. A muted or expired event counts as read; any other decided
    /// event keeps its outcome.
    ///
    /// - Throws: `refused` with `UnknownEvent`, or with `AccessDenied` if another program published it and the policy
    ///   does not let this one publish at its topic.
    public func withdraw(_ id: EventID) async throws(NotifyError) {
        _ = try await call("Withdraw", [.uint64(id.rawValue)])
    }

    // MARK: - Calls

    func call(
        _ member: String, _ arguments: [Value], timeout: Duration = Connection.usualTimeout
    ) async throws(NotifyError) -> Message {
        let call = try Message.checkedToRouter(member, arguments, autoStart: startsDaemon)
        return try await connections.connection().call(call, timeout: timeout)
    }
}

extension Message {
    /// The first argument of a reply, or what is in it if that is a variant.
    func result<Content>(_ read: (Value) -> Content?) throws(NotifyError) -> Content {
        guard let result = arguments.first.flatMap(read) else { throw .strangeReply }
        return result
    }
}

extension EventID {
    init?(_ value: Value) {
        guard case .uint64(let id) = value else { return nil }
        self.init(rawValue: id)
    }
}

extension Value? {
    /// The elements of an array, each of which must be of the right form.
    func list<Entry>(_ read: (Value) -> Entry?) throws(NotifyError) -> [Entry] {
        guard let elements = self?.elements else { throw .strangeReply }
        let entries = elements.compactMap(read)
        guard entries.count == elements.count else { throw .strangeReply }
        return entries
    }
}

/// Claims.
extension NotifyClient {
    /// Claims an event: it gets no banner, and a banner that is already shown is closed.
    @discardableResult
    public func claim(_ id: EventID) async throws(NotifyError) -> Verdict {
        try await call("Claim", [.uint64(id.rawValue)]).result { $0.string.map(Verdict.init) }
    }

    /// Claims an event by its global name, on behalf of a person at another device: for programs that pass claims on.
    ///
    /// An event that has not come yet is awaited until ``NamedClaimOptions/expires``, at least for 24 hours, over
    /// restarts of the daemon too. When it comes, it is claimed before there is any banner.
    ///
    /// - Parameters:
    ///   - source: the source of the event; for an event without source and event-id, `notifyd:` and the property
    ///     `Device`.
    ///   - eventID: its event-id, or its id in decimal.
    ///   - options: what was done with the event, and where.
    /// - Throws: `refused` with `InvalidEvent`, `AccessDenied`, `LimitExceeded` or `StorageUnavailable`.
    @discardableResult
    public func claimNamed(
        source: String, eventID: String, options: NamedClaimOptions = NamedClaimOptions()
    ) async throws(NotifyError) -> Verdict {
        try await call("ClaimNamed", [.string(source), .string(eventID), .variants(options.values)]).result {
            $0.string.map(Verdict.init)
        }
    }

    /// Claims an event provisionally: it gets no banner for now. The banner is shown after all if ``complete(_:)`` does
    /// not follow in time, if ``release(_:)`` is called, or if this client leaves the bus.
    ///
    /// - Parameters:
    ///   - id: an event that is undecided.
    ///   - limit: how long the hold lasts; whole milliseconds, from 1 ms to 10 minutes.
    /// - Returns: `suppressed` when this client now holds the event; `recorded` when the event has already been shown,
    ///   claimed or held, or never gets a banner.
    /// - Throws: `refused` with `UnknownEvent` or `LimitExceeded`.
    public func claimProvisionally(_ id: EventID, within limit: Duration) async throws(NotifyError) -> Verdict {
        let time = try limit.argument(in: .milliseconds(1), "A hold must be 1 ms to 10 minutes long.")
        return try await call("ClaimProvisionally", [.uint64(id.rawValue), time]).result { $0.string.map(Verdict.init) }
    }

    /// Confirms a provisional claim of this client: the event is claimed for good.
    ///
    /// - Throws: `refused` with `NotClaimant` when this client does not hold the event, or no longer holds it.
    public func complete(_ id: EventID) async throws(NotifyError) {
        _ = try await call("Complete", [.uint64(id.rawValue)])
    }

    /// Releases a provisional claim of this client: the banner appears at once if the window of the event has ended,
    /// and at the end of the window otherwise.
    ///
    /// - Throws: `refused` with `NotClaimant` when this client does not hold the event, or no longer holds it.
    public func release(_ id: EventID) async throws(NotifyError) {
        _ = try await call("Release", [.uint64(id.rawValue)])
    }

    /// Declines an event for all screens of this client that are asked about it. Without such a screen it does nothing.
    ///
    /// The window ends early only if the route has `wait = "screens"` and all screens have answered.
    ///
    /// - Throws: `refused` with `UnknownEvent`.
    public func pass(_ id: EventID) async throws(NotifyError) { _ = try await call("Pass", [.uint64(id.rawValue)]) }

    /// Claims every undecided or shown event at or below a topic, and goes on claiming new events there for a while.
    /// Call it when the user opens something.
    ///
    /// - Parameters:
    ///   - topic: `/` stands for every topic.
    ///   - grace: how long to go on, even after this client has left the bus; whole milliseconds, at most 10 s. It
    ///     covers an app that learns of an event in another way before notifyd announces it.
    /// - Returns: how many events were claimed at once.
    /// - Throws: `refused` with `InvalidTopic` or `LimitExceeded`.
    @discardableResult
    public func claimTopic(_ topic: String, grace: Duration = .zero) async throws(NotifyError) -> Int {
        let time = try grace.argument(in: .milliseconds(1), "A grace must be 0 to 10 seconds long.")
        return try await call("ClaimTopic", [.string(topic), time]).result { $0.integer() }
    }

    /// Marks all events at or below a topic as read. Undecided and shown events are claimed. Muted and expired events
    /// keep their outcome.
    ///
    /// - Parameters:
    ///   - topic: `/` stands for every topic.
    ///   - last: events with higher ids are not changed; 0 means all events. A program that lists events gives the
    ///     highest id in its list.
    /// - Returns: how many events were unread.
    /// - Throws: `refused` with `InvalidTopic`, `LimitExceeded` or `StorageUnavailable`.
    @discardableResult
    public func markRead(_ topic: String = "/", upTo last: EventID = 0) async throws(NotifyError) -> Int {
        // The daemon marks a few events at a time; a million take it a minute.
        try await call("MarkRead", [.string(topic), .uint64(last.rawValue)], timeout: .seconds(600)).result {
            $0.integer()
        }
    }
}

/// Buttons, and the journal.
extension NotifyClient {
    /// Presses a button of an event, for programs that show events themselves. It is announced by `ActionInvoked`, and
    /// its command runs. Then the event is claimed, unless its banner stays up when a button is pressed (`resident`).
    ///
    /// - Parameters:
    ///   - action: the key of a button of the event; see ``InboxEntry/appearance``.
    ///   - id: an unread event.
    /// - Throws: `refused` with `UnknownEvent`, with `InvalidEvent` if the event has no such button, with `NotClaimant`
    ///   if it was claimed or read already, or with `AccessDenied`.
    public func press(_ action: String, of id: EventID) async throws(NotifyError) {
        _ = try await call("Press", [.uint64(id.rawValue), .string(action)])
    }

    /// Deletes the decided events at or below a topic from the journal. When it returns, their titles, bodies and
    /// fields are not in the file any more. Undecided events and current values stay; banners that show nothing else
    /// are closed.
    ///
    /// - Parameters:
    ///   - topic: `/` stands for every topic.
    ///   - last: events with higher ids stay; 0 means no event stays.
    /// - Returns: how many events were deleted.
    /// - Throws: `refused` with `InvalidTopic`, `LimitExceeded`, `AccessDenied` or `StorageUnavailable`. Some of the
    ///   events may be deleted then.
    @discardableResult
    public func forget(_ topic: String, upTo last: EventID = 0) async throws(NotifyError) -> Int {
        // The daemon deletes a few events at a time, and then reads the whole file.
        try await call("Forget", [.string(topic), .uint64(last.rawValue)], timeout: .seconds(600)).result {
            $0.integer()
        }
    }
}

/// The daemon's properties. Reading them does not start the daemon: without one they throw `notReachable`.
extension NotifyClient {
    /// The version of the running daemon.
    public func version() async throws(NotifyError) -> String { try await version(within: Connection.usualTimeout) }

    package func version(within limit: Duration) async throws(NotifyError) -> String {
        try await connections.connection().call(.toProperties("Get", ["Version"]), timeout: limit).result(\.string)
    }

    /// Why the journal cannot be written, as text; empty while it can.
    public func degradation() async throws(NotifyError) -> String { try await property("Degraded", \.string) }

    /// The name of the daemon's journal on this machine, 32 hexadecimal digits; empty while the journal cannot be read.
    /// A new journal has a new name.
    public func device() async throws(NotifyError) -> String { try await property("Device", \.string) }

    /// The window of routes that do not set their own.
    public func defaultWindow() async throws(NotifyError) -> Duration {
        try await property("DefaultWindowMilliseconds") { $0.integer(as: UInt32.self).map { .milliseconds($0) } }
    }

    /// How many events are undecided now.
    public func pending() async throws(NotifyError) -> Int { try await property("Pending") { $0.integer() } }

    /// Counters since the daemon's start, by name.
    public func statistics() async throws(NotifyError) -> [String: UInt64] {
        try await property("Statistics", \.entries).compactMapValues { $0.integer() }
    }

    /// All properties by name, including those this version of the library does not know.
    public func properties() async throws(NotifyError) -> [String: Value] {
        try await connections.connection().call(.toProperties("GetAll")).result(\.entries)
    }

    /// Whether the daemon is on the bus now.
    public func isDaemonRunning() async throws(NotifyError) -> Bool {
        try await connections.connection().owner(of: Router.name) != nil
    }

    /// Whether there is a notification server on the same bus.
    public func hasNotificationServer() async throws(NotifyError) -> Bool {
        try await connections.connection().owner(of: "org.freedesktop.Notifications") != nil
    }

    /// The process id of a connection; `nil` if the bus does not know it, or the connection is gone.
    package func process(of name: String) async -> UInt32? { try? await connections.connection().process(of: name) }

    func property<Content>(_ name: String, _ read: (Value) -> Content?) async throws(NotifyError) -> Content {
        try await connections.connection().call(.toProperties("Get", [.string(name)])).result(read)
    }
}
