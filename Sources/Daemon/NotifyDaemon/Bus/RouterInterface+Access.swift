import Routing
import Systemd

/// Checks calls against the policy.
extension RouterInterface {
    /// - Throws: `.accessDenied`, which names the rule.
    func authorize(_ permission: Permission, _ scope: AccessRequest.Scope, _ call: borrowing BusMessage)
        throws(Refusal)
    {
        guard !daemon.policy.rules.isEmpty else { return }
        let request = AccessRequest(permission: permission, scope: scope)
        let caller = host.callers.caller(call.sender)
        guard let rule = daemon.policy.denyingRule(for: request, to: caller) else { return }
        daemon.recordDenial(of: request, to: call.sender, by: rule)
        throw rule.refusal(of: request, to: host.callers.requiredIdentity > .none ? caller : nil)
    }

    /// For calls about an event. An event that is neither in memory nor in the journal cannot be changed.
    func authorize(_ permission: Permission, _ id: EventID, _ call: borrowing BusMessage) throws(Refusal) {
        guard !daemon.policy.rules.isEmpty else { return }
        if let event = try daemon.origin(of: id) { try authorize(permission, .topic(event.topic), call) }
    }

    /// The claim of an event before it came is judged when it comes and its topic is known. A forbidden one is dropped.
    func judgeAwaited(_ publication: Publication) {
        guard !daemon.policy.rules.isEmpty, let claim = daemon.awaitedClaim(of: publication) else { return }
        let request = AccessRequest(permission: .claim, scope: .topic(publication.topic))
        guard let rule = daemon.policy.denyingRule(for: request, to: Caller(claim.identity)) else { return }
        daemon.recordDenial(of: request, to: claim.claimant, by: rule)
        daemon.handle(.awaitedDenied(claim.name))
    }

    /// For `Withdraw`: whoever published the event, and whoever may publish at its topic.
    func authorizeWithdrawal(_ id: EventID, _ call: borrowing BusMessage) throws(Refusal) {
        guard !daemon.policy.rules.isEmpty, let event = try daemon.origin(of: id) else { return }
        // An earlier run may have been on another bus, which gave the same unique names to other programs.
        if id >= daemon.router.firstID, event.publisher == call.sender { return }
        try authorize(.publish, .topic(event.topic), call)
    }

    // MARK: Properties

    /// sd-bus needs the result of setting a property at once. Where the caller has to be identified first, the call is
    /// intercepted before sd-bus handles it.
    private func interceptProperties() {
        setInterceptor = nil
        guard host.callers.requiredIdentity > .none else { return }
        setInterceptor = bus.intercept(path: BusCodec.path) { [unowned self] call in
            guard call.isCall(of: "Set", on: "org.freedesktop.DBus.Properties"),
                (try? call.readString()) == BusCodec.interface, (try? call.readString()) == "Paused"
            else { return false }
            attempt(call) { [unowned self] call throws(Refusal) in try schedule(try setProperty(call), call) }
            return true
        }
    }

    /// `Set("org.notifyd.Router1", "Paused", …)`, of which the names have been read.
    private func setProperty(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let isPaused = try codec.read(call) { call in
            guard try call.enter("v", "b") else { throw Refusal.invalidArguments("'Paused' is true or false") }
            return try call.readBoolean()
        }
        return PreparedCall { [unowned self] call throws(Refusal) in
            try setPaused(isPaused, call)
            daemon.sendAfterCommit(.reply(.done, to: RetainedMessage(retaining: call)))
        }
    }

    // MARK: Another policy

    /// Applies a new policy, and closes the screens that it forbids. Other claims end by themselves.
    func applyPolicy() {
        host.callers.require(daemon.policy.requiredIdentity)
        interceptProperties()
        guard !daemon.policy.rules.isEmpty else { return }
        for owner in Set(daemon.router.openScreens.map(\.owner)).sorted() {
            host.callers.whenIdentified(owner) { [unowned self] in closeForbiddenScreens(of: owner) }
        }
    }

    private func closeForbiddenScreens(of owner: String) {
        for screen in daemon.router.screens(of: owner) {
            let request = AccessRequest(permission: .claim, scope: .prefix(screen.topic))
            guard let rule = daemon.policy.denyingRule(for: request, to: host.callers.caller(owner)) else { continue }
            daemon.recordDenial(of: request, to: owner, by: rule)
            daemon.closeScreen(screen.id, of: owner)
        }
    }
}
