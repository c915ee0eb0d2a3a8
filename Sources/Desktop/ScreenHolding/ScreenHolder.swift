package import Routing
package import Systemd

/// Holds screens at notifyd: it opens, changes and closes what differs from what is wanted, and opens all again when
/// notifyd has restarted. It starts no notifyd.
///
/// The screens are leases of the connection: they end with it, and so with the process. Whoever owns the connection
/// handles its end.
///
/// Its calls have no timeout: a screen whose reply is given up would stay open unseen. The reply comes, or notifyd
/// leaves the bus.
package final class ScreenHolder {
    private static let name = "org.notifyd.Router1"
    private static let path = "/org/notifyd/Router1"
    private static let unknownScreen = "org.notifyd.Router1.Error.UnknownScreen"

    private let bus: BusConnection
    private var wanted = WantedScreens()
    private var lock: LockWatch?
    private var reconciler = ScreenReconciler()
    private var owner: String?
    private var ownerChanges: BusSlot?

    /// Called after something in `held` has changed by itself: by a reply, because notifyd came or left, or by a lock.
    package var onChange: () -> Void = {}

    /// Whether the screens of the desktop are dark.
    package var isBlank = false {
        didSet { if isBlank != oldValue { visibilityChanged() } }
    }

    /// Who locks the screen, or why else nobody can look; `nil`: somebody may be looking. What is held is hidden
    /// meanwhile.
    package var obstacle: String? { lock?.locker ?? (isBlank ? "the X screen saver" : nil) }

    /// The lockers that are known to be there, and tell by themselves or are watched.
    package var knownLockers: [String] { lock?.known.sorted() ?? [] }

    /// - Parameter bus: attached to the loop; it has to live as long as this object.
    package init(on bus: BusConnection, loop: EventLoop) throws(SystemdError) {
        self.bus = bus
        lock = try LockWatch(loop: loop, bus: bus) { [unowned self] in visibilityChanged() }
        ownerChanges = try bus.matchOwnerChanges("arg0='\(Self.name)'") { [unowned self] _, owner in
            ownerChanged(to: owner)
        }
        // The bus handles calls in order, so no change of the owner is missed.
        bus.call(bus.busCall("GetNameOwner", about: Self.name), timeout: nil) { [weak self] reply in
            guard let self, reply.failure == nil, let owner = try? reply.readString() else { return }
            ownerChanged(to: owner)
        }
    }

    /// Whether notifyd is on the bus.
    package var isConnected: Bool { owner != nil }

    /// Whether notifyd was asked to open a screen, and has not replied yet.
    package var isOpening: Bool { reconciler.isOpening }

    /// Every wanted screen.
    package var held: [Topic: HeldScreen] { reconciler.held }

    /// Takes what is wanted from now on, and calls notifyd about the difference only.
    package func want(_ screens: WantedScreens) {
        wanted = screens
        perform(reconciler.want(obstacle == nil ? wanted : wanted.hidden))
    }

    private func visibilityChanged() {
        want(wanted)
        onChange()
    }

    private func ownerChanged(to newOwner: String?) {
        guard newOwner != owner else { return }
        owner = newOwner
        if newOwner == nil { reconciler.disconnected() } else { perform(reconciler.connected()) }
        onChange()
    }

    private func perform(_ actions: [ScreenReconciler.Action]) {
        guard let owner else { return }
        for action in actions {
            switch action {
            case .open(let topic, let state): open(topic, state, at: owner)
            case .update(let topic, let id, let state): update(topic, id, state, at: owner)
            case .close(let id):
                let call = call("CloseScreen", of: owner)
                call.append(id.rawValue, as: "t")
                // Fails without a connection only, which its owner handles.
                try? bus.send(call)
            }
        }
    }

    private func open(_ topic: Topic, _ state: Screen.State, at owner: String) {
        let call = call("OpenScreen", of: owner)
        call.append(topic.description)
        call.appendContainer("a", "{sv}") { options in
            // What is not said is `focused`, which nearly every screen is.
            if state != .focused { append(state, to: options) }
        }
        bus.call(call, timeout: nil) { [weak self] reply in
            // A reply that comes after notifyd's end is of no screen that exists.
            guard let self, self.owner == owner else { return }
            if let failure = reply.failure {
                perform(reconciler.refused(topic, reason: failure.text, error: failure.name))
            } else if let id: UInt64 = try? reply.readNumber("t") {
                perform(reconciler.opened(topic, as: ScreenID(id)))
            } else {
                perform(reconciler.refused(topic, reason: "the reply to OpenScreen has no number"))
            }
            onChange()
        }
    }

    private func update(_ topic: Topic, _ id: ScreenID, _ state: Screen.State, at owner: String) {
        let call = call("UpdateScreen", of: owner)
        call.append(id.rawValue, as: "t")
        call.appendContainer("a", "{sv}") { append(state, to: $0) }
        bus.call(call, timeout: nil) { [weak self] reply in
            guard let self, self.owner == owner, let failure = reply.failure else { return }
            perform(
                reconciler.updateFailed(
                    topic, id, isUnknown: failure.name == Self.unknownScreen, reason: failure.text, error: failure.name)
            )
            onChange()
        }
    }

    /// A call to the notifyd that owns the name now; replies of others do not count.
    private func call(_ member: String, of owner: String) -> BusMessage {
        bus.methodCall(to: owner, path: Self.path, interface: Self.name, member: member)
    }

    private func append(_ state: Screen.State, to options: borrowing BusMessage) {
        options.appendEntry("state", "s") { $0.append(state.rawValue) }
    }
}
