import DequeModule
import NotifyText

/// Rule 1 of docs/link.md: what began on this device is said, in the order of the journal, chained by number.
extension Link {
    struct Out {
        typealias Cursor = LineRecord.Cursor

        /// A row on its way to the broker.
        struct InFlight {
            let position: Cursor
            /// Its messages that are not acknowledged: on `s/` and, for values, on `v/`.
            var tokens: [MessageToken]
        }

        /// What the broker has acknowledged.
        var cursor = Cursor(scanned: 0, said: 0)
        /// How far rows were handled on this connection.
        var position = Cursor(scanned: 0, said: 0)
        var rows = Deque<Change>()
        /// Whether the journal may have rows after those read.
        var hasMore = true
        var reading: ReadToken?
        var newestReading: ReadToken?
        /// The number of the newest row must not be below this, which was known when it was asked for. Rows that are
        /// read before the answer is there may be newer than it.
        var leastNewest: UInt64 = 0
        /// Whether the device has a new name, and has not been connected under it.
        var isReset = false
        var inFlight = Deque<InFlight>()
        /// The highest number this program has said.
        var highest: UInt64 = 0
        /// The highest number under the own Device that this program has not said.
        var foreign: UInt64 = 0
        var events: TokenBucket?
        /// Nothing is said or read before.
        var next: Uptime?
        /// How far the streams of others were in the journal when the rows were asked for.
        var floors: [Device: UInt64]?
        var checkpointed: Uptime?
        var backlog = Backlog()
        /// The longest text of a message that the broker takes, in bytes.
        var longestText = Message.maximumTextBytes
        /// The highest number whose event was too long for the broker, and was told as a dead letter.
        var toldTooLong: UInt64 = 0

        /// Whether everything in the journal has been said, and acknowledged.
        var isEmpty: Bool { !hasMore && reading == nil && rows.isEmpty && inFlight.isEmpty }
    }

    private static let checkpointInterval: Duration = .seconds(60)
    private static let maximumCheckpoints = 8

    mutating func start(at now: Now) {
        nextDrop = now.uptime
    }

    mutating func daemonAppeared(at now: Now) {
        isDaemonThere = true
        out.hasMore = true
        out.reading = nil
        out.next = nil
        out.backlog.hasMore = true
        out.backlog.reading = nil
        answering.reading = nil
        values.reading = nil
        readNewest()
    }

    mutating func readNewest() {
        let token = ReadToken(rawValue: token())
        out.newestReading = token
        out.leastNewest = max(line?.seen ?? 0, out.foreign)
        effects.append(.readNewest(token))
    }

    mutating func daemonVanished() {
        isDaemonThere = false
        out.reading = nil
        out.newestReading = nil
        out.backlog.reading = nil
        answering.reading = nil
        values.reading = nil
        holds = Holds()
        takeBackCalls()
    }

    /// Rule 6: a new device says nothing of what was before it.
    mutating func foundNewest(_ number: UInt64, at now: Now) {
        guard out.newestReading != nil else { return }
        out.newestReading = nil
        if line == nil {
            let cursor = Out.Cursor(scanned: number, said: number)
            line = LineRecord(
                first: number, cursor: cursor, seen: number, connection: 0, counter: 0, hasJoined: false,
                version: Message.version)
            out.cursor = cursor
            out.position = cursor
            disk.lineChanged = true
            disk.flush = now.uptime
        }
        if out.isReset, number < line!.seen {
            // Because numbers fell back: nobody knows what the journal has lost.
            line!.seen = number
            out.leastNewest = out.foreign
            if number < line!.first {
                let cursor = Out.Cursor(scanned: 0, said: 0)
                line!.first = 0
                line!.cursor = cursor
                out.cursor = cursor
                out.position = cursor
                recountBacklog()
            }
            disk.lineChanged = true
            journalWasRestored(to: 0)
        }
        out.isReset = false
        // Numbers that others have taken cannot be given out again.
        if number < out.leastNewest {
            fail(.numbersFellBack, at: now)
        } else if number < out.foreign {
            readNewest()
        }
        if wantsWill { connect(at: now) }
    }

    mutating func readFailed(_ token: ReadToken, at now: Now) {
        let later = now.uptime + .seconds(1)
        switch token {
        case out.reading: (out.reading, out.next) = (nil, later)
        case out.backlog.reading: (out.backlog.reading, out.backlog.next, out.backlog.hasMore) = (nil, later, true)
        case out.newestReading: if isDaemonThere { daemonAppeared(at: now) }
        case answering.reading: (answering.reading, answering.next, answering.current) = (nil, later, nil)
        case values.reading: values.reading = nil
        default: break
        }
    }

    /// What a row says on this line; `nil` if nothing.
    func content(of change: Change) -> Said.Content? {
        let isFromElsewhere: Bool
        switch configuration.kind {
        case .link:
            isFromElsewhere =
                change.via == Configuration.linkName || change.via.utf8.starts(with: "\(Configuration.linkName):".utf8)
        case .channel:
            // What other bridges bring is on every device of its user: each of them would say it here.
            isFromElsewhere = !change.via.isEmpty
        }
        guard !isFromElsewhere else { return nil }
        switch change.kind {
        case .event(let event): return shares(event.name, event.topic) ? .event(event) : nil
        case .claim(let claim):
            return !configuration.isChannel && shares(claim.name, claim.topic) ? .claim(claim) : nil
        case .removal(let removal): return shares(removal.name, removal.topic) ? .removal(removal) : nil
        case .other, .start: return nil
        }
    }

    /// Whether others hear of an event.
    func shares(_ name: GlobalName, _ topic: Topic) -> Bool { !name.isLocal && configuration.shares(topic) }

    /// How many bytes an event is longer than what the broker takes; `nil` if it is not.
    private func excess(_ content: Said.Content) -> (count: Int, longest: Int)? {
        guard content.mayBeLonger(than: out.longestText / 8) else { return nil }
        let count = Said(number: 1, previous: 0, content: content).encodedCount
        let longest = out.longestText - Message.longestFrame
        return count > longest ? (count, longest) : nil
    }

    func fits(_ content: Said.Content) -> Bool { excess(content) == nil }

    /// An event that is too long for the broker: others learn that there is nothing.
    func fitting(_ content: Said.Content) -> Said.Content { fits(content) ? content : .nothing }

    /// The same for a row that is said for the first time: it is told as a dead letter. A row may be handled several
    /// times.
    private mutating func fitting(_ content: Said.Content, of number: UInt64) -> Said.Content {
        guard let (count, longest) = excess(content) else { return content }
        if number > out.toldTooLong {
            out.toldTooLong = number
            let reason = "the event has \(count) bytes as a message, and the broker takes at most \(longest)"
            let said = Said(number: number, previous: number - 1, content: content)
            keep(DeadLetter(device: own, reason: reason, said: said))
        }
        return .nothing
    }

    /// The broker takes only shorter messages than was thought: what it has not acknowledged is said again, as far as
    /// it fits.
    mutating func limitText(to count: Int) {
        let isLess = count < out.longestText
        out.longestText = min(count, Message.maximumTextBytes)
        guard isLess, connection.isUp else { return }
        answering.flightFailed()
        values.forgetInFlight()
        rewindOut()
    }

    mutating func say(at now: Now) {
        guard line != nil, !isDueLater(out.next, at: now) else { return }
        out.next = nil
        while let change = out.rows.first, connection.isUp, out.inFlight.count < limits.messagesInFlight,
            !isAheadOfListeners
        {
            if limits.eventsPerSecond > 0, content(of: change) != nil {
                var bucket =
                    out.events
                    ?? TokenBucket(every: Duration.seconds(1) / limits.eventsPerSecond, burst: limits.eventsPerSecond)
                defer { out.events = bucket }
                guard bucket.take(at: now.uptime.duration) else {
                    // Times have whole microseconds.
                    out.next = now.uptime + bucket.wait(at: now.uptime.duration) + .microseconds(1)
                    break
                }
            }
            out.rows.removeFirst()
            handle(change, at: now)
        }
        guard connection.isUp, isDaemonThere, out.hasMore, out.reading == nil, out.rows.isEmpty, out.next == nil else {
            return
        }
        out.hasMore = false
        let token = ReadToken(rawValue: token())
        out.reading = token
        let isTime = out.checkpointed.map { now.uptime >= $0 + Self.checkpointInterval } ?? true
        out.floors = isTime ? peers.filter { $0.value.record.start != nil }.mapValues(\.floor) : nil
        effects.append(.readChanges(token, after: out.position.scanned, limit: limits.rowsPerPage))
    }

    private func isDueLater(_ moment: Uptime?, at now: Now) -> Bool { moment.map { $0 > now.uptime } ?? false }

    mutating func took(_ page: ChangesPage, _ token: ReadToken, at now: Now) {
        if token == answering.reading { return answered(page, at: now) }
        if token == values.reading { return tookValue(page, at: now) }
        if token == out.backlog.reading { return tookBacklog(page, at: now) }
        guard token == out.reading else { return }
        out.reading = nil
        count(page.changes)
        out.rows = Deque(page.changes)
        if !page.isLast { out.hasMore = true } else { keepCheckpoints(page, at: now) }
        // Rows that say nothing need no connection.
        while let change = out.rows.first, content(of: change) == nil {
            out.rows.removeFirst()
            handle(change, at: now)
        }
    }

    private mutating func handle(_ change: Change, at now: Now) {
        guard change.number > out.position.scanned else { return }
        noteNumber(of: change)
        noteReplacement(by: change)
        let position = out.position
        out.position.scanned = change.number
        guard let content = content(of: change) else {
            if out.inFlight.isEmpty { moveCursor(to: out.position, at: now) }
            return
        }
        out.position.said = change.number
        out.highest = max(out.highest, change.number)
        let fitting = fitting(content, of: change.number)
        let said = Said(number: change.number, previous: position.said, content: fitting)
        var tokens = [say(.said(said), on: .stream(own), at: now)]
        if let token = sayValue(change.number, content, fits: fitting != .nothing, at: now) { tokens.append(token) }
        out.inFlight.append(Out.InFlight(position: out.position, tokens: tokens))
        statistics.said += 1
        connection.hasNews = true
        noteSaidRow(at: now)
    }

    mutating func say(_ body: Message.Body, on address: Address, at now: Now) -> MessageToken {
        let token = MessageToken(rawValue: token())
        effects.append(.say(token, address, Message(device: own, at: now.wall, body: body)))
        return token
    }

    mutating func acknowledged(_ token: MessageToken, at now: Now) {
        if values.acknowledged(token) { return }
        if token == answering.inFlight?.token {
            answering.inFlight = nil
            return
        }
        // The broker nearly always acknowledges in order.
        guard let index = out.inFlight.firstIndex(where: { $0.tokens.contains(token) }) else { return }
        out.inFlight[index].tokens.removeAll { $0 == token }
        while let inFlight = out.inFlight.first, inFlight.tokens.isEmpty {
            out.inFlight.removeFirst()
            out.backlog.count = max(0, out.backlog.count - 1)
            moveCursor(to: out.inFlight.isEmpty ? out.position : inFlight.position, at: now)
        }
    }

    private mutating func moveCursor(to cursor: Out.Cursor, at now: Now) {
        out.cursor = cursor
        line?.cursor = cursor
        disk.lineChanged = true
    }

    /// What was not acknowledged is said again, from the journal: rule 1.
    mutating func rewindOut() {
        pace = Pace()
        out.position = out.cursor
        out.rows = []
        out.inFlight = []
        out.reading = nil
        out.hasMore = true
        out.backlog.hasMore = true
    }

    // MARK: A journal restored from a backup

    private mutating func keepCheckpoints(_ page: ChangesPage, at now: Now) {
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
            disk.devices.insert(device)
        }
    }

    /// Of two readings of the journal, the one that comes to a row first finds out whether the journal was restored
    /// before it.
    mutating func noteNumber(of change: Change) {
        guard let seen = line?.seen, change.number > seen else { return }
        if case .start(let last) = change.kind, seen > last { journalWasRestored(to: last) }
        line!.seen = change.number
        disk.lineChanged = true
    }

    /// What others said since the backup is lost: it is missing again. What this device said is with the others, and of
    /// that its values come back from the broker.
    private mutating func journalWasRestored(to last: UInt64) {
        for device in peers.keys {
            guard var peer = peers[device], let start = peer.record.start else { continue }
            peer.record.checkpoints.removeAll { $0.own > last }
            let floor = peer.record.checkpoints.last?.theirs ?? start
            if floor < peer.record.taken {
                peer.open.insert(RangeSet.Range(after: floor, through: peer.record.taken))
            }
            peers[device] = peer
            disk.devices.insert(device)
        }
        for digest in Array(values.seen.keys) { forgetSeen(digest) }
        for (digest, value) in values.authored where value.number > last {
            values.authored[digest] = nil
            values.confirmed.remove(digest)
            disk.values.insert(digest)
        }
        effects.append(.subscribeAgain)
    }
}

extension Said.Content {
    /// Whether there are more than so many bytes of text, or texts that take some time to count. Only events can be
    /// long.
    fileprivate func mayBeLonger(than count: Int) -> Bool {
        guard case .event(let event) = self else { return false }
        return !event.fields.isEmpty || !event.options.isEmpty
            || event.title.utf8.count + event.body.utf8.count > count
    }
}
