import Logging
import Mapping
import NotifyBridge
import NotifyClient
import NtfyMessages
import NtfySettings
import Routing

/// Takes what a server says to notifyd, one message after the other. The cursor moves when notifyd has the event on disk, so what is
/// said again after a crash is told by its global name.
actor Intake {
    private let server: NtfySettings.Server
    private let services: BridgeServices
    /// The global name of the event that a message was made of which this bridge has sent, unless it has ended.
    private let own: @Sendable (NtfyMessage) async -> (source: String, eventID: String)?
    private let pictures: Pictures?
    private let turn = Turn()

    /// The newest time of the server up to which everything is done; `nil` before the first connection.
    private var cursor: Int64?
    /// The cursor on disk.
    private var written: Int64?
    /// The newest time of all, also of what waits for notifyd.
    private var newest: Int64 = 0
    /// Whether a sweep has found what was said while the stream began. Until then the cursor stays.
    private var isSwept = true
    private var sequences = SequenceTable()
    /// What waits for notifyd, which is away or full.
    private var held: [Held] = []
    private var holding: Task<Void, Never>?
    /// Messages that were taken in this run.
    private var taken = RecentSet(capacity: 2000)
    private var strange = RecentSet(capacity: 200)

    private struct Held: Sendable {
        let call: DaemonCall
        let letter: DeadLetter
    }

    /// What waits at most; then the connection waits too.
    static let maximumHeld = 100
    /// Messages of a second come in any order, and some are late.
    private static let margin: Int64 = 30
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
    }

    // MARK: On disk

    private nonisolated var prefix: String { "in \(server.address.name) " }

    /// Reads what the run before has left.
    func begin() async throws {
        cursor = try await services.store.number(prefix + "cursor").map(Int64.init(clamping:))
        written = cursor
        newest = cursor ?? 0
        let prefix = self.prefix + "sequence "
        for (key, value) in try await services.store.all(prefix: prefix) {
            let parts = key.dropFirst(prefix.count).split(separator: "/")
            guard parts.count == 2 else { continue }
            sequences.restore(SequenceTable.Key(topic: String(parts[0]), sequence: String(parts[1])), value)
        }
    }

    /// From where the server is asked for messages; `nil`: nothing that is past.
    var since: Int64? { cursor.map { max($0 - Self.margin, 0) } }

    private func save() {
        var changes = sequences.takeChanges().map { key, value -> RecordChange in
            let key = "\(prefix)sequence \(key.topic)/\(key.sequence)"
            return value.map { .put(key, $0) } ?? .remove(key)
        }
        if held.isEmpty, isSwept, newest != written {
            (cursor, written) = (newest, newest)
            changes.append(.put(prefix + "cursor", UInt64(newest)))
        }
        guard !changes.isEmpty else { return }
        services.store.write(changes) { [logger = services.logger] error in
            if let error { logger.error("The state cannot be written", metadata: ["error": "\(error)"]) }
        }
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

    /// - Throws: `NtfyError` if the line is no message. It is a dead letter then.
    func take(_ line: [UInt8]) async throws -> Next {
        try await turn.perform {
            let message: NtfyMessage
            do throws(NtfyError) {
                message = try NtfyMessage(line: line)
            } catch {
                if strange.insert("\(line.hashValue)") {
                    await keep(DeadLetter(origin: server.address.name, reason: error.description, content: line))
                }
                throw error
            }
            return await take(message, line)
        }
    }

    /// A line was too long to be read.
    func droppedLine() async {
        guard strange.insert("long \(newest)") else { return }
        await keep(
            DeadLetter(
                origin: server.address.name, reason: "a message is longer than \(LineReader.maximumBytes) bytes"))
    }

    private func take(_ message: NtfyMessage, _ line: [UInt8]) async -> Next {
        switch message.event {
        case .open: return opened(at: message.time)
        case .keepalive, .unknown: return .nothing
        case .pollRequest:
            guard let id = message.pollID, NtfyMessage.isName(id), NtfyMessage.isName(message.topic) else {
                return .nothing
            }
            return .fetch(topic: message.topic, id: id)
        case .message, .clear, .delete:
            guard taken.insert("\(message.topic)/\(message.id)") else { return .nothing }
            if SequenceName.isOwn(message.sequence) {
                if message.event != .message { await endOwn(message) }
            } else if let map = server.map(ofTopic: message.topic) {
                if message.event == .message {
                    await publish(message, map, line)
                } else {
                    await end(message)
                }
            }
            newest = max(newest, message.time)
            save()
            return .nothing
        }
    }

    private func opened(at time: Int64) -> Next {
        guard let cursor else {
            // The first connection of all: from now on nothing is missed.
            newest = time
            save()
            return .opened(clockWentBack: false)
        }
        isSwept = false
        guard time + 2 * Self.margin < cursor, held.isEmpty else { return .opened(clockWentBack: false) }
        newest = max(time - Self.cacheTime, 0)
        self.cursor = newest
        return .opened(clockWentBack: true)
    }

    /// What was said while the stream began is taken, too.
    func swept() {
        isSwept = true
        save()
    }

    private func publish(_ message: NtfyMessage, _ map: SubscribeMap, _ line: [UInt8]) async {
        let origin = "\(server.address.name)/\(message.topic)"
        let event: NtfyEvent
        do throws(MapError) {
            event = try map.event(of: message)
        } catch {
            return await keep(DeadLetter(origin: origin, reason: error.description, content: line))
        }
        let letter = DeadLetter(topic: event.topic.description, origin: origin, reason: "", content: line)
        // It was read elsewhere before it came: with its claim before it, it never gets a banner.
        if let ending = sequences.received(message) {
            await perform(claim(event.eventID, ofTopic: message.topic, ending), letter)
        }
        let picture = map.hasImages ? await pictures?.fetch(for: message, from: server) : nil
        await perform(event.call(from: server.address, message.topic, picture: picture), letter)
    }

    private func end(_ message: NtfyMessage) async {
        let ending: SequenceTable.Ending = message.event == .clear ? .cleared : .deleted
        let letter = DeadLetter(origin: "\(server.address.name)/\(message.topic)", reason: "")
        for name in sequences.ended(message, ending) {
            await perform(claim(name, ofTopic: message.topic, ending), letter, mayPass: true)
        }
    }

    /// The user has read or deleted there what this bridge has sent.
    private func endOwn(_ message: NtfyMessage) async {
        guard let name = await own(message) else { return }
        let letter = DeadLetter(origin: "\(server.address.name)/\(message.topic)", reason: "")
        await perform(claim(source: name.source, name.eventID, .cleared), letter, mayPass: true)
    }

    private func claim(_ eventID: String, ofTopic topic: String, _ ending: SequenceTable.Ending) -> DaemonCall {
        claim(source: server.address.source(ofTopic: topic), eventID, ending)
    }

    private func claim(source: String, _ eventID: String, _ ending: SequenceTable.Ending) -> DaemonCall {
        .claimNamed(
            source: source, eventID: eventID,
            options: [
                "via": .string(server.address.via), "device": .string(server.address.device),
                ending == .cleared ? "dismissed" : "withdrawn": .boolean(true),
            ])
    }

    // MARK: notifyd

    /// Asks notifyd, and returns when it has answered, or when the call waits for it.
    ///
    /// - Parameter mayPass: claims make room, so they go before what waits.
    private func perform(_ call: DaemonCall, _ letter: DeadLetter, mayPass: Bool = false) async {
        if held.isEmpty || mayPass {
            switch await services.daemon.perform(call) {
            case .done: return
            case .refused(let error): return await keep(letter, error)
            case .refusedForNow: break
            }
        }
        held.append(Held(call: call, letter: letter))
        if holding == nil { holding = Task { await self.deliverHeld() } }
        if held.count >= Self.maximumHeld { await holding?.value }
    }

    private func deliverHeld() async {
        var backoff = Backoff(upTo: .seconds(15))
        while let first = held.first, !Task.isCancelled {
            switch await services.daemon.perform(first.call) {
            case .done: backoff.reset()
            case .refused(let error): await keep(first.letter, error)
            case .refusedForNow:
                try? await Task.sleep(for: backoff.next())
                continue
            }
            held.removeFirst()
        }
        holding = nil
        save()
    }

    /// The task that waits for notifyd ends; what waits is asked for again after the next start.
    func stop() { holding?.cancel() }

    private func keep(_ letter: DeadLetter, _ error: NotifyError) async {
        var letter = letter
        letter.reason = error.message
        await keep(letter)
    }

    private func keep(_ letter: DeadLetter) async {
        // Who knows the name of a topic can read it, so it is not logged.
        services.logger.warning(
            "A message cannot be taken", metadata: ["server": "\(server.address.name)", "error": "\(letter.reason)"])
        do throws(StoreError) {
            try await services.store.keep(letter)
        } catch {
            services.logger.error("A dead letter cannot be kept", metadata: ["error": "\(error)"])
        }
    }
}
