@testable import Routing

/// `ClaimNamed`: claims by name, also of what has not come yet. Rule 11 of docs/design.md.
extension ReferenceRouter {
    struct Await {
        var awaited: AwaitedClaim
        /// The peer for whose program's limit it counts.
        let owner: String
        var stamp: Int
    }

    mutating func claimNamed(_ claim: NamedClaim, event: EventID?) {
        remembered.removeAll { $0.until <= now.uptime }
        guard let id = event ?? remembered.first(where: { $0.origin == claim.origin })?.id else {
            return awaitEvent(of: claim)
        }
        guard isKnown(id) else { return refuse("UnknownEvent") }
        guard let item = item(id) else {
            out.append(.reply(.verdict(.recorded)))
            return note(.named, of: id, by: claim.claimant, .recorded)
        }
        out.append(.reply(.verdict(verdict(on: item))))
        take(
            id, by: claim.claimant, as: .named, latency: now.instant - item.accepted, kind: claim.kind,
            place: claim.place)
        endIfOverEarly(item.key)
    }

    /// The first claim of a name decides, unless it only says that the event was read; the longest time counts.
    private mutating func awaitEvent(of claim: NamedClaim) {
        let time = min(max(claim.left ?? .zero, limits.minimumAwait), limits.maximumAwait)
        let end = now.uptime + time
        if let index = awaited.firstIndex(where: { $0.awaited.claim.name == claim.name }) {
            out.append(.reply(.verdict(.awaited)))
            var merged = awaited[index].awaited
            if merged.claim.kind == .read && claim.kind != .read { merged.claim = claim }
            merged.claim.program = awaited[index].awaited.claim.program
            merged.expires = max(merged.expires, end)
            guard merged != awaited[index].awaited else { return }
            awaited[index].awaited = merged
            awaited[index].stamp = stamp()
            return out.append(.keepAwaited(merged))
        }
        if share(of: claim.claimant, in: .awaited) >= limits.awaitedPerProgram {
            return refuse("LimitExceeded")
        }
        var kept = AwaitedClaim(claim, until: end)
        kept.claim.program = programs[.awaited]?[claim.claimant] ?? nil
        out.append(.reply(.verdict(.awaited)))
        while awaited.count >= limits.awaited { loseAwaited() }
        awaited.append(Await(awaited: kept, owner: claim.claimant, stamp: stamp()))
        out.append(.keepAwaited(kept))
    }

    /// Of what takes most memory, the claim that would end first.
    private mutating func loseAwaited() {
        let sizes = Dictionary(grouping: awaited) { owner(of: $0.owner, in: .awaited) }.mapValues { own in
            own.reduce(0) { $0 + $1.awaited.claim.memoryCost }
        }
        let most = sizes.values.max()!
        let largest = sizes.filter { $0.value == most }.keys.min()!
        let own = awaited.filter { owner(of: $0.owner, in: .awaited) == largest }.map(\.awaited)
        let first = own.min { left, right in
            left.expires == right.expires
                ? left.claim.origin.precedes(right.claim.origin) : left.expires < right.expires
        }!
        endAwait(first.claim.name)
    }

    // MARK: Programs

    /// Who shares limits with a peer has the same owner.
    func owner(of peer: String, in table: Table) -> String { programs[table]?[peer].map { $0 ?? "" } ?? peer }

    /// The peers whose entries are in a table.
    private func entries(of table: Table) -> [String] {
        switch table {
        case .events: items.filter(\.isOpen).map(\.sender)
        case .holds: items.filter(\.isOpen).flatMap { $0.holds.map(\.claimant) }
        case .awaited: awaited.map(\.owner)
        case .graces: graces.map(\.claimant)
        case .screens: screens.map(\.owner)
        }
    }

    /// How many entries of a table count for the program of a peer.
    func share(of peer: String, in table: Table) -> Int {
        entries(of: table).count { owner(of: $0, in: table) == owner(of: peer, in: table) }
    }

    mutating func identify(_ peer: String, as program: String?, hasLeft: Bool) {
        let isNew = programs[.awaited]?[peer] == nil
        for table in Table.allCases where programs[table]?[peer] == nil {
            programs[table, default: [:]][peer] = .some(program)
            if hasLeft { gone[table, default: []].insert(peer) }
        }
        guard isNew, let program else { return }
        for index in awaited.indices where awaited[index].owner == peer {
            awaited[index].awaited.claim.program = program
        }
    }

    /// The program of a peer that has left and has nothing in a table any more is forgotten there.
    mutating func forgetPrograms() {
        for (table, peers) in gone {
            for peer in peers.subtracting(entries(of: table)) {
                programs[table]?[peer] = nil
                gone[table]?.remove(peer)
            }
        }
    }

    func awaitedClaim(of id: EventID, _ origin: Origin) -> NamedClaim? {
        let name = origin.isGlobalID ? EventName.origin(origin) : .own(id)
        return awaited.first { $0.awaited.claim.name == name }?.awaited.claim
    }

    mutating func endAwait(of claim: NamedClaim, for id: EventID) {
        come += awaited.filter { $0.awaited.claim.name == claim.name }.map { ($0, id) }
        awaited.removeAll { $0.awaited.claim.name == claim.name }
        out.append(.dropAwaited(claim.origin))
    }

    mutating func awaitAgain(_ ids: [EventID]) {
        for (entry, id) in come where ids.contains(id) {
            awaited.append(entry)
            awaited[awaited.count - 1].stamp = stamp()
        }
        come = []
    }

    mutating func endAwait(_ name: EventName) {
        guard let index = awaited.firstIndex(where: { $0.awaited.claim.name == name }) else { return }
        out.append(.dropAwaited(awaited.remove(at: index).awaited.claim.origin))
    }
}
