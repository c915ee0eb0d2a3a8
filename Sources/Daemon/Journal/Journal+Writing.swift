import Routing

/// Writing: one frame of the log in each turn of the loop.
extension Journal {
    /// Writes all records or none. They are on disk when it returns.
    ///
    /// - Throws: if they cannot be written. None of them comes back then, unless the process ends before the next frame
    ///   is written.
    public func commit(_ records: [Record]) throws(JournalError) {
        guard !records.isEmpty else { return }
        guard isOpen else { throw failure ?? .other("the journal is closed") }
        var turn = Turn(records)
        for record in records { try resolve(record, in: &turn) }
        try append(turn.records)
        count += turn.accepted
        retention.accepted(turn.lastAccepted)
        // At full load nobody is idle. If it fails, `indexFailure` says why.
        while indexFailure == nil, isPendingLarge, (try? foldPortion(Self.portionUnderLoad)) != nil {}
    }

    /// The records of a turn, with what later ones of the same turn need to know.
    private struct Turn {
        let all: [Record]
        var records: [LogRecord] = []
        var accepted = 0
        var lastAccepted: Int64 = 0
        /// The last decisions of this turn, `nil` for events that were accepted in it.
        var decisions: [EventID: StoredDecision?] = [:]
        /// The claimants and programs that were named since the last decision of an event.
        var names: [EventID: [(claimant: String, program: String)]] = [:]

        init(_ records: [Record]) {
            all = records
            self.records.reserveCapacity(records.count)
        }

        /// Whether an event was marked as read in this turn.
        func marksRead(_ id: EventID) -> Bool {
            records.contains { if case .read(id, by: _, at: _, from: _) = $0.record { true } else { false } }
        }

        /// Earlier events of this turn in whose place an event comes.
        func collapsed(_ event: StoredEvent) -> [EventID] {
            records.compactMap {
                guard case .accepted(let earlier) = $0.record, earlier.collapse == event.collapse,
                    earlier.topic == event.topic, earlier.id < event.id
                else { return nil }
                return earlier.id
            }
        }

        mutating func decide(_ id: EventID, _ decision: StoredDecision, number: Int64?) {
            add(.decided(id, decision), number: number)
            if all.count > 1 { decisions[id] = decision }
            names[id] = nil
        }

        mutating func add(_ record: Record, number: Int64? = nil) {
            records.append(LogRecord(record, number: number))
        }
    }

    /// Appends a frame, and syncs it.
    func append(_ records: [LogRecord]) throws(JournalError) {
        guard let log else { throw failure ?? .other("the journal is closed") }
        frame.removeAll()
        for record in records { record.write(to: &frame) }
        // No turn with events is as large.
        if frame.bytes.count > WriteAheadLog.largestPayload, records.count > 1 {
            try append(Array(records[..<(records.count / 2)]))
            return try append(Array(records[(records.count / 2)...]))
        }
        do throws(JournalError) {
            let sequence = try appendFrame(to: log)
            let now = realtime()
            lastWritten = now
            isLogSuspect = false
            for entry in records { noteBanner(entry.record) }
            pending.append(Pending.Frame(sequence: sequence, records: records, bytes: frame.bytes.count, written: now))
        } catch {
            failure = error
            isLogSuspect = true
            throw error
        }
    }

    private func appendFrame(to log: WriteAheadLog) throws(JournalError) -> UInt64 {
        do throws(JournalError) { return try log.append(frame.bytes) } catch {
            guard error == .diskFull || log.isCrowded else { throw error }
        }
        // All segments are full: the index takes what they have.
        try fold()
        try checkpoint()
        return try log.append(frame.bytes)
    }

    /// Completes a record with what the journal knows: numbers, and the window and read mark of an earlier decision.
    private func resolve(_ record: Record, in turn: inout Turn) throws(JournalError) {
        switch record {
        case .accepted(let event):
            let isLate = Self.number(event.id) < newestID
            newestID = max(newestID, Self.number(event.id))
            let number = numbers.next()
            turn.add(record, number: isLate ? nil : number)
            if isLate { turn.add(.late(event.id), number: number) }
            turn.accepted += 1
            turn.lastAccepted = max(turn.lastAccepted, Self.number(event.id))
            if turn.all.count > 1 { turn.decisions[event.id] = .some(nil) }
            if event.collapse != nil { try markReplaced(by: event, in: &turn) }
        case .decided(let id, let decided):
            // Mostly a read mark comes after the outcome.
            let isOutcome = decided.isRead ? try isUndecided(id, in: turn) : true
            let number = isOutcome ? numbers.next() : nil
            var decision = decided
            // A later decision keeps the window that the first one stored. The clocks may have changed since.
            if decided.followsShown, let shown = try self.decision(of: id, in: turn) {
                decision = decided.following(shown)
            }
            // An event that was marked as read while it was undecided is read when it becomes muted or expired.
            if let marked = decision.markedRead, try isMarkedRead(id, in: turn) { decision = marked }
            turn.decide(id, decision, number: number)
            if isOutcome, decided.isRead { turn.add(.read(id, by: "", at: decided.resolved), number: numbers.next()) }
        case .read(let id, _, _, let place):
            // A muted or expired event that nobody has seen is not unread any more.
            if var marked = try decision(of: id, in: turn)?.markedRead {
                marked.place = place
                turn.decide(id, marked, number: nil)
            }
            turn.add(record, number: numbers.next())
        case .removed, .start: turn.add(record, number: numbers.next())
        case .awaited:
            // A reader compares numbers to find out that the file is an older copy, which may lack only this claim.
            turn.add(record, number: numbers.nextHole())
        case .named(let claimant, let program, let id):
            turn.add(record)
            turn.names[id, default: []].append((claimant, program))
        case .bannerUp:
            turn.add(record)
            // Some servers never report that a banner is gone.
            guard bannersUp.count >= limits.retractableEvents + 128 else { return }
            for banner in bannersUp.values.sorted(by: { $0.first < $1.first }).prefix(128) {
                turn.add(.bannerGone(banner.number))
            }
        default: turn.add(record)
        }
    }

    /// Earlier events that are muted or expired count as read, by the publisher of the later one.
    private func markReplaced(by event: StoredEvent, in turn: inout Turn) throws(JournalError) {
        for id in try collapsed(event) + turn.collapsed(event) {
            // A snoozed one may become `replaced` in the same turn.
            let isReplaced = turn.all.contains {
                if case .decided(id, let decision) = $0 { decision.outcome == .replaced } else { false }
            }
            guard try decision(of: id, in: turn)?.markedRead != nil, !isReplaced else { continue }
            try resolve(.read(id, by: event.sender, at: event.accepted), in: &turn)
        }
    }

    /// The last decision of an event of the journal or of the turn.
    private func decision(of id: EventID, in turn: Turn) throws(JournalError) -> StoredDecision? {
        var decision = if let last = turn.decisions[id] { last } else { try event(id)?.decision }
        for name in turn.names[id] ?? [] where name.claimant == decision?.claimant { decision?.program = name.program }
        return decision
    }

    /// Whether an event of the journal or of the turn has no outcome.
    private func isUndecided(_ id: EventID, in turn: Turn) throws(JournalError) -> Bool {
        if turn.decisions[id] == nil, try event(id) == nil { return false }
        return try decision(of: id, in: turn) == nil
    }

    private func isMarkedRead(_ id: EventID, in turn: Turn) throws(JournalError) -> Bool {
        if turn.marksRead(id) { return true }
        return try isMarkedRead(id)
    }

    /// The greatest number of claim steps of an event; later steps are dropped. The deciding claim is part of the
    /// decision.
    public static var claimsOfOneEvent: Int { 32 }
}
