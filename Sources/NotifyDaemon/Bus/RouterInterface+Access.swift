import Routing
import Systemd

/// Who may do what: what a call is about to do is held against the policy.
extension RouterInterface {
    /// - Throws: `AccessDenied`, which names the rule.
    func authorize(_ permission: Permission, _ reach: Deed.Reach, _ call: borrowing BusMessage) throws(BusFailure) {
        guard !daemon.policy.rules.isEmpty else { return }
        let deed = Deed(permission: permission, reach: reach)
        let caller = daemon.callers.caller(call.sender)
        guard let rule = daemon.policy.denial(of: deed, to: caller) else { return }
        daemon.noteDenial(of: deed, to: call.sender, by: rule)
        throw BusFailure(rule.refusal(of: deed, to: daemon.callers.need > .nothing ? caller : nil))
    }

    /// For calls about an event. One that is in memory or in the journal has a topic; any other cannot be changed.
    func authorize(_ permission: Permission, _ id: EventID, _ call: borrowing BusMessage) throws(BusFailure) {
        guard !daemon.policy.rules.isEmpty else { return }
        let topic: Topic?
        do throws(Refusal) {
            topic = try daemon.topic(of: id)
        } catch {
            throw BusFailure(error)
        }
        if let topic { try authorize(permission, .topic(topic), call) }
    }

    // MARK: Properties

    /// sd-bus wants to know at once what comes of setting a property. So that this can wait too, the call is taken before it
    /// comes to that, where it has to.
    private func interceptProperties() {
        interception = nil
        guard daemon.callers.need > .nothing else { return }
        interception = bus.intercept(path: Self.path) { [unowned self] call in
            guard call.isCall(of: "Set", on: "org.freedesktop.DBus.Properties"),
                (try? call.readString()) == Self.name, (try? call.readString()) == "Paused"
            else { return false }
            attempt(call) { [unowned self] call throws(BusFailure) in try admit(try setProperty(call), call) }
            return true
        }
    }

    /// `Set("org.notifyd.Router1", "Paused", …)`, of which the names have been read.
    private func setProperty(_ call: borrowing BusMessage) throws(BusFailure) -> Order {
        let isPaused = try read(call) { call in
            guard try call.enter("v", "b") else { throw Refusal.invalidArguments("'Paused' is true or false") }
            return try call.readBoolean()
        }
        return Order { [unowned self] call throws(BusFailure) in
            try setPaused(isPaused, call)
            daemon.leave(bus.methodReturn(to: call), to: call)
        }
    }

    // MARK: Another policy

    /// Has a new policy take effect, for what is open already too: a screen that might not be opened any more is closed. What
    /// else was claimed ends by itself within its time.
    func applyPolicy() {
        daemon.callers.require(daemon.policy.need)
        interceptProperties()
        guard !daemon.policy.rules.isEmpty else { return }
        for owner in Set(daemon.router.openScreens.map(\.owner)).sorted() {
            daemon.callers.whenSettled(owner) { [unowned self] in closeForbiddenScreens(of: owner) }
        }
    }

    private func closeForbiddenScreens(of owner: String) {
        for screen in daemon.router.screens(of: owner) {
            let deed = Deed(permission: .claim, reach: .prefix(screen.topic))
            guard let rule = daemon.policy.denial(of: deed, to: daemon.callers.caller(owner)) else { continue }
            daemon.noteDenial(of: deed, to: owner, by: rule)
            daemon.closeScreen(screen.id, of: owner)
        }
    }
}
