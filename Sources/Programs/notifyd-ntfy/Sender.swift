import Glibc
import Logging
import Mapping
import NotifyBridge
import NotifyClient
import NotifyText

/// Sends events that nobody has seen here to a server, and clears them there when somebody has. It follows the rows of
/// the journal; on disk is the number up to which everything is done, so that after a crash the rest is read again.
actor Sender {
    let client: ServerClient
    let services: BridgeServices
    let board: StatusBoard
    let presence = Presence()
    var server: NtfySettings.Server { client.settings }

    /// Events that are sent later, unless somebody claims them.
    var waiting: [Waiting] = []
    /// Requests to the server, in their order.
    var jobs: [Job] = []
    var sent = SentTable()
    /// Topics where this user may not write, so that nothing can be cleared there.
    var readOnly: Set<String> = []
    /// Topics of maps where this user may not write.
    var closed = ClosedTopics()
    /// Whether the server is too old to clear messages.
    var knowsNoClear = false
    /// The zero of the times in ``closed``.
    let start = ContinuousClock.now
    /// Changes that the disk has not taken.
    private var unsaved: [String: RecordChange] = [:]
    /// The number of the last row that was read.
    private var position: UInt64 = 0
    /// That of the cursor on disk.
    private var written: UInt64 = 0
    private let wakeups: Wakeups

    /// An event that goes out unless somebody claims it.
    struct Waiting: Sendable {
        /// Its row.
        let number: UInt64
        let topic: String
        let map: PublishMap
        let key: SentTable.Key
        let source: String
        let eventID: String
        /// When it is decided, on the wall clock in microseconds.
        var due: Int64
        /// When it goes out at the latest; `nil`: when it is decided.
        let deadline: Int64?
    }

    /// A request.
    struct Job: Sendable {
        enum Action: Sendable {
            case send(Waiting)
            /// A message is cleared or deleted; one of this bridge, or of somebody else.
            case end(isOwn: Bool, isDeletion: Bool)
        }

        /// The row that it follows from.
        let number: UInt64
        let key: SentTable.Key
        let action: Action
    }

    /// The most events and requests that wait. Beyond it no rows are read.
    private static let maximumWaiting = 2000
    /// The cursor is written at least once in so many rows; those since are read again after a restart.
    private static let rowsUnwritten: UInt64 = 500
    private static let pause: Duration = .seconds(1)
    /// How long to wait before the next attempt to write to a disk that failed.
    private static let diskPause: Duration = .seconds(2)

    init(_ client: ServerClient, _ services: BridgeServices, _ board: StatusBoard) {
        self.client = client
        self.services = services
        self.board = board
        wakeups = Wakeups(services.loop)
    }

    func run() async throws {
        try await restore()
        try await withThrowingTaskGroup { group in
            group.addTask { try await self.follow() }
            group.addTask { try await self.deliver() }
            try await group.next()
            group.cancelAll()
        }
    }

    // MARK: On disk

    private nonisolated var prefix: String { "out \(client.settings.address.name) " }

    private func restore() async throws {
        let prefix = self.prefix + "sent "
        for (key, value) in try await services.store.all(prefix: prefix) {
            if let key = SentTable.Key(key.dropFirst(prefix.count)) { sent.restore(key, value) }
        }
        position = try await services.cursor(self.prefix + "cursor")
        written = position
    }

    /// The number up to which everything is done.
    private var done: UInt64 {
        let first = min(waiting.map(\.number).min() ?? .max, jobs.map(\.number).min() ?? .max)
        return min(position, first == .max ? .max : first - 1)
    }

    /// Writes what has changed. When it returns, it is on the disk.
    func save(isFinal: Bool = true) async throws {
        let done = done
        for (key, value) in sent.takeChanges() {
            let key = "\(prefix)sent \(key)"
            unsaved[key] = RecordChange(key, value)
        }
        if done > written, isFinal || done - written > Self.rowsUnwritten {
            written = done
            unsaved[prefix + "cursor"] = .put(prefix + "cursor", done)
        }
        board.setBacklog(server.address.name, waiting.count + jobs.count)
        try await writeUnsaved()
    }

    /// Waits for a full disk: after a crash, a message whose record was not written would be sent twice. The status
    /// says so.
    private func writeUnsaved() async throws {
        while !unsaved.isEmpty {
            let changes = unsaved
            do throws(StoreError) {
                try await services.store.write(Array(changes.values))
                for (key, change) in changes where unsaved[key] == change { unsaved[key] = nil }
            } catch {
                guard !error.isDamage else { throw error }
                services.logger.error("The state cannot be written", metadata: ["error": "\(error)"])
                try await services.loop.pause(for: Self.diskPause)
            }
        }
    }

    // MARK: Rows

    private func follow() async throws {
        for try await rows in services.daemon.changes(after: position, limit: 200) {
            for row in rows { handle(row) }
            position = rows.last?.number ?? position
            try await save(isFinal: false)
            if !waiting.isEmpty || !jobs.isEmpty { wakeups.wake() }
            while waiting.count + jobs.count > Self.maximumWaiting {
                try await services.loop.pause(for: Self.pause)
            }
        }
    }

    private func handle(_ row: JournalChange) {
        guard let source = row.details["source"]?.string, let eventID = row.details["event-id"]?.string else { return }
        let via = row.details["via"]?.string ?? ""
        switch row.kind {
        case "event": queueMessages(for: row, source, eventID, via)
        case "outcome":
            let outcome = row.details["outcome"]?.string ?? ""
            if !PublishMap.isOpen(outcome: outcome) { endMessages(of: row, outcome, source, eventID, via) }
        case "read": endMessages(of: row, "claimed", source, eventID, via)
        default: break
        }
    }

    private func queueMessages(for row: JournalChange, _ source: String, _ eventID: String, _ via: String) {
        guard let topic = try? Topic(row.topic), Self.isNews(row),
            let accepted: Int64 = row.details["accepted"]?.integer()
        else { return }
        let window: Int64 = row.details["window"]?.integer() ?? 0
        for map in server.outbound where map.takes(topic: topic, source: source, via: via) {
            let sequence = SequenceName.make(source: source, eventID: eventID)
            let key = SentTable.Key(topic: map.name, sequence: sequence)
            if let state = sent[key]?.state, state != .sending { continue }
            waiting.append(
                Waiting(
                    number: row.number, topic: row.topic, map: map, key: key, source: source, eventID: eventID,
                    due: map.decision(accepted: accepted, window: window),
                    deadline: map.deadline(accepted: accepted, window: window)))
        }
    }

    /// Whether an event is worth telling: nobody has claimed it, and it would get a banner.
    static func isNews(_ row: JournalChange) -> Bool {
        guard PublishMap.isOpen(outcome: row.details["outcome"]?.string ?? ""),
            row.details["silent"]?.string?.isEmpty ?? true
        else { return false }
        guard let expires: Int64 = row.details["expires"]?.integer() else { return true }
        return expires > SystemClock.wall
    }

    private func endMessages(
        of row: JournalChange, _ outcome: String, _ source: String, _ eventID: String, _ via: String
    ) {
        let sequence = SequenceName.make(source: source, eventID: eventID)
        waiting.removeAll { $0.key.sequence == sequence }
        let isClaim = ["claimed", "retracted", "dismissed"].contains(outcome)
        let isDeletion = ["withdrawn", "replaced"].contains(outcome)
        guard isClaim || isDeletion else { return }
        // A claim that came from this server is not sent back to it.
        let isEcho = via == server.address.via
        for map in server.outbound {
            let key = SentTable.Key(topic: map.name, sequence: sequence)
            guard let entry = sent[key], entry.state != .ended else { continue }
            if isEcho || !map.clears || knowsNoClear {
                sent.set(key, .ended)
            } else {
                jobs.append(Job(number: row.number, key: key, action: .end(isOwn: true, isDeletion: isDeletion)))
            }
        }
        if isClaim, !isEcho, let topic = server.address.topic(ofSource: source),
            server.map(ofTopic: topic)?.clears == true, !readOnly.contains(topic), !knowsNoClear
        {
            let key = SentTable.Key(topic: topic, sequence: NtfyEvent.sequence(ofEventID: eventID))
            jobs.append(Job(number: row.number, key: key, action: .end(isOwn: false, isDeletion: false)))
        }
    }

    /// What became of an event: where, `waiting`, `sending`, `sent` or `ended`, and when, in microseconds since the
    /// epoch.
    func told(source: String, eventID: String) -> [Value] {
        let waiting = waiting.filter {
            SentTable.isSource($0.source, source) && $0.eventID == eventID && sent[$0.key] == nil
        }.map { ($0.map.name, "waiting", $0.due) }
        let known = sent.messages(source: source, eventID: eventID).map {
            ($0.key.topic, $0.entry.state.rawValue, $0.entry.at)
        }
        return (waiting + known).map { topic, state, time in
            .structure([.string("\(server.address.name)/\(topic)"), .string(state), .int64(time)])
        }
    }

    // MARK: From there

    /// A message of this bridge was cleared or deleted there.
    ///
    /// - Returns: the global name of its event; `nil` if it is not to be claimed here.
    func ended(_ message: NtfyMessage) -> (source: String, eventID: String)? {
        let key = SentTable.Key(topic: message.topic, sequence: message.sequence)
        guard let entry = sent[key], entry.state != .ended else { return nil }
        return (entry.source, entry.eventID)
    }

    // MARK: Waiting

    /// Waits until there may be something to do.
    func waitForWork() async {
        let due = waiting.map { Duration.microseconds($0.due - SystemClock.wall) }.min()
        let opening = jobs.isEmpty ? nil : closed.next.map { $0 - now }
        if let pause = [due, opening].compactMap(\.self).min() { wakeups.wake(after: max(pause, .milliseconds(1))) }
        defer { wakeups.cancelAlarm() }
        var iterator = wakeups.makeAsyncIterator()
        await iterator.next(isolation: self)
    }
}

/// Whether nobody is at this machine: all sessions of the user at a seat are locked or idle; org.freedesktop.login1(5).
/// It is asked when it matters. Without a system bus, logind or such a session somebody counts as being there, as for
/// notifyd itself.
struct Presence: Sendable {
    private static let name = "org.freedesktop.login1"
    private static let path = "/org/freedesktop/login1"
    private static let timeout: Duration = .seconds(5)

    var isAway: Bool {
        get async {
            let address =
                getenv("DBUS_SYSTEM_BUS_ADDRESS").map { String(cString: $0) }
                ?? "unix:path=/run/dbus/system_bus_socket"
            guard let connection = try? await Connection.open(address) else { return false }
            defer { connection.close() }
            let sessions = await seatedSessions(connection)
            for session in sessions where await !isUnwatched(session, connection) { return false }
            return !sessions.isEmpty
        }
    }

    /// The object paths of the user's sessions at a seat; others, such as those of ssh, have no display.
    private func seatedSessions(_ connection: Connection) async -> [String] {
        let call = Message.call(
            "ListSessions", of: "\(Self.name).Manager", at: Self.path, on: Self.name, autoStart: false)
        let reply = try? await connection.call(call, timeout: Self.timeout)
        return (reply?.arguments.first?.elements ?? []).compactMap { row in
            guard let members = row.elements, members.count == 5, members[1].integer() == getuid(),
                members[3].string?.isEmpty == false
            else { return nil }
            return members[4].string
        }
    }

    private func isUnwatched(_ session: String, _ connection: Connection) async -> Bool {
        let call = Message.call(
            "GetAll", of: "org.freedesktop.DBus.Properties", at: session, on: Self.name, autoStart: false,
            [.string("\(Self.name).Session")])
        guard let properties = try? await connection.call(call, timeout: Self.timeout).arguments.first?.entries else {
            return false
        }
        return properties["LockedHint"]?.boolean == true || properties["IdleHint"]?.boolean == true
    }
}
