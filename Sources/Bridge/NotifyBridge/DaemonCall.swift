public import NotifyClient

/// A call to notifyd: see ``DaemonLink``.
public struct DaemonCall: Sendable {
    let member: String
    /// Building the arguments may fail: then nothing is sent.
    let arguments: Result<[Value], NotifyError>
    /// Whether the bus starts a daemon that is not there.
    var startsDaemon = true
    /// How long to wait for the answer.
    var timeout = Connection.usualTimeout

    /// Any method of `org.notifyd.Router1`, with its arguments.
    public init(_ member: String, _ arguments: [Value]) {
        self.init(member, .success(arguments))
    }

    private init(_ member: String, _ arguments: Result<[Value], NotifyError>, startsDaemon: Bool = true) {
        self.member = member
        self.arguments = arguments
        self.startsDaemon = startsDaemon
    }

    /// Publishes an event. With a `source` and an `event-id`, it may be repeated until it is answered: notifyd
    /// publishes it once.
    ///
    /// - Parameters:
    ///   - topic: where the event belongs.
    ///   - title: at most 1 KiB.
    ///   - body: at most 8 KiB.
    ///   - fields: delivered to every subscriber unchanged.
    ///   - options: by their names in the call `Publish`.
    public static func publish(
        _ topic: String, title: String = "", body: String = "", fields: Fields = [:], options: [String: Value]
    ) -> DaemonCall {
        DaemonCall("Publish", [.string(topic), .string(title), .string(body), fields.value, .variants(options)])
    }

    /// Publishes an event: see the other form.
    public static func publish(
        _ topic: String, title: String = "", body: String = "", fields: Fields = [:],
        options: PublishOptions = PublishOptions()
    ) -> DaemonCall {
        do throws(NotifyError) {
            return publish(topic, title: title, body: body, fields: fields, options: try options.values())
        } catch {
            return DaemonCall("Publish", .failure(error))
        }
    }

    /// Claims an event by its global name, for somebody elsewhere. It may be repeated.
    ///
    /// - Parameters:
    ///   - source: the first half of its name.
    ///   - eventID: the second half.
    ///   - options: `device`, `dismissed`, `withdrawn`, `read`, `expires`, `via`.
    public static func claimNamed(source: String, eventID: String, options: [String: Value] = [:]) -> DaemonCall {
        DaemonCall("ClaimNamed", [.string(source), .string(eventID), .variants(options)])
    }

    /// Claims an event. It may be repeated.
    public static func claim(_ id: EventID) -> DaemonCall { DaemonCall("Claim", [.uint64(id.rawValue)]) }

    /// Holds an event: `claimProvisionally` of `NotifyClient`. Whole milliseconds.
    public static func hold(_ id: EventID, for time: Duration) -> DaemonCall {
        let (seconds, attoseconds) = time.components
        let milliseconds =
            seconds.multipliedReportingOverflow(by: 1000).partialValue + attoseconds / 1_000_000_000_000_000
        return DaemonCall("ClaimProvisionally", [.uint64(id.rawValue), .uint32(UInt32(clamping: milliseconds))])
    }

    /// Confirms a held event.
    public static func complete(_ id: EventID) -> DaemonCall { DaemonCall("Complete", [.uint64(id.rawValue)]) }

    /// Releases a held event.
    public static func release(_ id: EventID) -> DaemonCall { DaemonCall("Release", [.uint64(id.rawValue)]) }

    /// Reads what was committed after a number: `journalChanges` of `NotifyClient`. It does not start
    /// notifyd.
    public static func changes(after number: UInt64, limit: UInt32 = 1000) -> DaemonCall {
        DaemonCall("Changes", .success([.uint64(number), .uint32(limit)]), startsDaemon: false)
    }

    /// The same, and with nothing after that number it waits for the next change, for as long as it takes. At most 16
    /// such calls of a connection wait. It does not start notifyd.
    public static func awaitChanges(after number: UInt64, limit: UInt32 = 1000) -> DaemonCall {
        var call = DaemonCall("AwaitChanges", .success([.uint64(number), .uint32(limit)]), startsDaemon: false)
        call.timeout = .seconds(1_000_000_000)
        return call
    }

    func message() throws(NotifyError) -> Message {
        try .checkedToRouter(member, try arguments.get(), autoStart: startsDaemon)
    }
}

/// How notifyd answered a call.
public enum DaemonAnswer: Sendable {
    /// It is done, and on disk where notifyd says so.
    case done([Value])
    /// Not now; the same call may succeed later.
    case refusedForNow(NotifyError)
    /// Never.
    case refused(NotifyError)

    init(_ result: Result<Message, NotifyError>, to member: String) {
        switch result {
        case .success(let reply) where !Self.isAnswer(reply.arguments, to: member): self = .refusedForNow(.strangeReply)
        case .success(let reply): self = .done(reply.arguments)
        case .failure(let error) where error.isTemporary: self = .refusedForNow(error)
        case .failure(let error): self = .refused(error)
        }
    }

    /// Whether it is what the method returns. Another program may own notifyd's name.
    private static func isAnswer(_ arguments: [Value], to member: String) -> Bool {
        switch member {
        case "Publish": arguments.first?.integer().map { (id: UInt64) in id > 0 } ?? false
        case "Claim", "ClaimNamed", "ClaimProvisionally": arguments.first?.string != nil
        default: true
        }
    }

    /// Why it was refused.
    public var error: NotifyError? {
        switch self {
        case .done: nil
        case .refusedForNow(let error), .refused(let error): error
        }
    }

    /// Whether it is done.
    public var isDone: Bool { error == nil }

    /// The id of a published event.
    public var eventID: EventID? { firstArgument?.integer().map(EventID.init(rawValue:)) }

    /// The verdict of a claim, such as `suppressed` or `awaited`.
    public var verdict: String? { firstArgument?.string }

    /// The answer to ``DaemonCall/changes(after:limit:)``.
    public var changes: ChangePage? {
        guard case .done(let arguments) = self, let page = JournalChange.page(of: arguments) else { return nil }
        return ChangePage(oldest: page.oldest, rows: page.changes)
    }

    /// The answer to `Explain`.
    package var record: [String: Value]? { firstArgument?.entries }

    /// The answer to `History`.
    package var events: [RecordedEvent]? { firstArgument?.elements?.compactMap(RecordedEvent.init) }

    private var firstArgument: Value? {
        if case .done(let arguments) = self { arguments.first } else { nil }
    }
}

/// A page of what notifyd has committed.
public struct ChangePage: Sendable {
    /// From this number on nothing was deleted because of its age.
    public var oldest: UInt64
    /// In the order of their numbers; empty at the end.
    public var rows: [JournalChange]
}

extension NotifyError {
    /// Whether the same call may succeed later. It never does if notifyd itself has refused it for what it says; all
    /// else is about notifyd, which is full, away, masked, too old or another program.
    public var isTemporary: Bool {
        switch code {
        case .invalidArgument: false
        case .refused: !isVerdict
        default: true
        }
    }

    /// Whether notifyd has refused a call for what it says.
    private var isVerdict: Bool {
        let own = "\(Router.interface).Error."
        guard let name, name.hasPrefix(own) else { return name == "org.freedesktop.DBus.Error.InvalidArgs" }
        return !["LimitExceeded", "StorageUnavailable"].contains(name.dropFirst(own.count))
    }
}
