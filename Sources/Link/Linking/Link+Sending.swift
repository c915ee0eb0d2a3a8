import DequeModule
import NotifyText

/// Rule 1 of docs/link.md: rows of the journal that began on this device are sent, in order, each with the number of
/// the one before it.
extension Link {
    /// What the journal is read for, at most once at a time.
    enum Reading {
        case newest, rows, backlog, answer, value
    }

    struct Outgoing {
        /// A row on its way to the broker.
        struct InFlight {
            let position: LineRecord.Cursor
            /// Its messages that are not acknowledged: on `s/` and, for values, on `v/`.
            var tokens: [MessageToken]
        }

        /// How far rows were handled on this connection.
        var position = LineRecord.Cursor(scanned: 0, sent: 0)
        var rows = Deque<Change>()
        /// Whether the journal may have rows after those read.
        var hasMore = true
        /// The number of the newest row must not be below this, which was known when it was requested. Rows that are
        /// read before the answer comes may be newer than it.
        var leastNewest: UInt64 = 0
        /// Whether the device has a new name, and has not been connected under it.
        var isReset = false
        var inFlight = Deque<InFlight>()
        /// The highest number that this program has sent.
        var highest: UInt64 = 0
        /// The highest number under the own Device that this program has not sent.
        var highestForeign: UInt64 = 0
        var eventQuota: TokenBucket?
        /// No row is sent or read before.
        var next: Uptime?
        /// How far the streams of others were in the journal when the rows were requested.
        var floors: [Device: UInt64]?
        var checkpointed: Uptime?
        var backlog = Backlog()
        /// The longest text of a message that the broker takes, in bytes.
        var longestText = Message.maximumTextBytes
        /// The highest number whose event was too long for the broker, and was rejected.
        var reportedTooLong: UInt64 = 0

    }

    /// What the broker has acknowledged.
    var cursor: LineRecord.Cursor { line?.cursor ?? LineRecord.Cursor(scanned: 0, sent: 0) }

    /// Whether everything in the journal has been sent, and acknowledged.
    var isAllSent: Bool { !out.hasMore && reads[.rows] == nil && out.rows.isEmpty && out.inFlight.isEmpty }

    private static let checkpointInterval: Duration = .seconds(60)
    private static let maximumCheckpoints = 8

    mutating func daemonAppeared(at now: Now) {
        isDaemonThere = true
        reads = [:]
        out.hasMore = true
        out.next = nil
        out.backlog.hasMore = true
        readNewest()
    }

    mutating func readNewest() {
        out.leastNewest = max(line?.seen ?? 0, out.highestForeign)
        effects.append(.readNewest(beginReading(.newest)))
    }

    mutating func readRows(for reading: Reading, after number: UInt64, limit: UInt32) {
        effects.append(.readChanges(beginReading(reading), after: number, limit: limit))
    }

    private mutating func beginReading(_ reading: Reading) -> ReadToken {
        let token = ReadToken(rawValue: token())
        reads[reading] = token
        return token
    }

    /// - Returns: what was read; `nil` if the answer is not wanted any more.
    private mutating func endReading(_ token: ReadToken) -> Reading? {
        guard let reading = reads.first(where: { $0.value == token })?.key else { return nil }
        reads[reading] = nil
        return reading
    }

    mutating func daemonVanished() {
        isDaemonThere = false
        reads = [:]
        holds = Holds()
        requeueCalls()
    }

    /// Rule 6: a new device sends nothing of what was before it.
    mutating func handleNewest(_ number: UInt64, at now: Now) {
        guard reads.removeValue(forKey: .newest) != nil else { return }
        if line == nil {
            out.position = LineRecord.Cursor(scanned: number, sent: number)
            line = LineRecord(
                first: number, cursor: out.position, seen: number, connection: 0, counter: 0, hasJoined: false,
                version: Message.version)
            unsaved.line = true
            disk.flush = now.uptime
        }
        if out.isReset, number < line!.seen {
            // Because numbers fell back: nobody knows what the journal has lost.
            line!.seen = number
            out.leastNewest = out.highestForeign
            if number < line!.first {
                out.position = LineRecord.Cursor(scanned: 0, sent: 0)
                line!.first = 0
                line!.cursor = out.position
                out.backlog = Backlog()
            }
            unsaved.line = true
            journalWasRestored(to: 0)
        }
        out.isReset = false
        // Numbers that others have received cannot be given out again.
        if number < out.leastNewest {
            fail(.numbersFellBack, at: now)
        } else if number < out.highestForeign {
            readNewest()
        }
        if wantsWill { connect(at: now) }
    }

    mutating func readFailed(_ token: ReadToken, at now: Now) {
        let later = now.uptime + .seconds(1)
        switch endReading(token) {
        case .rows: out.next = later
        case .backlog: (out.backlog.next, out.backlog.hasMore) = (later, true)
        case .newest: if isDaemonThere { daemonAppeared(at: now) }
        case .answer: (answers.next, answers.current) = (later, nil)
        case .value, nil: break
        }
    }

    /// What is sent of a row on this line; `nil` if nothing.
    func content(of change: Change) -> StreamEntry.Content? {
        let isFromElsewhere =
            switch configuration.kind {
            case .link:
                change.via == Configuration.linkName
                    || change.via.utf8.starts(with: "\(Configuration.linkName):".utf8)
            // What other bridges bring is on every device of its user: each of them would send it here.
            case .channel: !change.via.isEmpty
            }
        guard !isFromElsewhere, let content = change.content, let (name, topic) = content.subject,
            shares(name, topic)
        else { return nil }
        if configuration.isChannel, case .claim = content { return nil }
        return content
    }

    /// Whether an event is sent to other devices.
    func shares(_ name: GlobalName, _ topic: Topic) -> Bool { !name.isLocal && configuration.shares(topic) }

    /// How long an event is, and how long it may be for the broker; `nil` if it fits.
    private func excess(_ content: StreamEntry.Content) -> (count: Int, longest: Int)? {
        guard content.mayBeLonger(than: out.longestText / 8) else { return nil }
        let count = StreamEntry(number: 1, previous: 0, content: content).encodedCount
        let longest = out.longestText - Message.longestFrame
        return count > longest ? (count, longest) : nil
    }

    /// Replaces an event that is too long for the broker: others learn that there is nothing.
    func fitting(_ content: StreamEntry.Content) -> StreamEntry.Content { excess(content) == nil ? content : .nothing }

    /// The same for a row that is sent for the first time: it becomes a dead letter. A row may be handled several
    /// times.
    private mutating func fitting(_ content: StreamEntry.Content, of number: UInt64) -> StreamEntry.Content {
        guard let (count, longest) = excess(content) else { return content }
        if number > out.reportedTooLong {
            out.reportedTooLong = number
            let reason = "the event has \(count) bytes as a message, and the broker takes at most \(longest)"
            reject(StreamEntry(number: number, previous: number - 1, content: content), of: own, because: reason)
        }
        return .nothing
    }

    /// The broker takes only shorter messages than was thought: what it has not acknowledged is sent again, as far as
    /// it fits.
    mutating func limitText(to count: Int) {
        let isLess = count < out.longestText
        out.longestText = min(count, Message.maximumTextBytes)
        guard isLess, connection.isUp else { return }
        answers.flightFailed()
        forgetValueInFlight()
        rewindRows()
    }

    mutating func sendRows(at now: Now) {
        guard line != nil, out.next == nil || isDue(out.next, at: now) else { return }
        out.next = nil
        while let change = out.rows.first, connection.isUp, out.inFlight.count < limits.messagesInFlight,
            !isAheadOfListeners
        {
            if limits.eventsPerSecond > 0, content(of: change) != nil {
                let interval = Duration.seconds(1) / limits.eventsPerSecond
                var quota = out.eventQuota ?? TokenBucket(every: interval, burst: limits.eventsPerSecond)
                defer { out.eventQuota = quota }
                guard quota.take(at: now.uptime.duration) else {
                    // Times have whole microseconds.
                    out.next = now.uptime + quota.wait(at: now.uptime.duration) + .microseconds(1)
                    break
                }
            }
            out.rows.removeFirst()
            handle(change, at: now)
        }
        guard connection.isUp, isDaemonThere, out.hasMore, reads[.rows] == nil, out.rows.isEmpty, out.next == nil else {
            return
        }
        out.hasMore = false
        let isTime = out.checkpointed.map { now.uptime >= $0 + Self.checkpointInterval } ?? true
        out.floors = isTime ? peers.filter { $0.value.record.start != nil }.mapValues(\.floor) : nil
        readRows(for: .rows, after: out.position.scanned, limit: limits.rowsPerPage)
    }

    mutating func handlePage(_ page: ChangesPage, _ token: ReadToken, at now: Now) {
        switch endReading(token) {
        case .rows: break
        case .backlog: return countBacklog(in: page, at: now)
        case .answer: return sendAnswer(from: page, at: now)
        case .value: return writeValue(from: page, at: now)
        case .newest, nil: return
        }
        count(page.changes)
        out.rows = Deque(page.changes)
        if !page.isLast { out.hasMore = true } else { storeCheckpoints(page, at: now) }
        // Rows that are not sent need no connection.
        while let change = out.rows.first, content(of: change) == nil {
            out.rows.removeFirst()
            handle(change, at: now)
        }
    }

    private mutating func handle(_ change: Change, at now: Now) {
        guard change.number > out.position.scanned else { return }
        detectRestoredJournal(at: change)
        dropReplacedValue(by: change)
        let position = out.position
        out.position.scanned = change.number
        guard let content = content(of: change) else {
            if out.inFlight.isEmpty { moveCursor(to: out.position) }
            return
        }
        out.position.sent = change.number
        out.highest = max(out.highest, change.number)
        let entry = StreamEntry(
            number: change.number, previous: position.sent, content: fitting(content, of: change.number))
        var tokens = [send(.entry(entry), to: .stream(own), at: now)]
        if let token = sendValue(content, of: change.number, fits: entry.content != .nothing, at: now) {
            tokens.append(token)
        }
        out.inFlight.append(Outgoing.InFlight(position: out.position, tokens: tokens))
        connection.hasNews = true
        countSentRow(at: now)
    }

    @discardableResult
    mutating func send(_ body: Message.Body, to address: Address, at now: Now) -> MessageToken {
        let token = MessageToken(rawValue: token())
        effects.append(.send(token, address, Message(device: own, at: now.wall, body: body)))
        return token
    }

    mutating func acknowledged(_ token: MessageToken, at now: Now) {
        if token == values.inFlight {
            values.inFlight = nil
            return
        }
        if token == answers.inFlight?.token {
            answers.inFlight = nil
            return
        }
        // The broker nearly always acknowledges in order.
        guard let index = out.inFlight.firstIndex(where: { $0.tokens.contains(token) }) else { return }
        out.inFlight[index].tokens.removeAll { $0 == token }
        while let inFlight = out.inFlight.first, inFlight.tokens.isEmpty {
            out.inFlight.removeFirst()
            out.backlog.count = max(0, out.backlog.count - 1)
            moveCursor(to: out.inFlight.isEmpty ? out.position : inFlight.position)
        }
    }

    private mutating func moveCursor(to cursor: LineRecord.Cursor) {
        line?.cursor = cursor
        unsaved.line = true
    }

    /// Sends again what was not acknowledged, from the journal: rule 1.
    mutating func rewindRows() {
        flow = FlowControl()
        out.position = cursor
        out.rows = []
        out.inFlight = []
        reads[.rows] = nil
        out.hasMore = true
        out.backlog.hasMore = true
    }

    // MARK: A journal restored from a backup

    private mutating func storeCheckpoints(_ page: ChangesPage, at now: Now) {
        guard let floors = out.floors else { return }
        out.floors = nil
        out.checkpointed = now.uptime
        let own = max(out.position.scanned, page.changes.last?.number ?? 0)
        for (device, floor) in floors {
            guard var checkpoints = peers[device]?.record.checkpoints, checkpoints.last?.theirs != floor else {
                continue
            }
            checkpoints.append(DeviceRecord.Checkpoint(own: own, theirs: floor))
            if checkpoints.count > Self.maximumCheckpoints {
                // The older, the sparser.
                let inner = checkpoints.indices.dropFirst().dropLast()
                let weights = inner.map { index in
                    Double(checkpoints[index + 1].own - checkpoints[index - 1].own)
                        / Double(own - checkpoints[index].own + 1)
                }
                let least = zip(inner, weights).min { $0.1 < $1.1 }!.0
                checkpoints.remove(at: least)
            }
            peers[device]?.record.checkpoints = checkpoints
            unsaved.devices.insert(device)
        }
    }

    /// Whichever reading of the journal comes to a row first finds out whether the journal was restored before it.
    mutating func detectRestoredJournal(at change: Change) {
        guard let seen = line?.seen, change.number > seen else { return }
        if let last = change.lastBeforeStart, seen > last { journalWasRestored(to: last) }
        line!.seen = change.number
        unsaved.line = true
    }

    /// What others sent since the backup is lost: it is missing again. What this device sent is with the others, and of
    /// that its values come back from the broker.
    private mutating func journalWasRestored(to last: UInt64) {
        for device in peers.keys {
            guard var peer = peers[device], let start = peer.record.start else { continue }
            peer.record.checkpoints.removeAll { $0.own > last }
            let floor = peer.record.checkpoints.last?.theirs ?? start
            if floor < peer.record.received {
                peer.open.insert(floor..<peer.record.received)
            }
            peers[device] = peer
            unsaved.devices.insert(device)
        }
        for digest in Array(values.seen.keys) { forgetValueOnBroker(digest) }
        for (digest, value) in values.authored where value.number > last {
            values.authored[digest] = nil
            values.confirmed.remove(digest)
            unsaved.values.insert(digest)
        }
        effects.append(.subscribeAgain)
    }
}

extension StreamEntry.Content {
    /// Whether there are more than so many bytes of text, or texts that take some time to count. Only events can be
    /// long.
    fileprivate func mayBeLonger(than count: Int) -> Bool {
        guard case .event(let event) = self else { return false }
        return !event.fields.isEmpty || !event.options.isEmpty
            || event.title.utf8.count + event.body.utf8.count > count
    }
}
