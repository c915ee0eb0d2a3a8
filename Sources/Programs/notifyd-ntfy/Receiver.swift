import Logging
import Mapping
import NotifyBridge
import NotifyClient
import NotifyText

/// Takes what a server says to notifyd: several messages at once, and what ends one alone. The cursor moves when
/// notifyd has everything before it on disk, so what is said again after a crash is told by its global name.
actor Receiver {
    let server: NtfySettings.Server
    let services: BridgeServices
    /// The global name of the event that a message was made of which this bridge has sent, unless it has ended.
    let own: @Sendable (NtfyMessage) async -> (source: String, eventID: String)?
    let pictures: Pictures?
    /// Whether a line is being handled: lines of several answers are handled one at a time.
    private var isReceiving = false
    /// Lines that wait for their turn, in the order in which they came.
    private var turns: [CheckedContinuation<Void, Never>] = []

    /// The newest time of the server up to which everything is done; `nil` before the first connection.
    private var cursor: Int64?
    /// The cursor on disk.
    private var written: Int64?
    /// The newest time of what is done.
    private var newest: Int64 = 0
    /// The first connection of all; `nil` before it.
    private var beginning: ServerClock.Beginning?
    private var clock = ServerClock()
    private let start = ContinuousClock.now
    /// Whether a sweep has found what was said while the stream began. Until then the cursor stays.
    private var isSwept = true
    var sequences = SequenceTable()
    /// Whether notifyd is being told that a sequence has ended.
    var isEnding = false
    /// The last write to the disk, and the next one.
    private var lastWrite = ContinuousClock.now
    private var timer: WorkTimer?
    /// Changes that the disk has not taken.
    private var unsaved: [String: RecordChange] = [:]
    /// What is not done.
    var inFlight = InFlight()
    /// Calls without an answer, by the tickets of their messages.
    var underWay: Set<UInt64> = []
    var pictureWaits = PictureWaits<PictureWait>()
    /// Nothing more is asked for: what is not done comes again after the next start.
    var isStopped = false
    /// Who waits for an answer.
    var waiters: [CheckedContinuation<Void, Never>] = []
    /// What waits for notifyd, which is away or full.
    let pending: RetryQueue<Pending>
    var delivery: Task<Void, Never>?
    /// Messages that were taken in this run.
    private var taken = RecentSet<String>(capacity: 2000)
    /// What is not a message.
    private var malformed = RecentSet<Int>(capacity: 200)

    struct Pending: Sendable {
        let call: DaemonCall
        let letter: DeadLetter
        let isClaim: Bool
    }

    /// The cursor is written once in so long while messages come, and when none has come for a moment.
    private static let cursorPause: Duration = .seconds(10)
    private static let quietTime: Duration = .milliseconds(300)
    /// Events of each topic by which it is told that there was a run before.
    private static let rowsLookedAt: UInt32 = 100
    /// What a server keeps, in seconds.
    private static let cacheTime: Int64 = 12 * 3600

    init(
        _ server: NtfySettings.Server, _ services: BridgeServices, pictures: Pictures?,
        own: @escaping @Sendable (NtfyMessage) async -> (source: String, eventID: String)?
    ) {
        self.server = server
        self.services = services
        self.pictures = pictures
        self.own = own
        pending = RetryQueue(services.daemon, upTo: .seconds(15))
    }

    // MARK: On disk

    private nonisolated var prefix: String { "in \(server.address.name) " }

    /// Reads what the run before has left.
    func begin() async throws {
        delivery = services.loop.task { await self.deliverPending() }
        cursor = try await services.store.number(prefix + "cursor").map(Int64.init(clamping:))
        if cursor == nil, try await hasLostState() { beginAgain() }
        written = cursor
        newest = cursor ?? 0
        beginning = try await services.store.value(self.prefix + "beginning").flatMap {
            ServerClock.Beginning(record: $0)
        }
        let prefix = self.prefix + "sequence "
        for (key, value) in try await services.store.all(prefix: prefix) {
            if let key = SequenceTable.Key(key.dropFirst(prefix.count)) { sequences.restore(key, value) }
        }
    }

    /// Whether there was a run before this one, although the state knows of none.
    private func hasLostState() async throws -> Bool {
        if services.store.begunAnew != nil { return true }
        for topic in server.topics {
            guard let map = server.map(ofTopic: topic), let place = try? map.place(topic) else { continue }
            let call = DaemonCall("History", [.string("\(place)"), .uint64(0), .uint32(Self.rowsLookedAt)])
            let events = try await retrying { [daemon = services.daemon] () -> [RecordedEvent]? in
                let answer = await daemon.perform(call)
                if case .refusedForNow = answer { return nil }
                return answer.events ?? []
            }
            if events.contains(where: { $0.event.fields[NtfyEvent.topicField]?.string == topic }) { return true }
        }
        return false
    }

    /// Asks for everything that the server still keeps: what notifyd has is told by its global name.
    private func beginAgain() {
        cursor = max(SystemClock.wall / 1_000_000 - Self.cacheTime, 0)
        write()
        services.logger.error(
            "The state is lost; what the server keeps is asked for again",
            metadata: ["server": "\(server.address.name)"])
        services.status.setProblem(
            "\(server.address.name) state",
            "\(server.address.name): the state of the bridge is lost, so the messages of the last 12 hours are asked "
                + "for again; what is older and was not received is lost, and what was sent to the phone before is not "
                + "cleared there",
            "Nothing is to be done; the next start does not say this any more. The log names a damaged state file, if "
                + "there was one.")
    }

    /// From where the server is asked for messages; `nil`: nothing that is past.
    var since: Int64? { cursor.map { max($0 - ServerClock.margin, 0) } }

    private func save() {
        // That a sequence has ended is written when notifyd knows it: what is said again is passed over then.
        if !isEnding, !pending.contains(where: \.isClaim) {
            for (key, value) in sequences.takeChanges() {
                let key = "\(prefix)sequence \(key)"
                unsaved[key] = RecordChange(key, value)
            }
        }
        if isSwept, newest > 0 { cursor = newest }
        guard !unsaved.isEmpty || cursor != written else { return }
        if unsaved.isEmpty, written != nil, ContinuousClock.now - lastWrite < Self.cursorPause { return writeLater() }
        write()
    }

    /// While messages come, the disk is left to notifyd, which answers when they are on it. A cursor that is a bit old
    /// costs a few repeats after a crash.
    private func writeLater() {
        timer?.cancel()
        timer = services.loop.perform(after: Self.quietTime) { [self, loop = services.loop] in
            loop.task { await self.write() }
        }
    }

    private func write() {
        timer?.cancel()
        timer = nil
        lastWrite = .now
        if let cursor, cursor != written {
            written = cursor
            unsaved[prefix + "cursor"] = .put(prefix + "cursor", UInt64(cursor))
        }
        guard !unsaved.isEmpty, !isStopped else { return }
        let changes = unsaved
        unsaved = [:]
        services.store.write(Array(changes.values)) {
            [weak self, loop = services.loop, logger = services.logger] error in
            guard let error else { return }
            logger.error("The state cannot be written", metadata: ["error": "\(error)"])
            loop.task { [weak self] in await self?.keepUnsaved(changes) }
        }
    }

    /// They are written with the next ones.
    private func keepUnsaved(_ changes: [String: RecordChange]) {
        unsaved.merge(changes) { newer, _ in newer }
    }

    // MARK: Messages

    /// What the connection has to do after a line.
    enum Next: Equatable {
        case nothing
        /// The stream has begun. If the clock of the server was set back, everything that it keeps is fetched.
        case opened(clockWentBack: Bool)
        /// A message is to be fetched.
        case fetch(topic: String, id: String)
    }

    /// - Throws: `MapError` if the line is not a message. It is a dead letter then.
    func receive(_ line: [UInt8]) async throws(MapError) -> Next {
        if isReceiving { await withCheckedContinuation { turns.append($0) } }
        isReceiving = true
        defer { if turns.isEmpty { isReceiving = false } else { turns.removeFirst().resume() } }
        let message: NtfyMessage
        do throws(MapError) {
            message = try NtfyMessage(line: line)
        } catch {
            if malformed.insert(line.hashValue) {
                keep(DeadLetter(origin: server.address.name, reason: error.description, content: line))
            }
            throw error
        }
        return await handle(message, line)
    }

    /// A line was too long to be read. When it is said again, its beginning is the same, and so is its letter.
    func droppedLine(_ beginning: [UInt8]) {
        guard malformed.insert(~beginning.hashValue) else { return }
        keep(
            DeadLetter(
                origin: server.address.name,
                reason: "a message is longer than \(LineReader.maximumBytes) bytes; this is its beginning",
                content: beginning))
    }

    private func handle(_ message: NtfyMessage, _ line: [UInt8]) async -> Next {
        guard !isStopped else { return .nothing }
        switch message.event {
        case .open: return opened(at: message.time)
        case .keepalive:
            setClock(message.time)
            return .nothing
        case .unknown: return .nothing
        case .pollRequest:
            guard let id = message.pollID, NtfyMessage.isName(id), NtfyMessage.isName(message.topic) else {
                return .nothing
            }
            return .fetch(topic: message.topic, id: id)
        case .message, .clear, .delete:
            guard message.time >= clock.floor, taken.insert("\(message.topic)/\(message.id)") else { return .nothing }
            let ticket = inFlight.begin(message)
            if SequenceName.isOwn(message.sequence) {
                if message.event != .message { await endOwn(message) }
            } else if let map = server.map(ofTopic: message.topic) {
                if message.event == .message {
                    await publish(message, map, line, ticket)
                    return .nothing
                }
                await end(message, ticket)
            }
            done(ticket)
            return .nothing
        }
    }

    /// A message is with notifyd, or never will be.
    func done(_ ticket: UInt64) {
        guard !isStopped else { return }
        if let time = inFlight.end(ticket), let time = clock.limited(time, at: ContinuousClock.now - start) {
            newest = max(newest, time)
        }
        save()
        wake()
    }

    private func setClock(_ time: Int64) { clock.setTime(time, at: ContinuousClock.now - start) }

    private func opened(at time: Int64) -> Next {
        let local = SystemClock.wall / 1_000_000
        let begun = cursor == nil ? ServerClock.Beginning(server: time, local: local) : known(local)
        if begun != beginning {
            beginning = begun
            unsaved[prefix + "beginning"] = .put(prefix + "beginning", begun.record)
        }
        clock.open(at: time, local: local, since: begun)
        setClock(time)
        guard let cursor else {
            // The first connection of all: from now on nothing is missed.
            newest = time
            save()
            return .opened(clockWentBack: false)
        }
        isSwept = false
        guard time + 2 * ServerClock.margin < cursor, inFlight.isEmpty else { return .opened(clockWentBack: false) }
        newest = max(time - Self.cacheTime, 0)
        self.cursor = newest
        return .opened(clockWentBack: true)
    }

    /// The first connection of all. A version before 0.2 did not write it; what the server keeps is taken then.
    private func known(_ local: Int64) -> ServerClock.Beginning {
        beginning
            ?? ServerClock.Beginning(
                server: max((cursor ?? 0) - Self.cacheTime, 0), local: local - Self.cacheTime)
    }

    /// What was said while the stream began is taken, too.
    func endSweep() async {
        let last = inFlight.lastTicket
        while !inFlight.isDone(upTo: last), !isStopped { await waitForAnswer() }
        // A later connection has a sweep of its own.
        guard !isStopped, !Task.isCancelled else { return }
        isSwept = true
        save()
    }

    private func publish(_ message: NtfyMessage, _ map: SubscribeMap, _ line: [UInt8], _ ticket: UInt64) async {
        let origin = "\(server.address.name)/\(message.topic)"
        let event: NtfyEvent
        do throws(MapError) {
            guard let made = try map.eventUnlessLeftOut(message) else { return done(ticket) }
            event = made
        } catch {
            return await keep(DeadLetter(origin: origin, reason: error.description, content: line), ticket)
        }
        let letter = DeadLetter(topic: event.topic.description, origin: origin, content: line)
        // An update comes after what it updates.
        await waitForEarlier(than: ticket)
        guard let ending = sequences.received(message) else {
            return await submit(event, of: message, withPicture: map.hasImages, letter, ticket)
        }
        // It was read elsewhere before it came: with its claim before it, it never gets a banner.
        await claim(event.eventID, of: message, ending, letter)
        let next = inFlight.begin(message)
        done(ticket)
        await submit(event, of: message, withPicture: map.hasImages, letter, next)
    }
}
