import Journal
import Routing
import Systemd

/// `ClaimNamed`: the event of a global name is looked up in memory and in the whole journal.
extension Daemon {
    /// The event of a global name, or the removal or forgotten event that had it; `nil` if there is none.
    func knownEvent(named origin: Origin) throws(Refusal) -> EventID? {
        try loadGlobalIDs()
        let id = try rememberedOrStored(origin)
        guard let id, storage.isUnconfirmed(id) else { return id }
        // If it cannot be stored, it has not come, and its claim must not be lost.
        endTurn()
        return try rememberedOrStored(origin)
    }

    private func rememberedOrStored(_ origin: Origin) throws(Refusal) -> EventID? {
        if let id = router.event(named: origin, at: host.now) { return id }
        return try event(named: origin)
    }

    /// The global name of an event that has not come. One that this device publishes without source and event-id gets a later id.
    func name(of origin: Origin) -> EventName {
        guard let id = ownID(origin), id > router.lastID else { return .origin(origin) }
        return .own(id)
    }

    /// - Parameter identity: what is known of the caller.
    func namedClaim(
        of origin: Origin, _ options: NamedClaimOptions, by caller: String, identity: [Field]
    ) -> NamedClaim {
        let left = options.expires.map { $0 > host.wall ? $0 - host.wall : 0 }
        return NamedClaim(
            name: name(of: origin), origin: origin, kind: options.kind, claimant: caller, place: options.place,
            identity: identity, left: left.map { .microseconds($0) })
    }

    /// - Parameter id: the event of the name; `nil` if there is none.
    func claimNamed(_ claim: NamedClaim, event id: EventID?, for call: RetainedMessage) throws(Refusal) {
        if let id {
            try load(id, for: claim)
        } else if !storage.acceptsEvents {
            // Only what can be kept is awaited.
            throw .storageUnavailable(storage.degradation)
        }
        try answer(.claimedNamed(claim, event: id), to: call)
    }

    /// The name of an event that was removed or forgotten is known, but there is nothing to claim.
    private func load(_ id: EventID, for claim: NamedClaim) throws(Refusal) {
        do throws(Refusal) {
            try load(id, toDecide: true, by: claim.claimant, from: claim.place)
        } catch .unknownEvent {
            return
        }
    }

    /// The claim of an event before it came is judged when it comes and its topic is known. A forbidden one is dropped.
    func judgeAwaited(_ publication: Publication) {
        guard !policy.rules.isEmpty, router.awaitedCount > 0 else { return }
        let origin = publication.options.origin
        let next = EventID(router.lastID.rawValue + 1)
        guard let claim = router.awaitedClaim(of: origin.isGlobalID ? .origin(origin) : .own(next)) else { return }
        let request = AccessRequest(permission: .claim, scope: .topic(publication.topic))
        guard let rule = policy.denyingRule(for: request, to: Caller(claim.identity)) else { return }
        recordDenial(of: request, to: claim.claimant, by: rule)
        handle(.awaitedDenied(claim.name))
    }
}
