import DequeModule
import NotifyText

/// Who is there: connections, descriptions, and a second machine with the same device.
extension Link {
    struct Connection {
        var isUp = false
        /// On the wall clock.
        var since: Int64 = 0
        /// When the present will be known to a new device.
        var joined: Uptime?
        /// When the next description is due.
        var describe: Uptime?
        var described: Uptime?
        /// Whether rows were sent, or screens have changed, since the last description.
        var hasNews = false
        /// Whether rows that had waited for the connection are still being sent.
        var isSendingBacklog = false
        /// Whether somebody has written to this device's retained topics.
        var needsRepair = false
        /// Whether the broker may still send what it has kept for this session. The first message of this connection
        /// comes back after that.
        var isDraining = false
        /// Not every broker sends own messages back: after this it has sent everything.
        var drainBy: Uptime?
        var conflicts: [Uptime] = []
        /// The number of the connection before this one, of this run of the program.
        var previous: UInt64?
        /// Whether what was found after the end of the previous connection has counted as a conflict.
        var hasConflict = false
        /// The latest of the device's own presences that came before the broker has answered the subscription.
        var early: Presence?
        /// Messages of others that no key opens.
        var unopened = 0
        /// Whether a message of another device could be opened.
        var hasOpened = false
        /// Messages that claim another topic or another sender than they have.
        var forged = 0
        /// Whether there were more devices than there may be.
        var isCrowded = false
    }

    private static let conflictTime: Duration = .seconds(60)
    private static let manyConflicts = 3

    /// The number of a connection grows, also over restored backups as long as the clock does.
    mutating func connect(at now: Now) {
        guard line != nil, isBeginningStored else {
            wantsWill = true
            return
        }
        wantsWill = false
        if connection.since > 0 { connection.previous = line!.connection }
        line!.connection = max(line!.connection + 1, UInt64(max(0, now.wall)))
        unsaved.line = true
        // Messages may come before the broker has answered the subscription.
        connection.isDraining = true
        (connection.unopened, connection.hasOpened) = (0, false)
        (connection.forged, connection.isCrowded, connection.early) = (0, false, nil)
        holds.beginCatchingUp()
        let presence = Presence(connection: line!.connection, isOnline: false, isDuplicated: failure != nil)
        effects.append(
            .connect(
                address: .presence(own), will: Message(device: own, at: now.wall, body: .presence(presence))))
    }

    mutating func connected(at now: Now) {
        guard let line else { return }
        connection.isUp = true
        connection.drainBy = now.uptime + limits.catchingUpHold
        connection.since = now.wall
        connection.describe = now.uptime
        connection.hasNews = true
        connection.isSendingBacklog = true
        if !line.hasJoined { connection.joined = now.uptime + limits.joiningTime }
        rewindRows()
        values.confirmed = []
        values.check = now.uptime + limits.valueCheckDelay
        forgetValueInFlight()
        connection.conflicts.removeAll { $0 + Self.conflictTime < now.uptime }
        failIfConflictsRepeat(at: now)
        if failure == nil { sendOnline(at: now) }
        if let early = connection.early, failure == nil { handleOwn(early, isOfNow: false, at: now) }
    }

    mutating func disconnected() {
        connection.isUp = false
        connection.joined = nil
        connection.describe = nil
        connection.drainBy = nil
        for device in peers.keys { peers[device]!.hasStartedNow = false }
        values.check = nil
        questions.question = nil
        answers.flightFailed()
        answers.waiting = []
        answers.current = nil
        reads[.answer] = nil
        rewindRows()
        connection.hasConflict = false
    }

    private mutating func endDraining() {
        connection.isDraining = false
        connection.drainBy = nil
    }

    mutating func checkDraining(at now: Now) {
        if isDue(connection.drainBy, at: now) { endDraining() }
    }

    mutating func checkJoining(at now: Now) {
        guard isDue(connection.joined, at: now) else { return }
        // With a wrong key it has learned of no stream where that ends: it joins when it has the right one.
        guard connection.unopened == 0 || connection.hasOpened else {
            connection.joined = now.uptime + limits.joiningTime
            return
        }
        connection.joined = nil
        line!.hasJoined = true
        unsaved.line = true
    }

    private mutating func sendOnline(at now: Now) {
        let presence = Presence(connection: line!.connection, isOnline: true)
        send(.presence(presence), to: .presence(own), at: now)
    }

    /// On connecting, and again when all rows are sent that had waited for it: a device that connected later has not
    /// received them, and need not wait to learn that. Then at most every 10 s after a row was sent, and every second
    /// where screens have changed.
    mutating func sendDescription(at now: Now) {
        guard connection.isUp, line != nil else { return }
        var isEarly = false
        if connection.isSendingBacklog, !isDue(connection.describe, at: now), isAllSent {
            connection.isSendingBacklog = false
            isEarly = connection.hasNews
            if isEarly { connection.describe = now.uptime }
        }
        guard connection.hasNews else { return }
        let due = connection.describe ?? (connection.described.map { $0 + limits.descriptionInterval } ?? now.uptime)
        guard isDue(due, at: now) else {
            connection.describe = due
            return
        }
        connection.describe = nil
        connection.described = now.uptime
        // A broker that has dropped the last of many messages drops this one too: it is sent again.
        connection.hasNews = isEarly
        if connection.needsRepair {
            connection.needsRepair = false
            sendOnline(at: now)
        }
        line!.counter = max(line!.counter + 1, UInt64(max(0, now.wall)))
        unsaved.line = true
        let digests = configuration.sharesScreens ? attendedDigests : []
        let description = Description(
            counter: line!.counter, name: configuration.name, first: line!.first,
            last: max(line!.first, out.position.sent), attended: digests)
        send(.description(description), to: .description(own), at: now)
    }

    /// What somebody else has put in the place of this device's own retained messages is written again, at most once a
    /// second.
    mutating func repair(_ address: Address, at now: Now) {
        guard address == .presence(own) || address == .description(own), connection.isUp else { return }
        connection.needsRepair = true
        connection.hasNews = true
        scheduleDescription(at: now)
    }

    /// A device that has just connected learns from the description what the present is, and whether something is
    /// missing. The one that the broker has retained may be 10 s old.
    mutating func scheduleDescription(at now: Now) {
        guard connection.isUp, connection.hasNews else { return }
        let earliest = connection.described.map { $0 + limits.screenInterval } ?? now.uptime
        connection.describe = min(connection.describe ?? earliest, max(earliest, now.uptime))
    }

    // MARK: Others

    /// - Parameter at: when its message was sent; `nil` if that is not known.
    mutating func recordContact(with device: Device, sentAt at: Int64?, at now: Now) {
        peers[device]!.lastSeen = now.wall
        // What the broker has kept was sent some time ago.
        if let at, !connection.isDraining {
            peers[device]!.lastHeard = now.uptime
            peers[device]!.offset.record(at, wall: now.wall, uptime: now.uptime)
        }
        // Once an hour is enough to know who is unseen for 30 days.
        if abs(now.wall - peers[device]!.record.seen) > 3_600_000_000 {
            peers[device]!.record.seen = now.wall
            unsaved.devices.insert(device)
        }
    }

    /// Before a device goes silent, the time of its last message is stored exactly.
    mutating func storeLastContact(with device: Device) {
        guard let heardAt = peers[device]?.lastSeen, heardAt != peers[device]!.record.seen else { return }
        peers[device]!.record.seen = heardAt
        unsaved.devices.insert(device)
    }

    mutating func updatePresence(of device: Device, _ presence: Presence, at now: Now) {
        var peer = peers[device]!
        // The will of an older connection does not concern this one.
        guard presence.connection >= peer.connection else { return }
        let isNew = presence.connection > peer.connection
        peer.connection = presence.connection
        if presence.isOnline, isNew || !peer.isOnline {
            peer.questionsFrom = nil
            peer.unansweredQuestions = 0
        }
        peer.isOnline = presence.isOnline
        peers[device] = peer
        if presence.isOnline {
            if isNew { scheduleDescription(at: now) }
            return
        }
        storeLastContact(with: device)
        for id in holds.left(device) { effects.append(.release(id)) }
        if presence.hasLeft { dropLeaver(device, at: now) }
    }

    mutating func updateDescription(of device: Device, _ description: Description, at now: Now) {
        guard description.last <= UInt64(Int64.max), isPlausible(Int64(description.last), at: now) else {
            statistics.refused += 1
            return
        }
        if peers[device]!.record.start == nil {
            startStream(of: device, at: line?.hasJoined ?? false ? description.first : description.last)
        } else if isJoining(device), description.last > peers[device]!.record.received {
            startStream(of: device, at: description.last)
        } else if peers[device]!.record.isStartProvisional {
            // It is younger than this device: its stream is received from its beginning.
            peers[device]!.record.isStartProvisional = false
            unsaved.devices.insert(device)
            let start = peers[device]!.record.start!
            if description.first < start {
                peers[device]!.record.start = description.first
                peers[device]!.open.insert(description.first..<start)
                unsaved.devices.insert(device)
            }
        }
        peers[device]!.described = max(peers[device]!.described, description.last)
        awaitSilence(of: device, at: now)
        guard description.counter >= peers[device]!.counter else { return }
        peers[device]!.counter = description.counter
        if peers[device]!.record.name != description.name {
            peers[device]!.record.name = description.name
            unsaved.devices.insert(device)
        }
        guard configuration.sharesScreens else { return }
        let attended = Set(description.attended)
        if !peers[device]!.attended.subtracting(attended).isEmpty {
            // Whoever has closed a screen claims no more.
            for id in holds.left(device, attended: attended) { effects.append(.release(id)) }
        }
        peers[device]!.attended = attended
    }

    // MARK: Two machines (rule 9)

    /// A message with the own device as its sender. A backup of this machine may have left old ones; only what was sent
    /// during this connection, and not here, is from a second machine.
    mutating func handleOwn(_ message: Message, _ delivery: Delivery, at now: Now) {
        guard let line else { return }
        // What the broker has kept for this session may come before the subscription is answered.
        let isOfNow = !delivery.isRetained && connection.isUp && message.at > connection.since
        switch message.body {
        case .entry(let entry):
            if case .value(let digest) = delivery.address { return handleOwnValue(entry, digest, delivery, at: now) }
            guard entry.number > max(out.highest, line.cursor.sent, out.position.sent) else { return }
            recordForeignNumber(entry.number)
            if isOfNow { recordConflict(at: now) }
        case .description(let description):
            if description.last > max(out.highest, line.cursor.sent, out.position.sent) {
                recordForeignNumber(description.last)
            }
            if description.first < line.first {
                // This program has lost what it had on disk; the stream of the device is older.
                self.line!.first = description.first
                unsaved.line = true
                connection.hasNews = true
            }
            guard description.counter > line.counter else { return }
            self.line!.counter = description.counter
            connection.hasNews = true
            connection.describe = now.uptime
            if isOfNow { recordConflict(at: now) }
        case .presence(let presence):
            if presence.isDuplicated { return fail(.twoMachines, at: now) }
            guard connection.isUp else {
                if presence.connection >= connection.early?.connection ?? 0 { connection.early = presence }
                return
            }
            handleOwn(presence, isOfNow: isOfNow, at: now)
        case .question, .answer, .ping, .pong: break
        }
    }

    /// That a connection was taken over proves nothing: on a channel every member could do it. A second machine says
    /// that it is there.
    private mutating func handleOwn(_ presence: Presence, isOfNow: Bool, at now: Now) {
        guard let line else { return }
        if presence.isOnline, presence.connection == line.connection { endDraining() }
        // Somebody has connected between this connection and the last.
        if let previous = connection.previous, !connection.hasConflict, presence.connection > previous,
            presence.connection < line.connection
        {
            connection.hasConflict = true
            recordConflict(at: now)
            if failure != nil { return }
        }
        if presence.connection > line.connection {
            // The will of this connection would be ignored.
            self.line!.connection = presence.connection
            unsaved.line = true
            if isOfNow { recordConflict(at: now) }
            if failure == nil { effects.append(.reconnect) }
        } else if !presence.isOnline {
            sendOnline(at: now)
        }
    }

    private mutating func recordForeignNumber(_ number: UInt64) {
        guard number > out.highestForeign, number < UInt64(Int64.max) else { return }
        out.highestForeign = number
        // What the journal had at the start may be less by now than it has.
        if isDaemonThere, reads[.newest] == nil { readNewest() }
    }

    private mutating func recordConflict(at now: Now) {
        connection.conflicts.removeAll { $0 + Self.conflictTime < now.uptime }
        connection.conflicts.append(now.uptime)
        failIfConflictsRepeat(at: now)
    }

    private mutating func failIfConflictsRepeat(at now: Now) {
        guard connection.isUp, connection.conflicts.count >= Self.manyConflicts else { return }
        fail(.twoMachines, at: now)
    }

    /// Nothing is sent under this device any more. If there is a second machine it has to stop too: entries of one may
    /// have hidden entries of the other.
    mutating func fail(_ failure: LinkFailure, at now: Now) {
        self.failure = failure
        effects.append(.fail(failure))
        if connection.isUp {
            sendDuplicateNotice(at: now)
        } else if wantsWill {
            connect(at: now)
        }
    }

    /// A failed line stays connected until the broker has the message for the second machine.
    mutating func handleFailed(_ input: LinkInput, at now: Now) {
        switch input {
        case .connecting: connect(at: now)
        case .connected: sendDuplicateNotice(at: now)
        case .disconnected: finalMessage = nil
        case .acknowledged(let token):
            guard token == finalMessage else { return }
            effects.append(.disconnect)
        default: break
        }
    }

    private mutating func sendDuplicateNotice(at now: Now) {
        guard let line else { return }
        let presence = Presence(connection: line.connection + 1, isOnline: false, isDuplicated: true)
        finalMessage = send(.presence(presence), to: .presence(own), at: now)
    }
}
