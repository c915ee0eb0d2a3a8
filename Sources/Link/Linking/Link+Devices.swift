import LinkMessages
import Routing

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
