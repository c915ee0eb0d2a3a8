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
        /// The events that the records accept or change.
        private var events: Set<EventID> = []

        init(_ records: [Record]) {
            all = records
            self.records.reserveCapacity(records.count)
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

        mutating func add(_ record: Record, number: Int64? = nil) {
            records.append(LogRecord(record, number: number))
            if let id = record.subject { events.insert(id) }
            if case .accepted(let event) = record { events.insert(event.id) }
        }

        /// What the records say of an event, in order.
        func entries(of id: EventID) -> ArraySlice<LogRecord> {
            events.contains(id) ? records[...] : records[..<0]
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
            for entry in records {
                switch entry.record {
                // The names of these claims are in what was written before.
                case .awaitedGone, .allAwaitedGone: hasRemains = true
                default: noteBanner(entry.record)
                }
            }
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
            if event.collapse != nil { try markReplaced(by: event, in: &turn) }
        case .decided(let id, let decided):
            // Most outcomes need nothing of what came before.
            let isAlone = !decided.isRead && !decided.followsShown && decided.markedRead == nil
            let state = isAlone ? nil : try state(of: id, in: turn)
            // Mostly a read mark comes after the outcome.
            let isOutcome = !decided.isRead || state.map { $0.event.decision == nil } ?? false
            var decision = decided
            // A later decision keeps the window that the first one stored. The clocks may have changed since.
            if decided.followsShown, let shown = state?.event.decision { decision = decided.following(shown) }
            // An event that was marked as read while it was undecided is read when it becomes muted or expired.
            if state?.isMarkedRead ?? false, let marked = decision.markedRead { decision = marked }
            turn.add(.decided(id, decision), number: isOutcome ? numbers.next() : nil)
            if isOutcome, decided.isRead { turn.add(.read(id, by: "", at: decided.resolved), number: numbers.next()) }
        case .read(let id, _, _, let place):
            // A muted or expired event that nobody has seen is not unread any more.
            if var marked = try state(of: id, in: turn)?.event.decision?.markedRead {
                marked.place = place
                turn.add(.decided(id, marked))
            }
            turn.add(record, number: numbers.next())
        case .removed, .start: turn.add(record, number: numbers.next())
        case .awaited:
            // A reader compares numbers to find out that the file is an older copy, which may lack only this claim.
            turn.add(record, number: numbers.nextHole())
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
            guard try state(of: id, in: turn)?.event.decision?.markedRead != nil, !isReplaced else { continue }
            try resolve(.read(id, by: event.sender, at: event.accepted), in: &turn)
        }
    }

    /// An event as it is after the records of the turn so far; `nil` if there is none.
    private func state(of id: EventID, in turn: Turn) throws(JournalError) -> EventState? {
        var state = try state(of: id)
        for entry in turn.entries(of: id) {
            if case .accepted(let event) = entry.record, event.id == id { state = EventState(event: event) }
            if entry.record.subject == id { state?.apply(entry) }
        }
        return state
    }

    /// The greatest number of claim steps of an event; later steps are dropped. The deciding claim is part of the
    /// decision.
    public static var claimsOfOneEvent: Int { 32 }
}
