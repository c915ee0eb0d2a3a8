import LinkMessages

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
