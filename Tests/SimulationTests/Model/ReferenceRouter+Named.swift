@testable import Routing

/// `ClaimNamed`: claims by name, also of what has not come yet.
extension ReferenceRouter {
    struct Await {
        var awaited: AwaitedClaim
        /// Whose limit it counts for.
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
            merged.expires = max(merged.expires, end)
            guard merged != awaited[index].awaited else { return }
            awaited[index].awaited = merged
            awaited[index].stamp = stamp()
            return out.append(.keepAwaited(merged))
        }
        if awaited.count >= limits.awaited { return refuse("LimitExceeded") }
        if awaited.filter({ $0.owner == claim.claimant }).count >= limits.awaitedPerConnection {
            return refuse("LimitExceeded")
        }
        let kept = AwaitedClaim(claim, until: end)
        awaited.append(Await(awaited: kept, owner: claim.claimant, stamp: stamp()))
        out.append(.reply(.verdict(.awaited)))
        out.append(.keepAwaited(kept))
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
