import Routing
import Systemd

/// Who may do what. A call waits until it is known who makes it, where the policy wants to know; then it is handled as if it
/// had come in only now, and what it is about to do is held against the policy.
///
/// All calls wait, even those that the policy has nothing to say about, so that calls of one caller keep their order. Only
/// what sd-bus answers by itself, such as reading a property, does not.
extension RouterInterface {
    /// Handles a call at once, or as soon as it is known who makes it.
    func admit(_ call: borrowing BusMessage, _ body: @escaping BusInterface.Method) throws(BusFailure) {
        let caller = call.sender
        let callers = daemon.callers
        guard !callers.isSettled(caller) else { return try body(call) }
        let bytes = try lengthToWait(of: call)
        guard callers.hasRoom(for: caller, bytes: bytes) else {
            throw BusFailure(
                .limitExceeded(
                    "calls that wait until it is known who makes them: there are too many, or they are too long; "
                        + "try again in a moment"))
        }
        let held = HeldMessage(retaining: call)
        callers.whenSettled(caller, bytes: bytes) { [unowned self] in
            do throws(BusFailure) {
                try body(held.message)
            } catch {
                daemon.leave(bus.methodError(to: held.message, error), to: held.message)
            }
        }
    }

    /// What is longer than any call has to be is not kept until it is known whose it is.
    private func lengthToWait(of call: borrowing BusMessage) throws(BusFailure) -> Int {
        let limit = BusMessage.longestText
        let bytes = try read(call) { try $0.length(upTo: limit) }
        guard bytes > limit else { return bytes }
        throw BusFailure(
            .tooLarge("the message has more than \(limit) bytes, \(daemon.limits.messageBytes) are allowed"))
    }

    /// - Throws: `AccessDenied`, which names the rule.
    func authorize(_ permission: Permission, _ reach: Deed.Reach, _ call: borrowing BusMessage) throws(BusFailure) {
        guard !daemon.policy.rules.isEmpty else { return }
        let deed = Deed(permission: permission, reach: reach)
        let caller = daemon.callers.caller(call.sender)
        guard let rule = daemon.policy.denial(of: deed, to: caller) else { return }
        daemon.noteDenial(of: deed, to: call.sender, by: rule)
        throw BusFailure(rule.refusal(of: deed, to: caller))
    }

    /// For calls about an event. One that the router does not have in memory cannot be changed by anybody.
    func authorize(_ permission: Permission, _ id: EventID, _ call: borrowing BusMessage) throws(BusFailure) {
        guard !daemon.policy.rules.isEmpty, let topic = daemon.router.topic(of: id) else { return }
        try authorize(permission, .topic(topic), call)
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
            call.rewind()
            return attempt(call)
        }
    }

    private func attempt(_ call: borrowing BusMessage) -> Bool {
        do throws(BusFailure) {
            try admit(call) { [unowned self] call throws(BusFailure) in try setProperty(call) }
        } catch {
            daemon.leave(bus.methodError(to: call, error), to: call)
        }
        return true
    }

    /// `Set("org.notifyd.Router1", "Paused", …)`.
    private func setProperty(_ call: borrowing BusMessage) throws(BusFailure) {
        try read(call) { call in
            try call.skip("ss")
            guard try call.enter("v", "b") else { throw Refusal.invalidArguments("'Paused' is true or false") }
        }
        try setPaused(call)
        daemon.leave(bus.methodReturn(to: call), to: call)
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
