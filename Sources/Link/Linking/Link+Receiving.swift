import DequeModule
import NotifyText

/// An entry on its way to notifyd.
struct PendingEntry {
    enum Origin {
        /// The numbers in the stream of a device that it fills.
        case stream(Device, Range<UInt64>)
        case value(Device, Digest)
    }

    enum Call {
        case publish(SharedEvent, ttl: UInt32)
        case remove(SharedRemoval)
        case claim(SharedClaim)
    }

    let id: UInt64
    let origin: Origin
    let entry: StreamEntry
    let calls: [Call]
    let cost: Int
    /// Calls that notifyd has not answered yet.
    var unanswered = 0
    /// The worst answer so far.
    var result = CallResult.done

    var device: Device {
        switch origin {
        case .stream(let device, _), .value(let device, _): device
        }
    }
}

/// Rule 2 of docs/link.md: entries of others become calls of `Publish` and `ClaimNamed`.
extension Link {
    mutating func received(_ delivery: Delivery, at now: Now) {
        let address = delivery.address
        // Whoever can write to the broker can publish an old message again, as a retained one.
        guard !delivery.isRetained || address.isRetained else { return rejectForgery(at: address, at: now) }
        if delivery.isRetained, case .value = address { values.postponeCheck(at: now, limits) }
        switch delivery.content {
        case .unopened:
            statistics.forged += 1
            if let author = address.author, author != own { connection.unopened += 1 }
            repair(address, at: now)
        case .forged: rejectForgery(at: address, at: now)
        case .malformed(let error):
            statistics.malformed += 1
            repair(address, at: now)
            if case .stream(let device) = address, device != own, peers[device] != nil {
                reject(nil, of: device, because: error.description)
            }
        case .empty:
            if case .value(let digest) = address { valueEmptied(digest) }
            repair(address, at: now)
        case .message(let message, let signer):
            if message.device != own { connection.hasOpened = true }
            handle(message, signer: signer, delivery, at: now)
        }
    }

    /// Ignores and counts a message that claims another topic or another sender than it has.
    mutating func rejectForgery(at address: Address, at now: Now) {
        statistics.forged += 1
        connection.forged += 1
        repair(address, at: now)
    }

    /// Makes a dead letter of what can never be delivered.
    mutating func reject(_ entry: StreamEntry?, of device: Device, because reason: String) {
        unsaved.hasRejected = true
        effects.append(.reject(RejectedEntry(device: device, reason: reason, entry: entry)))
    }

    private mutating func handle(_ message: Message, signer: Signer?, _ delivery: Delivery, at now: Now) {
        let device = message.device
        guard belongs(message, to: delivery.address), isPlausible(message.at, at: now) else {
            return rejectForgery(at: delivery.address, at: now)
        }
        if device == own {
            if case .channel(_, let ownKey) = configuration.kind, signer != ownKey {
                return rejectForgery(at: delivery.address, at: now)
            }
            return handleOwn(message, delivery, at: now)
        }
        guard admit(device, signer: signer, delivery.address, at: now) else { return }
        if !delivery.isRetained { recordContact(with: device, sentAt: message.isWill ? nil : message.at, at: now) }
        switch message.body {
        case .entry(let entry):
            if case .value(let digest) = delivery.address {
                return receiveValue(entry, digest, from: device, at: now)
            }
            peers[device]!.isOnline = true
            if isOld(message) {
                statistics.duplicates += 1
            } else {
                receive(entry, from: device, at: now)
            }
        case .description(let description): updateDescription(of: device, description, at: now)
        case .presence(let presence): updatePresence(of: device, presence, at: now)
        case .question(let question): enqueueQuestion(question, from: device)
        case .answer(let answer): handleAnswer(answer, from: device, at: now)
        case .ping(let id): answerPing(id, from: device, at: now)
        case .pong(let id): handlePong(id, from: device, at: now)
        }
    }

    private func belongs(_ message: Message, to address: Address) -> Bool {
        switch (address, message.body) {
        case (.stream(let device), .entry): device == message.device
        case (.description(let device), .description): device == message.device
        case (.presence(let device), .presence): device == message.device
        case (.value, .entry): true
        case (.questions(let device), .question), (.answers(let device), .answer): device == own
        case (.questions(let device), .ping), (.answers(let device), .pong): device == own
        default: false
        }
    }

    /// Rule 11: on a channel nothing is far ahead of the clock.
    func isPlausible(_ time: Int64, at now: Now) -> Bool {
        guard configuration.isChannel else { return true }
        let ahead = time.subtractingReportingOverflow(now.wall)
        return !ahead.overflow && ahead.partialValue <= limits.ahead.microseconds
    }

    private func isPlausible(_ number: UInt64, at now: Now) -> Bool {
        !configuration.isChannel || Int64(exactly: number).map { isPlausible($0, at: now) } ?? false
    }

    // MARK: A stream

    /// Begins to listen to a stream above a number: what comes now, if this device is new; otherwise the whole stream
    /// of the other one. Rule 6.
    mutating func startStream(of device: Device, at number: UInt64) {
        peers[device]!.record.start = number
        peers[device]!.record.received = number
        peers[device]!.hasStartedNow = true
        unsaved.devices.insert(device)
    }

    /// Whether the beginning of another device's stream may still move: this device is new, and knows of the other one
    /// only what the broker had retained, which may be old. Rule 6.
    func isJoining(_ device: Device) -> Bool {
        guard let line, !line.hasJoined, let peer = peers[device] else { return false }
        return peer.hasStartedNow && peer.record.start == peer.record.received
    }

    /// Whether a message was sent before this device connected, as far as the clocks can tell, and is only repeated
    /// now. If the clocks are wrong, the next message shows that it is missing, and it is requested.
    private func isOld(_ message: Message) -> Bool {
        isJoining(message.device) && connection.isUp
            && message.at < connection.since - limits.clockTolerance.microseconds
    }

    private mutating func receive(_ entry: StreamEntry, from device: Device, at now: Now) {
        guard isPlausible(entry.number, at: now) else {
            statistics.refused += 1
            return
        }
        if peers[device]!.record.start == nil {
            startStream(of: device, at: entry.previous)
            peers[device]!.record.isStartProvisional = line?.hasJoined ?? false
        }
        if isJoining(device), entry.previous > peers[device]!.record.received {
            startStream(of: device, at: entry.previous)
        }
        var peer = peers[device]!
        let received = peer.record.received
        let range: Range<UInt64>
        if entry.number > received {
            if entry.previous > received { peer.open.insert(received..<entry.previous) }
            range = max(entry.previous, received)..<entry.number
            peer.open.insert(range)
            peer.record.received = entry.number
        } else {
            guard peer.open.contains(entry.number), !peer.pending.contains(entry.number) else {
                statistics.duplicates += 1
                return
            }
            range = entry.previous..<entry.number
        }
        if questions.silenceEnds[device] != nil { questions.silenceEnds[device] = now.uptime + limits.silence }
        // Rule 11: what a member sends beyond its quota stays missing, and is requested later.
        let isRefused =
            limits.eventsPerSecond > 0 && entry.content.isEvent && !peer.eventQuota.take(at: now.uptime.duration)
        peers[device] = peer
        unsaved.devices.insert(device)
        if isRefused {
            statistics.refused += 1
        } else {
            enqueue(entry, range, from: device, at: now)
        }
    }

    /// Queues an entry of a stream for notifyd, unless there is nothing to do, or no room.
    mutating func enqueue(_ entry: StreamEntry, _ range: Range<UInt64>, from device: Device, at now: Now) {
        switch entry.content {
        case .unknown: peers[device]!.unknown.insert(range)
        case .malformed(let reason):
            statistics.malformed += 1
            reject(entry, of: device, because: reason)
        default: break
        }
        guard let item = pendingEntry(entry, .stream(device, range), at: now) else {
            peers[device]!.open.remove(range)
            return
        }
        keepPlace(of: device)
        if isPostponed(item, at: now) {
            statistics.postponed += 1
        } else {
            peers[device]!.pending.insert(range)
            appendToQueue(item)
        }
    }

    /// - Returns: `nil` if the entry leads to no call.
    mutating func pendingEntry(_ entry: StreamEntry, _ origin: PendingEntry.Origin, at now: Now) -> PendingEntry? {
        let device =
            switch origin {
            case .stream(let device, _), .value(let device, _): device
            }
        guard let calls = calls(for: entry.content, from: device, at: now) else { return nil }
        return PendingEntry(id: token(), origin: origin, entry: entry, calls: calls, cost: entry.content.cost)
    }

    /// Whether a message stays open for now, because there is no room here, or notifyd has refused an event for lack of
    /// room. Claims, withdrawals and removals do not wait for the latter.
    func isPostponed(_ item: PendingEntry, at now: Now) -> Bool {
        if queue.count >= limits.waitingMessagesAtMost || waitingBytes + item.cost > 2 * limits.waitingBytes {
            return true
        }
        return item.entry.content.isEvent && isBlocked(item.device, at: now)
    }

    private func isBlocked(_ device: Device, at now: Now) -> Bool {
        peers[device]?.blockedUntil.map { $0 > now.uptime } ?? false
    }

    mutating func appendToQueue(_ item: PendingEntry) {
        waitingBytes += item.cost
        queue.append(item)
    }

    // MARK: Calls

    /// The calls to notifyd that an entry leads to; `nil` if there are none.
    private func calls(for content: StreamEntry.Content, from device: Device, at now: Now) -> [PendingEntry.Call]? {
        guard let topic = content.subject?.topic, configuration.shares(topic) else { return nil }
        func localTime(_ ttl: UInt32) -> Int64 { now.wall + Int64(ttl) * 1_000_000 }
        switch content {
        case .event(var event):
            guard isPlausible(event.published, at: now) else { return nil }
            event.name = localName(event.name, from: device)
            let ttl = lifetime(until: event.expires, of: device, at: now)
            let publish = PendingEntry.Call.publish(event, ttl: ttl)
            guard !configuration.isChannel, let form = SharedClaim.Form(outcome: event.outcome) else {
                return [publish]
            }
            // What is claimed there is claimed before it appears here.
            let claim = SharedClaim(
                name: event.name, topic: topic, form: form, place: peers[device]?.record.name ?? "",
                expires: localTime(ttl))
            return [.claim(claim), publish]
        case .claim(var claim):
            guard !configuration.isChannel else { return nil }
            claim.expires = claim.expires.map { localTime(lifetime(until: $0, of: device, at: now)) }
            return [.claim(claim)]
        case .removal(var removal):
            guard isPlausible(removal.published, at: now) else { return nil }
            removal.name = localName(removal.name, from: device)
            return [.remove(removal)]
        case .nothing, .unknown, .malformed: return nil
        }
    }

    /// Rule 11: on a channel a name has the device that it comes from.
    func localName(_ name: GlobalName, from device: Device) -> GlobalName {
        guard case .channel(let channel, _) = configuration.kind else { return name }
        if let origin = name.device {
            // After a reset a device sends again, with the same key, what it had sent under its old name.
            let isSame =
                origin == device || peers[origin]?.record.signer.map { $0 == peers[device]?.record.signer } ?? false
            if isSame { return name }
        }
        return GlobalName(source: "channel:\(channel):\(device):\(name.source)", eventID: name.eventID)
    }

    /// Seconds that are left, corrected by the difference of the clocks.
    func lifetime(until expires: Int64, of device: Device, at now: Now) -> UInt32 {
        let offset = peers[device]?.offset.microseconds ?? 0
        let here = expires.addingReportingOverflow(offset)
        let left = (here.overflow ? expires : here.partialValue).subtractingReportingOverflow(now.wall)
        guard !left.overflow, left.partialValue > 0 else { return 0 }
        return UInt32(min((left.partialValue + 999_999) / 1_000_000, Duration.maximumLifetime.microseconds / 1_000_000))
    }

    mutating func startCalls(at now: Now) {
        guard isDaemonThere else { return }
        if !queue.isEmpty { updateCatchingUp(at: now) }
        while calls.count < limits.callsInFlight, var item = queue.popFirst() {
            waitingBytes -= item.cost
            // notifyd may have refused another event of the device since this one was queued.
            if item.entry.content.isEvent, isBlocked(item.device, at: now) {
                statistics.postponed += 1
                leaveOpen(item)
                continue
            }
            item.unanswered = item.calls.count
            item.result = .done
            for call in item.calls {
                let token = CallToken(rawValue: token())
                calls[token] = item.id
                switch call {
                case .publish(let event, let ttl):
                    effects.append(.publish(token, event, ttl: ttl, window: windowWhileCatchingUp(at: now)))
                case .remove(let removal): effects.append(.remove(token, removal))
                case .claim(let claim): effects.append(.claimNamed(token, claim))
                }
            }
            inCall[item.id] = item
        }
    }

    mutating func finishCall(_ token: CallToken, _ result: CallResult, at now: Now) {
        guard let id = calls.removeValue(forKey: token), var item = inCall[id] else { return }
        item.unanswered -= 1
        switch (item.result, result) {
        case (.done, _), (.refused, .refusedForNow): item.result = result
        default: break
        }
        guard item.unanswered == 0 else {
            inCall[id] = item
            return
        }
        inCall[id] = nil
        switch item.result {
        case .done: close(item)
        case .refused(let reason):
            reject(item.entry, of: item.device, because: reason)
            close(item)
        case .refusedForNow: postpone(item, at: now)
        }
    }

    /// notifyd has it, or will never take it: its number is not open any more.
    private mutating func close(_ item: PendingEntry) {
        statistics.accepted += 1
        guard case .stream(let device, let range) = item.origin else { return }
        peers[device]?.pending.remove(range)
        peers[device]?.open.remove(range)
        if item.entry.content.isEvent { peers[device]?.refusals = 0 }
        unsaved.devices.insert(device)
    }

    /// notifyd has refused it for now: it stays missing, on disk too, and is requested again.
    private mutating func postpone(_ item: PendingEntry, at now: Now) {
        leaveOpen(item)
        if !isBlocked(item.device, at: now), var peer = peers[item.device] {
            peer.refusals += 1
            peer.blockedUntil = now.uptime + Self.backoff(peer.refusals, longest: .seconds(300))
            peers[item.device] = peer
        }
        if case .value = item.origin { values.readAgain = now.uptime + .seconds(60) }
    }

    private mutating func leaveOpen(_ item: PendingEntry) {
        switch item.origin {
        case .stream(let device, let range):
            peers[device]?.pending.remove(range)
            unsaved.devices.insert(device)
        case .value(_, let digest): forgetValueOnBroker(digest)
        }
    }

    /// notifyd is gone: what it has not answered is handed to it again, in the same order.
    mutating func requeueCalls() {
        calls = [:]
        for item in inCall.values.sorted(by: { $0.id > $1.id }) {
            waitingBytes += item.cost
            queue.prepend(item)
        }
        inCall = [:]
    }

    // MARK: Back pressure

    mutating func adjustReceiving() {
        let isFull = queue.count >= limits.waitingMessages || waitingBytes >= limits.waitingBytes
        let isRoomy = queue.count <= limits.waitingMessages / 2 && waitingBytes <= limits.waitingBytes / 2
        guard isReceiving ? isFull : isRoomy else { return }
        isReceiving.toggle()
        effects.append(.receive(isReceiving))
    }
}

extension StreamEntry.Content {
    var isEvent: Bool {
        if case .event = self { true } else { false }
    }

    /// About its bytes in memory.
    var cost: Int {
        switch self {
        case .event(let event):
            512 + event.title.utf8.count + event.body.utf8.count
                + [event.fields, event.options].joined().reduce(0) { $0 + 64 + $1.key.utf8.count + $1.value.roughCost }
        case .claim, .removal, .nothing, .unknown, .malformed: 512
        }
    }
}

extension Value {
    fileprivate var roughCost: Int {
        switch self {
        case .string(let text), .objectPath(let text), .signature(let text): 32 + text.utf8.count
        case .bytes(let bytes): 64 + bytes.count
        case .array(let elements, _): elements.reduce(64) { $0 + $1.roughCost }
        case .dictionary(let entries, _, _): entries.reduce(64) { $0 + $1.key.roughCost + $1.value.roughCost }
        case .variant(let value): 64 + value.roughCost
        default: 32
        }
    }
}

extension Message {
    /// Whether it is the will of a connection, which the broker publishes: its time is that of the beginning of the
    /// connection.
    fileprivate var isWill: Bool {
        guard case .presence(let presence) = body else { return false }
        return !presence.isOnline && !presence.hasLeft && !presence.isDuplicated
    }
}
