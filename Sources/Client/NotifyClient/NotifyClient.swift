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

    /// Connects to a message bus.
    ///
    /// - Parameter address: a [D-Bus address](https://dbus.freedesktop.org/doc/dbus-specification.html#addresses); if
    ///   `nil`, ``sessionBusAddress``.
    /// - Throws: `notReachable` when there is no bus. The daemon need not be running yet.
    public init(address: String? = nil) async throws(NotifyError) {
        guard let address = address ?? Self.sessionBusAddress else {
            throw .noSessionBus
        }
        connections = ConnectionManager(address: address)
        _ = try await connections.connection()
    }

    /// The address of the user's session bus: `$DBUS_SESSION_BUS_ADDRESS`, else `unix:path=$XDG_RUNTIME_DIR/bus`, else
    /// `unix:path=/run/user/UID/bus` if there is one; `nil` if no bus is known.
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
        _ member: String, _ arguments: [Value], autoStart: Bool = true, timeout: Duration = Connection.usualTimeout
    ) async throws(NotifyError) -> Message {
        let call = try Message.checkedToRouter(member, arguments, autoStart: autoStart)
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
        rawValue = id
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
