import DequeModule
import NotifyText

/// Identifies something that is handed to notifyd.
struct WorkID: Hashable { let rawValue: UInt64 }

/// A message that is handed to notifyd, and the place in the stream that it fills.
struct Work {
    enum Origin {
        case stream(Device, RangeSet.Range)
        case value(Device, Digest)
    }

    enum Call {
        case publish(PublishRequest)
        case claim(ClaimRequest)
    }

    let id: WorkID
    let origin: Origin
    let said: Said
    var calls: [Call]
    let delivery: DeliveryToken?
    let cost: Int
    /// Calls that notifyd has not answered yet.
    var awaited = 0
    /// The worst answer so far.
    var result = CallResult.done

    var device: Device {
        switch origin {
        case .stream(let device, _), .value(let device, _): device
        }
    }

    var isEvent: Bool {
        if case .event = said.content { true } else { false }
    }
}

/// Rule 2 of docs/link.md: what others say becomes `Publish` and `ClaimNamed`.
extension Link {
    mutating func received(_ delivery: Delivery, at now: Now) {
        // Whoever can write to the broker can publish an old message again, as a retained one.
        guard !delivery.isRetained || delivery.address.isRetained else {
            passOver(delivery.address, at: now)
            return effects.append(.acknowledge(delivery.token))
        }
        if delivery.isRetained, case .value = delivery.address { values.areComing(at: now, limits) }
        switch delivery.content {
        case .unopened:
            statistics.forged += 1
            if let author = delivery.address.author, author != own { connection.unopened += 1 }
            repair(delivery.address, at: now)
            effects.append(.acknowledge(delivery.token))
        case .forged:
            passOver(delivery.address, at: now)
            effects.append(.acknowledge(delivery.token))
        case .malformed(let error):
            statistics.malformed += 1
            repair(delivery.address, at: now)
            if case .stream(let device) = delivery.address, device != own, peers[device] != nil {
                keep(DeadLetter(device: device, reason: error.description, said: nil))
            }
            effects.append(.acknowledge(delivery.token))
        case .empty:
            if case .value(let digest) = delivery.address { valueEmptied(digest) }
            repair(delivery.address, at: now)
            effects.append(.acknowledge(delivery.token))
        case .message(let message, let signer):
            if message.device != own { connection.hasOpened = true }
            if !take(message, signer: signer, delivery, at: now) { effects.append(.acknowledge(delivery.token)) }
        }
    }

    /// Ignores and counts a message that claims another topic or another sender than it has.
    mutating func passOver(_ address: Address, at now: Now) {
        statistics.forged += 1
        connection.forged += 1
        repair(address, at: now)
    }

    mutating func keep(_ letter: DeadLetter) {
        statistics.deadLetters += 1
        effects.append(.keep(letter))
    }

    /// - Returns: whether the delivery is acknowledged later.
    private mutating func take(_ message: Message, signer: Signer?, _ delivery: Delivery, at now: Now) -> Bool {
        let device = message.device
        guard belongs(message, to: delivery.address), isPlausible(message.at, at: now) else {
            passOver(delivery.address, at: now)
            return false
        }
        if device == own {
            if case .channel(_, let ownKey) = configuration.kind, signer != ownKey {
                passOver(delivery.address, at: now)
                return false
            }
            heardOwn(message, delivery, at: now)
            return false
        }
        guard admit(device, signer: signer, delivery.address, at: now) else { return false }
        if !delivery.isRetained { heard(device, message.isWill ? nil : message.at, at: now) }
        switch message.body {
        case .said(let said):
            if case .value(let digest) = delivery.address {
                return takeValue(said, digest, from: device, delivery.token, at: now)
            }
            peers[device]!.isOnline = true
            if isOld(message) {
                statistics.doubles += 1
                return false
            }
            return take(said, from: device, delivery.token, at: now)
        case .description(let description): described(device, description, at: now)
        case .presence(let presence): heard(device, presence, at: now)
        case .question(let question): asked(question, by: device, at: now)
        case .answer(let answer): answered(answer, by: device, at: now)
        case .ping(let id): pinged(id, by: device, at: now)
        case .pong(let id): ponged(id, by: device, at: now)
        }
        return false
    }

    private func belongs(_ message: Message, to address: Address) -> Bool {
        switch (address, message.body) {
        case (.stream(let device), .said): device == message.device
        case (.description(let device), .description): device == message.device
        case (.presence(let device), .presence): device == message.device
        case (.value, .said): true
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
    mutating func begin(_ device: Device, at number: UInt64) {
        peers[device]!.record.start = number
        peers[device]!.record.taken = number
        peers[device]!.isBegun = true
        disk.devices.insert(device)
    }

    /// Whether the beginning of another device's stream may still move: this device is new, and knows of the other one
    /// only what the broker had retained, which may be old. Rule 6.
    func isJoining(_ device: Device) -> Bool {
        guard let line, !line.hasJoined, let peer = peers[device] else { return false }
        return peer.isBegun && peer.record.start == peer.record.taken
    }

    /// Whether a message was said before this device connected, as far as the clocks can tell, and is only repeated
    /// now. If the clocks are wrong, the next message shows that it is missing, and it is asked for.
    private func isOld(_ message: Message) -> Bool {
        isJoining(message.device) && connection.isUp
            && message.at < connection.since - limits.clockTolerance.microseconds
    }

    private mutating func take(_ said: Said, from device: Device, _ delivery: DeliveryToken, at now: Now) -> Bool {
        guard isPlausible(said.number, at: now) else {
            statistics.refused += 1
            return false
        }
        if peers[device]!.record.start == nil {
            begin(device, at: said.previous)
            peers[device]!.record.isStartProvisional = line?.hasJoined ?? false
        }
        if isJoining(device), said.previous > peers[device]!.record.taken { begin(device, at: said.previous) }
        var peer = peers[device]!
        let taken = peer.record.taken
        let range: RangeSet.Range
        if said.number > taken {
            if said.previous > taken { peer.open.insert(RangeSet.Range(after: taken, through: said.previous)) }
            range = RangeSet.Range(after: max(said.previous, taken), through: said.number)
            peer.open.insert(range)
            peer.record.taken = said.number
        } else {
            guard peer.open.contains(said.number), !peer.pending.contains(said.number) else {
                statistics.doubles += 1
                return false
            }
            range = RangeSet.Range(after: said.previous, through: said.number)
        }
        if asking.suspects[device] != nil { asking.suspects[device] = now.uptime + limits.silence }
        // Rule 11: what a member says beyond its quota stays missing, and is asked for later.
        if limits.eventsPerSecond > 0, said.content.isEvent, !peer.events.take(at: now.uptime.duration) {
            statistics.refused += 1
            peers[device] = peer
            disk.devices.insert(device)
            disk.deliveries.append(delivery)
            return true
        }
        peers[device] = peer
        disk.devices.insert(device)
        enqueue(said, range, from: device, delivery, at: now)
        return true
    }

    /// Takes a message of a stream into the queue, unless there is nothing to do, or no room.
    mutating func enqueue(
        _ said: Said, _ range: RangeSet.Range, from device: Device, _ delivery: DeliveryToken?, at now: Now
    ) {
        func finish() { if let delivery { disk.deliveries.append(delivery) } }
        switch said.content {
        case .unknown:
            peers[device]!.unknown.insert(range)
            peers[device]!.open.remove(range)
            return finish()
        case .malformed(let reason):
            statistics.malformed += 1
            keep(DeadLetter(device: device, reason: reason, said: said))
            peers[device]!.open.remove(range)
            return finish()
        default: break
        }
        guard let calls = calls(for: said.content, from: device, at: now) else {
            peers[device]!.open.remove(range)
            return finish()
        }
        noteSaid(device)
        let item = Work(
            id: WorkID(rawValue: token()), origin: .stream(device, range), said: said, calls: calls,
            delivery: delivery, cost: said.content.cost)
        if isPostponed(item, at: now) {
            statistics.postponed += 1
            return finish()
        }
        peers[device]!.pending.insert(range)
        push(item)
    }

    /// Whether a message stays open for now, because there is no room here, or notifyd has refused an event for lack of
    /// room. Claims, withdrawals and removals do not wait for the latter.
    func isPostponed(_ item: Work, at now: Now) -> Bool {
        if queue.count >= limits.waitingMessagesAtMost || waitingBytes + item.cost > 2 * limits.waitingBytes {
            return true
        }
        return item.isEvent && peers[item.device]?.blockedUntil.map { $0 > now.uptime } ?? false
    }

    mutating func push(_ item: Work) {
        waitingBytes += item.cost
        queue.append(item)
    }

    // MARK: Calls

    /// The calls to notifyd that a message leads to; `nil` if there are none.
    func calls(for content: Said.Content, from device: Device, at now: Now) -> [Work.Call]? {
        switch content {
        case .event(let event):
            guard configuration.shares(event.topic), isPlausible(event.published, at: now) else { return nil }
            let name = localName(event.name, from: device)
            let left = lifetime(until: event.expires, of: device, at: now)
            var request = PublishRequest(
                name: name, via: configuration.line, topic: event.topic, published: event.published)
            request.title = event.title
            request.body = event.body
            request.fields = event.fields
            request.options = event.options
            request.ttl = left
            request.urgency = event.urgency
            request.hasBanner = !event.isSilent
            request.isRetained = event.isRetained
            let publish = Work.Call.publish(request)
            guard !configuration.isChannel, let form = SaidClaim.Form(outcome: event.outcome) else { return [publish] }
            // What is claimed there is claimed before it appears here.
            let claim = ClaimRequest(
                name: name, via: configuration.line, place: peers[device]?.record.name ?? "", form: form,
                expires: now.wall + Int64(left) * 1_000_000)
            return [.claim(claim), publish]
        case .claim(let claim):
            guard configuration.shares(claim.topic), !configuration.isChannel else { return nil }
            let expires = claim.expires.map { now.wall + Int64(lifetime(until: $0, of: device, at: now)) * 1_000_000 }
            return [
                .claim(
                    ClaimRequest(
                        name: claim.name, via: configuration.line, place: claim.place, form: claim.form,
                        expires: expires))
            ]
        case .removal(let removal):
            guard configuration.shares(removal.topic), isPlausible(removal.published, at: now) else { return nil }
            var request = PublishRequest(
                name: localName(removal.name, from: device), via: configuration.line, topic: removal.topic,
                published: removal.published)
            request.isRemoval = true
            return [.publish(request)]
        case .nothing, .unknown, .malformed: return nil
        }
    }

    /// Rule 11: on a channel a name says which device it comes from.
    func localName(_ name: GlobalName, from device: Device) -> GlobalName {
        guard case .channel(let channel, _) = configuration.kind else { return name }
        if let origin = name.device {
            // After a reset a device says again, with the same key, what it had said under its old name.
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
            if item.isEvent, let until = peers[item.device]?.blockedUntil, until > now.uptime {
                statistics.postponed += 1
                leaveOpen(item)
                continue
            }
            item.awaited = item.calls.count
            item.result = .done
            for call in item.calls {
                let token = CallToken(rawValue: token())
                calls[token] = item.id
                switch call {
                case .publish(var request):
                    if !request.isRemoval { request.window = windowWhileCatchingUp(at: now) }
                    effects.append(.publish(token, request))
                case .claim(let request): effects.append(.claimNamed(token, request))
                }
            }
            work[item.id] = item
        }
    }

    mutating func answered(_ token: CallToken, _ result: CallResult, at now: Now) {
        guard let id = calls.removeValue(forKey: token), var item = work[id] else { return }
        item.awaited -= 1
        switch (item.result, result) {
        case (.done, _), (.refused, .refusedForNow): item.result = result
        default: break
        }
        guard item.awaited == 0 else {
            work[id] = item
            return
        }
        work[id] = nil
        switch item.result {
        case .done: finish(item, at: now)
        case .refused(let reason):
            keep(DeadLetter(device: item.device, reason: reason, said: item.said))
            finish(item, at: now)
        case .refusedForNow: refuse(item, at: now)
        }
    }

    private mutating func finish(_ item: Work, at now: Now) {
        statistics.taken += 1
        switch item.origin {
        case .stream(let device, let range):
            peers[device]?.pending.remove(range)
            peers[device]?.open.remove(range)
            if item.isEvent { peers[device]?.refusals = 0 }
            disk.devices.insert(device)
        case .value: break
        }
        if let delivery = item.delivery { disk.deliveries.append(delivery) }
    }

    /// notifyd has refused it for now: it stays missing, on disk too, and is asked for again.
    private mutating func refuse(_ item: Work, at now: Now) {
        leaveOpen(item)
        guard var peer = peers[item.device] else { return }
        if peer.blockedUntil.map({ $0 <= now.uptime }) ?? true {
            peer.refusals += 1
            peer.blockedUntil = now.uptime + Self.backoff(peer.refusals, longest: .seconds(300))
        }
        peers[item.device] = peer
        if case .value = item.origin { values.readAgain = now.uptime + .seconds(60) }
    }

    private mutating func leaveOpen(_ item: Work) {
        switch item.origin {
        case .stream(let device, let range):
            peers[device]?.pending.remove(range)
            disk.devices.insert(device)
        case .value(_, let digest): forgetSeen(digest)
        }
        if let delivery = item.delivery { disk.deliveries.append(delivery) }
    }

    /// notifyd is gone: what it has not answered is handed to it again, in the same order.
    mutating func takeBackCalls() {
        calls = [:]
        for item in work.values.sorted(by: { $0.id.rawValue > $1.id.rawValue }) {
            waitingBytes += item.cost
            queue.prepend(item)
        }
        work = [:]
    }

    // MARK: Back pressure

    mutating func adjustReceiving() {
        let isFull =
            queue.count >= limits.waitingMessages || waitingBytes >= limits.waitingBytes
            || disk.deliveries.count + disk.underWayDeliveries.count >= limits.waitingMessages
        let isRoomy =
            queue.count <= limits.waitingMessages / 2 && waitingBytes <= limits.waitingBytes / 2
            && disk.deliveries.count + disk.underWayDeliveries.count <= limits.waitingMessages / 2
        if isReceiving, isFull {
            isReceiving = false
            effects.append(.receive(false))
        } else if !isReceiving, isRoomy {
            isReceiving = true
            effects.append(.receive(true))
        }
    }
}

extension Said.Content {
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

extension SaidClaim.Form {
    /// The claim that an event with this outcome has had.
    init?(outcome: String) {
        switch outcome {
        case "claimed", "retracted": self = .claimed
        case "dismissed": self = .dismissed
        case "withdrawn": self = .withdrawn
        default: return nil
        }
    }
}

extension Message {
    /// Whether it is the will of a connection, which the broker publishes: its time is that of the beginning of the
    /// connection.
    fileprivate var isWill: Bool {
        guard case .presence(let presence) = body else { return false }
        return !presence.isOnline && !presence.hasLeft && !presence.isShared
    }
}
