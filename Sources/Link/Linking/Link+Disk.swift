import NotifyText

extension Link {
    /// What has changed since it was last written.
    struct Disk {
        var lineChanged = false
        var devices: Set<Device> = []
        var droppedDevices: Set<Device> = []
        var values: Set<Digest> = []
        /// To be acknowledged once it is written what follows from them.
        var deliveries: [DeliveryToken] = []
        var flush: Uptime?
        var underWay: StoreToken?
        var underWayDeliveries: [DeliveryToken] = []
        var underWayRecords: [Record] = []
        var failures = 0

        var isClean: Bool {
            !lineChanged && devices.isEmpty && droppedDevices.isEmpty && values.isEmpty && deliveries.isEmpty
        }
    }

    mutating func restore(_ records: [Record]) {
        for record in records {
            switch record {
            case .line(let line): self.line = line
            case .device(let device, let record): peers[device] = Peer(record, limits: limits)
            case .value(let digest, let value): values.authored[digest] = value
            case .deviceDropped, .valueDropped: break
            }
        }
        values.findNextExpiry = true
        renameValues()
        guard let line else { return }
        isBeginningKept = true
        out.position = line.cursor
        out.cursor = line.cursor
        out.isReset = line.connection == 0
        // After an upgrade, what was not understood may be.
        guard line.version < Message.version else { return }
        for device in peers.keys {
            for range in peers[device]!.unknown.ranges { peers[device]!.open.insert(range) }
            peers[device]!.unknown = RangeSet(limit: limits.missingRanges)
            disk.devices.insert(device)
        }
        self.line?.version = Message.version
        disk.lineChanged = true
    }

    /// Writes at most every `flushDelay`, so that a stream of messages costs a few writes a second.
    mutating func flush(at now: Now) {
        guard disk.underWay == nil, !disk.isClean else { return }
        guard isDue(disk.flush, at: now) || disk.deliveries.count >= limits.callsInFlight else {
            disk.flush = disk.flush ?? now.uptime + limits.flushDelay
            return
        }
        disk.flush = nil
        var records: [Record] = []
        if disk.lineChanged, let line { records.append(.line(line)) }
        for device in disk.droppedDevices.sorted() { records.append(.deviceDropped(device)) }
        for device in disk.devices.sorted() {
            if let peer = peers[device] { records.append(.device(device, peer.stored)) }
        }
        for digest in disk.values.sorted() {
            records.append(values.authored[digest].map { .value(digest, $0) } ?? .valueDropped(digest))
        }
        let token = StoreToken(rawValue: token())
        let failures = disk.failures
        let deliveries = disk.deliveries
        disk = Disk()
        disk.failures = failures
        disk.underWay = token
        disk.underWayDeliveries = deliveries
        disk.underWayRecords = records
        effects.append(.store(token, records))
    }

    /// Writes what has changed, whatever is under way: the shell writes in order.
    mutating func flushAll(at now: Now) {
        disk.underWay = nil
        disk.flush = now.uptime
        flush(at: now)
    }

    mutating func stored(_ token: StoreToken, at now: Now) {
        guard token == disk.underWay else { return }
        for delivery in disk.underWayDeliveries { effects.append(.acknowledge(delivery)) }
        if disk.underWayRecords.contains(where: \.isLine) { isBeginningKept = true }
        disk.underWay = nil
        disk.underWayDeliveries = []
        disk.underWayRecords = []
        disk.failures = 0
        if wantsWill { connect(at: now) }
    }

    /// The same records, as they are then, are written later.
    mutating func notStored(_ token: StoreToken, at now: Now) {
        guard token == disk.underWay else { return }
        for record in disk.underWayRecords {
            switch record {
            case .line: disk.lineChanged = true
            case .device(let device, _): disk.devices.insert(device)
            case .deviceDropped(let device): if peers[device] == nil { disk.droppedDevices.insert(device) }
            case .value(let digest, _), .valueDropped(let digest): disk.values.insert(digest)
            }
        }
        disk.deliveries = disk.underWayDeliveries + disk.deliveries
        disk.underWay = nil
        disk.underWayDeliveries = []
        disk.underWayRecords = []
        disk.failures += 1
        disk.flush = now.uptime + Self.backoff(disk.failures, longest: .seconds(60))
    }

    /// 1 s, 2 s, 4 s, …
    static func backoff(_ failures: Int, longest: Duration) -> Duration {
        min(.seconds(1 << min(max(failures, 1) - 1, 20)), longest)
    }

    /// The dropped device is as good as never seen.
    mutating func drop(_ device: Device) {
        guard peers.removeValue(forKey: device) != nil else { return }
        asking.suspects[device] = nil
        if asking.question?.device == device { asking.question = nil }
        queue.removeAll { $0.device == device }
        waitingBytes = queue.reduce(0) { $0 + $1.cost }
        disk.devices.remove(device)
        disk.droppedDevices.insert(device)
    }

    /// Rule 18 of docs/link.md: a device unseen for 30 days. Looked at once an hour.
    mutating func dropUnseen(at now: Now) {
        guard nextDrop == nil || isDue(nextDrop, at: now) else { return }
        // Where there is nobody to drop, nothing wakes up for it.
        nextDrop = peers.isEmpty ? nil : now.uptime + .seconds(3600)
        for device in peers.keys.sorted() {
            guard let peer = peers[device], !peer.isOnline else { continue }
            let unseen = now.wall.subtractingReportingOverflow(peer.record.seen)
            if !unseen.overflow, unseen.partialValue > limits.forgetAfter.microseconds { drop(device) }
        }
    }
}

/// Rule 11 of docs/link.md: which devices are heard.
extension Link {
    /// Whether a device is known, or there is room for it, and on a channel it has signed with its key.
    mutating func admit(_ device: Device, signer: Signer?, _ address: Address, at now: Now) -> Bool {
        if configuration.isChannel {
            guard let signer, peers[device]?.record.signer ?? signer == signer else {
                passOver(address, at: now)
                return false
            }
        }
        guard peers[device] == nil else { return true }
        var record = DeviceRecord(seen: now.wall)
        let member = configuration.isChannel ? signer : nil
        record.signer = member
        record.silentSince = now.wall
        guard makeRoom(limits.devicesPerMember, { $0.record.signer == member }), makeRoom(limits.devices, { _ in true })
        else {
            statistics.devicesRefused += 1
            return false
        }
        peers[device] = Peer(record, limits: limits)
        disk.devices.insert(device)
        nextDrop = nextDrop ?? now.uptime + .seconds(3600)
        return true
    }

    /// Where there are as many devices as there may be, the newest of those that have said nothing makes room: who
    /// makes devices up has to make up others for each, and neither those that have said something nor those that were
    /// there before go.
    private mutating func makeRoom(_ limit: Int, _ isCounted: (Peer) -> Bool) -> Bool {
        guard peers.count >= limit else { return true }
        let counted = peers.filter { isCounted($0.value) }
        guard counted.count >= limit else { return true }
        connection.isCrowded = true
        let silent = counted.compactMap { device, peer in peer.record.silentSince.map { ($0, device) } }
        guard let (_, newest) = silent.max(by: <) else { return false }
        for id in holds.left(newest) { effects.append(.release(id)) }
        drop(newest)
        return true
    }

    /// A device that has said something keeps its place.
    mutating func noteSaid(_ device: Device) {
        guard peers[device]?.record.silentSince != nil else { return }
        peers[device]!.record.silentSince = nil
        disk.devices.insert(device)
    }
}

/// Devices that do not come back: what the broker keeps of them is emptied.
extension Link {
    /// `notifyctl link forget`. A device that is still there would write its messages again.
    mutating func forget(_ device: Device, at now: Now) {
        guard peers[device] != nil else { return }
        for id in holds.left(device) { effects.append(.release(id)) }
        drop(device)
        disk.flush = now.uptime
        if connection.isUp { emptyMessages(of: device) }
    }

    /// `notifyctl link leave`: the others hear of it, and nothing is said after that.
    mutating func leave(at now: Now) {
        hasLeft = true
        guard connection.isUp, let line else { return }
        let presence = Presence(connection: line.connection, isOnline: false, hasLeft: true)
        _ = say(.presence(presence), on: .presence(own), at: now)
        emptyMessages(of: own)
    }

    /// A device says that it has left. On a channel its key stays pinned: nobody else takes its place, and it may come
    /// back.
    mutating func dropLeaver(_ device: Device, at now: Now) {
        let old = peers[device]?.record
        drop(device)
        guard configuration.isChannel, let old, let signer = old.signer else { return }
        var record = DeviceRecord(seen: now.wall)
        record.signer = signer
        record.silentSince = old.silentSince
        peers[device] = Peer(record, limits: limits)
        disk.droppedDevices.remove(device)
        disk.devices.insert(device)
    }

    private mutating func emptyMessages(of device: Device) {
        for address in [Address.description(device), .presence(device)] {
            effects.append(.say(MessageToken(rawValue: token()), address, nil))
        }
    }
}
