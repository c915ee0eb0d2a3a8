import Routing
import Systemd

/// Checks calls against the policy.
extension RouterInterface {
    /// - Throws: `.accessDenied`, which names the rule.
    func authorize(_ permission: Permission, _ scope: AccessRequest.Scope, _ name: String) throws(Refusal) {
        guard !daemon.policy.rules.isEmpty else { return }
        let request = AccessRequest(permission: permission, scope: scope)
        let caller = host.callers.caller(name)
        guard let rule = daemon.policy.denyingRule(for: request, to: caller) else { return }
        daemon.recordDenial(of: request, to: name, by: rule)
        throw rule.refusal(of: request, to: host.callers.requiredIdentity > .none ? caller : nil)
    }

    func authorize(_ call: IncomingCall, of caller: String) throws(Refusal) {
        guard !daemon.policy.rules.isEmpty, call.access != .everybody,
            let scope = try scope(of: call.request, by: caller, call.access)
        else { return }
        for permission in call.access.permissions { try authorize(permission, scope, caller) }
    }

    /// What a call is about; `nil` where it needs no permission. An event that is neither in memory nor in the journal
    /// cannot be changed.
    private func scope(
        of request: Request, by caller: String, _ access: Access
    ) throws(Refusal) -> AccessRequest.Scope? {
        switch request {
        case .route(.published(let publication)): .topic(publication.topic)
        case .route(.claimed(let id, _, _)), .route(.withdrawn(let id, _)), .route(.claimedProvisionally(let id, _, _)),
            .route(.answered(let id, _, _)), .press(let id, _), .route(.snoozed(let id, _, _)):
            try topic(of: id, by: caller, access)
        case .claimNamed(let origin, _):
            if let id = try daemon.knownEvent(named: origin) { try topic(of: id, by: caller, access) } else { nil }
        case .route(.topicClaimed(let topic, _, _)), .route(.screenOpened(let topic, _, _)), .forget(let topic, _):
            .prefix(topic)
        case .route(.quieted(let topic, _)): .prefix(topic ?? .all)
        case .route(.screenChanged(let id, _, _)): daemon.router.screen(id).map { .prefix($0.topic) }
        case .route(.claimedNamed), .route(.claimedCold), .route(.digestsCounted), .read,
            .history, .awaitChanges, .render, .explain, .diagnose:
            nil
        }
    }

    private func topic(of id: EventID, by caller: String, _ access: Access) throws(Refusal) -> AccessRequest.Scope? {
        if access == .holder, daemon.remembers(id) { return nil }
        guard let event = try daemon.origin(of: id) else { return nil }
        // An earlier run may have been on another bus, which gave the same unique names to other programs.
        if access == .publisher, id >= daemon.router.firstID, event.publisher == caller { return nil }
        return .topic(event.topic)
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
            let held = RetainedMessage(retaining: call)
            attempt(held) { () throws(Refusal) in
                let isPaused = try codec.read(call) { call in
                    guard try call.enter("v", "b") else { throw Refusal.invalidArguments("'Paused' is true or false") }
                    return try call.readBoolean()
                }
                let request = Request.route(.quieted(nil, for: isPaused ? .zero : nil))
                try schedule(IncomingCall(kind: .other, access: .control, request: request, message: held))
            }
            return true
        }
    }

    // MARK: Another policy

    /// Applies a new policy, and closes the screens that it forbids. Other claims end by themselves.
    func applyPolicy() {
        host.callers.require(daemon.policy.requiredIdentity)
        interceptProperties()
        guard !daemon.policy.rules.isEmpty else { return }
        for owner in Set(daemon.router.openScreens.map(\.owner)).sorted() {
            host.callers.whenIdentified(owner) { [self] in closeForbiddenScreens(of: owner) }
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
