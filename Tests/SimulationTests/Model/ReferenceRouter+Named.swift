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
        if share(of: claim.claimant, in: awaited.map(\.owner)) >= limits.awaitedPerProgram {
            return refuse("LimitExceeded")
        }
        var kept = AwaitedClaim(claim, until: end)
        kept.claim.program = programs[claim.claimant] ?? nil
        out.append(.reply(.verdict(.awaited)))
        while awaited.count >= limits.awaited { loseAwaited() }
        awaited.append(Await(awaited: kept, owner: claim.claimant, stamp: stamp()))
        out.append(.keepAwaited(kept))
    }

    /// Of what takes most memory, the claim that would end first.
    private mutating func loseAwaited() {
        let sizes = Dictionary(grouping: awaited) { owner(of: $0.owner) }.mapValues { own in
            own.reduce(0) { $0 + $1.awaited.claim.memoryCost }
        }
        let most = sizes.values.max()!
        let largest = sizes.filter { $0.value == most }.keys.min()!
        let own = awaited.filter { owner(of: $0.owner) == largest }.map(\.awaited)
        let first = own.min { left, right in
            left.expires == right.expires
                ? left.claim.origin.precedes(right.claim.origin) : left.expires < right.expires
        }!
        endAwait(first.claim.name)
    }

    // MARK: Programs

    /// Who shares limits with a peer has the same owner.
    func owner(of peer: String) -> String { programs[peer].map { $0 ?? "" } ?? peer }

    /// How many of these peers' entries count for the program of a peer.
    func share(of peer: String, in entries: [String]) -> Int {
        entries.count { owner(of: $0) == owner(of: peer) }
    }

    mutating func identify(_ peer: String, as program: String?, hasLeft: Bool) {
        guard programs[peer] == nil else { return }
        programs[peer] = .some(program)
        if hasLeft { gone.insert(peer) }
        guard let program else { return }
        for index in awaited.indices where awaited[index].owner == peer {
            awaited[index].awaited.claim.program = program
        }
    }

    /// The program of a peer that has left and has nothing any more is forgotten.
    mutating func forgetPrograms() {
        let open = items.filter(\.isOpen)
        for peer in gone {
            let entries =
                open.map(\.sender) + open.flatMap { $0.holds.map(\.claimant) } + awaited.map(\.owner)
                + graces.map(\.claimant) + screens.map(\.owner)
            guard !entries.contains(peer) else { continue }
            programs[peer] = nil
            gone.remove(peer)
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
