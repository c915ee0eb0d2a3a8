import NotifyText

extension Link {
    /// What has changed since it was last written.
    struct Unsaved {
        var line = false
        /// Also those that are not known any more.
        var devices: Set<Device> = []
        var values: Set<Digest> = []
        /// Whether there are dead letters, which the shell keeps.
        var hasRejected = false

        var isEmpty: Bool { !line && devices.isEmpty && values.isEmpty && !hasRejected }

        mutating func formUnion(_ other: Unsaved) {
            line = line || other.line
            devices.formUnion(other.devices)
            values.formUnion(other.values)
            hasRejected = hasRejected || other.hasRejected
        }
    }

    struct Disk {
        /// When the changes are written.
        var flush: Uptime?
        /// The changes that are being written.
        var writing: (token: StoreToken, changes: Unsaved)?
        var failures = 0
    }

    mutating func restore(_ records: [Record]) {
        for record in records {
            switch record {
            case .line(let line): self.line = line
            case .device(let device, let record): peers[device] = record.map { Peer($0, limits: limits) }
            case .value(let digest, let value): values.authored[digest] = value
            }
        }
        values.findNextExpiry = true
        renameValues()
        guard let line else { return }
        isBeginningStored = true
        out.position = line.cursor
        out.isReset = line.connection == 0
        // After an upgrade, what was not understood may be.
        guard line.version < Message.version else { return }
        for device in peers.keys {
            for range in peers[device]!.unknown.ranges {
                peers[device]!.open.insert(range)
                peers[device]!.unknown.remove(range)
            }
            unsaved.devices.insert(device)
        }
        self.line?.version = Message.version
        unsaved.line = true
    }

    /// Writes at most every `flushDelay`, so that a stream of messages costs a few writes a second.
    mutating func flush(at now: Now) {
        guard disk.writing == nil, !unsaved.isEmpty else { return }
        guard isDue(disk.flush, at: now) else {
            disk.flush = disk.flush ?? now.uptime + limits.flushDelay
            return
        }
        disk.flush = nil
        var records: [Record] = []
        if unsaved.line, let line { records.append(.line(line)) }
        records += unsaved.devices.sorted().map { .device($0, peers[$0]?.stored) }
        records += unsaved.values.sorted().map { .value($0, values.authored[$0]) }
        let token = StoreToken(rawValue: token())
        disk.writing = (token, unsaved)
        unsaved = Unsaved()
        effects.append(.store(token, records))
    }

    /// Writes what has changed, whatever is being written: the shell writes in order.
    mutating func flushAll(at now: Now) {
        disk.writing = nil
        disk.flush = now.uptime
        flush(at: now)
    }

    mutating func stored(_ token: StoreToken, at now: Now) {
        guard let writing = disk.writing, token == writing.token else { return }
        if writing.changes.line { isBeginningStored = true }
        disk.writing = nil
        disk.failures = 0
        if wantsWill { connect(at: now) }
    }

    /// The same records, as they are then, are written later.
    mutating func notStored(_ token: StoreToken, at now: Now) {
        guard let writing = disk.writing, token == writing.token else { return }
        unsaved.formUnion(writing.changes)
        disk.writing = nil
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
        questions.silenceEnds[device] = nil
        if questions.question?.device == device { questions.question = nil }
        queue.removeAll { $0.device == device }
        waitingBytes = queue.reduce(0) { $0 + $1.cost }
        unsaved.devices.insert(device)
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

/// Rule 11 of docs/link.md: which devices are known.
extension Link {
    /// Whether a device is known, or there is room for it, and on a channel it has signed with its key.
    mutating func admit(_ device: Device, signer: Signer?, _ address: Address, at now: Now) -> Bool {
        if configuration.isChannel {
            guard let signer, peers[device]?.record.signer ?? signer == signer else {
                rejectForgery(at: address, at: now)
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
        unsaved.devices.insert(device)
        nextDrop = nextDrop ?? now.uptime + .seconds(3600)
        return true
    }

    /// Beyond the limit, the newest of the devices without an accepted entry is dropped. So a member that makes devices
    /// up drops only its own: neither devices with entries nor older ones go.
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

    /// A device with an entry is not dropped to make room.
    mutating func keepPlace(of device: Device) {
        guard peers[device]?.record.silentSince != nil else { return }
        peers[device]!.record.silentSince = nil
        unsaved.devices.insert(device)
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
        if connection.isUp { clearMessages(of: device) }
    }

    /// `notifyctl link leave`: tells the others, and sends nothing after that.
    mutating func leave(at now: Now) {
        hasLeft = true
        guard connection.isUp, let line else { return }
        let presence = Presence(connection: line.connection, isOnline: false, hasLeft: true)
        send(.presence(presence), to: .presence(own), at: now)
        clearMessages(of: own)
    }

    /// A device has announced that it leaves. On a channel its key stays pinned: nobody else can use its name, and it
    /// may come back.
    mutating func dropLeaver(_ device: Device, at now: Now) {
        let old = peers[device]?.record
        drop(device)
        guard configuration.isChannel, let old, let signer = old.signer else { return }
        var record = DeviceRecord(seen: now.wall)
        record.signer = signer
        record.silentSince = old.silentSince
        peers[device] = Peer(record, limits: limits)
    }

    private mutating func clearMessages(of device: Device) {
        for address in [Address.description(device), .presence(device)] { clear(address) }
    }

    /// Empties a retained topic.
    mutating func clear(_ address: Address) {
        effects.append(.send(MessageToken(rawValue: token()), address, nil))
    }
}
