import DequeModule
import Logging
import NotifyBridge
import NotifyClient
import Watching

/// The connections to the bus of the notification server. A monitor, which is a connection that sends nothing, sees the
/// messages between programs and the server; Plasma reports notifications to a watcher instead. Banners are closed, and
/// shown, on a connection of their own.
final class ServerLink: @unchecked Sendable {
    // Proof: everything runs on the loop of the bridge; `bus` and `busID` are written once, before `open` returns.

    /// Something that was seen on the bus; reported in the order in which it happened.
    enum Sight {
        /// The server has another owner; empty: none.
        case server(String)
        /// It is known what the server can do, and it may be asked to show something.
        case known
        case notify(CallID, Notice, program: String, expectsReply: Bool)
        case answer(CallID, Observer.Answer)
        case close(BannerKey)
        case ended(BannerKey, UInt32)
        case pressed(BannerKey, String)
        /// What lets a program come to the front when a button of this banner is pressed next.
        case activation(UInt32, String)
    }

    /// A notification server, by what it can do for us beside the specification.
    enum Kind: String {
        case plasma = "Plasma"
        case gnome = "gnome-shell"
        case mako
        case other
    }

    static let name = "org.freedesktop.Notifications"
    static let path = "/org/freedesktop/Notifications"
    private static let shell = "org.gnome.Shell"
    private static let gtk = (name: "org.gtk.Notifications", path: "/org/gtk/Notifications")
    private static let watcher = (name: "org.kde.NotificationWatcher", path: "/NotificationWatcher")
    private static let manager = "org.kde.NotificationManager"

    private let services: BridgeServices
    private let onSight: (Sight) -> Void
    private(set) var bus: Connection!
    private(set) var busID = ""
    private var monitor: Connection?

    /// The unique name of the server, as the monitor has seen it; empty: none.
    private(set) var server = ""
    /// Counts changes of owners, so that an answer from before the last one is ignored.
    private var owners = 0
    private var daemon = ""
    private var gnomeShell = ""
    private(set) var kind = Kind.other
    /// What the server calls itself.
    private(set) var title = ""
    private(set) var hasMarkup = false
    private var isKnown = false
    /// Whether the server can press a button, so that its program is told: see ``invoke(_:action:)``.
    private var reachesPrograms: Bool { kind == .plasma || kind == .mako }
    /// How notifications are seen.
    var way: String { kind == .plasma ? "watcher" : "monitor" }
    /// Calls that close banners, and wait until the server has answered some of the earlier ones.
    private var toClose: Deque<(call: Message, completion: @Sendable () -> Void)> = []
    private var closing = 0
    /// A bus may let a connection wait for no more than 128 answers.
    private static let mostClosing = 64
    /// The server has changed, or is to be looked at again.
    private let changes: Wakeups

    init(_ services: BridgeServices, onSight: @escaping (Sight) -> Void) {
        (self.services, self.onSight) = (services, onSight)
        changes = Wakeups(services.loop)
    }

    /// Connects. Nothing is seen before ``follow()``.
    func open() async throws(NotifyError) {
        bus = try await services.connect { [self] in handleSignal($0) }
        busID = try await bus.call(.toBus("GetId")).arguments.first?.string ?? ""
        bus.export(Self.watcher.name) { [self] in watch($0) }
        for name in [Self.name, Self.shell, Router.name] { try await bus.addMatch(.ownerChanged(of: name)) }
        try await learnOwners()
    }

    func close() {
        monitor?.close()
        bus?.close()
    }

    // MARK: Who is there

    private func learnOwners() async throws(NotifyError) {
        let count = owners
        let found = (
            server: try await bus.owner(of: Self.name), shell: try await bus.owner(of: Self.shell),
            daemon: try await bus.owner(of: Router.name)
        )
        guard count == owners else { return }
        (gnomeShell, daemon) = (found.shell ?? "", found.daemon ?? "")
        setServer(found.server ?? "")
    }

    private func setServer(_ owner: String) {
        guard owner != server else { return }
        server = owner
        isKnown = false
        onSight(.server(owner))
        changes.wake()
    }

    /// A name has another owner. With a monitor only its signal counts, because it is in order with everything else
    /// that the monitor sees.
    private func noteOwner(_ message: Message, byMonitor: Bool) {
        guard let (name, newOwner) = message.ownerChange else { return }
        let owner = newOwner ?? ""
        if name == Self.name { changes.wake() }
        guard byMonitor || monitor == nil else { return }
        owners += 1
        switch name {
        case Self.name: setServer(owner)
        case Self.shell: gnomeShell = owner
        case Router.name: daemon = owner
        default: break
        }
    }

    /// Follows the server, and each one that takes its place, until the task is cancelled.
    func follow() async throws(NotifyError) {
        changes.wake()
        for await _ in changes {
            do throws(NotifyError) {
                try await examine()
            } catch {
                guard bus.isOpen, !Task.isCancelled else { throw error }
                services.logger.warning("The notification server cannot be followed", metadata: ["error": "\(error)"])
                services.status.set(
                    .waiting, "notifications cannot be seen: \(error.message)", advice: BridgeStatus.goesOn)
                changes.wake(after: .seconds(1))
            }
        }
    }

    /// Finds out which server it is, and opens the monitor, or registers the watcher.
    private func examine() async throws(NotifyError) {
        let owner = try await bus.owner(of: Self.name) ?? ""
        isKnown = false
        (kind, title, hasMarkup) = (.other, "", false)
        if !owner.isEmpty {
            if let answer = try? await call(owner, "GetServerInformation") {
                title = answer.arguments.first?.string ?? ""
                kind = Kind(rawValue: title) ?? .other
            }
            let capabilities = try? await call(owner, "GetCapabilities").arguments.first?.elements
            hasMarkup = capabilities?.contains { $0.string == "body-markup" } ?? false
        }
        if kind == .plasma {
            monitor?.close()
            monitor = nil
            for member in ["NotificationClosed", "ActionInvoked", "ActivationToken"] {
                try await bus.addMatch(MatchRule(sender: owner, interface: Self.name, member: member))
            }
            _ = try await bus.call(
                .call("RegisterWatcher", of: Self.manager, at: Self.path, on: owner, autoStart: false))
            try await learnOwners()
        } else if monitor == nil {
            try await openMonitor()
        }
        isKnown = !owner.isEmpty && owner == server
        if isKnown { onSight(.known) }
        if owner.isEmpty {
            services.status.set(.waiting, "there is no notification server", advice: BridgeStatus.goesOn)
        } else {
            services.status.set(.connected, "\(title.isEmpty ? "a notification server" : title), by a \(way)")
        }
    }

    private func call(_ owner: String, _ member: String) async throws(NotifyError) -> Message {
        try await bus.call(
            .call(member, of: Self.name, at: Self.path, on: owner, autoStart: false), timeout: .seconds(5))
    }

    // MARK: The monitor

    private static let rules = [
        // A call need not name the interface.
        "type='method_call',path='\(path)',member='Notify'",
        "type='method_call',path='\(path)',member='CloseNotification'",
        "type='method_call',path='\(gtk.path)',interface='\(gtk.name)'",
        "type='method_return',sender='\(name)'", "type='error',sender='\(name)'",
        "type='signal',sender='\(name)',path='\(path)',interface='\(name)'",
        // GNOME Shell sends these for every banner, also if its program has left the bus.
        "type='signal',sender='\(shell)',path='\(path)',interface='\(name)'",
        MatchRule.ownerChanged(of: name).text, MatchRule.ownerChanged(of: shell).text,
        MatchRule.ownerChanged(of: Router.name).text,
    ]

    private func openMonitor() async throws(NotifyError) {
        let again: @Sendable () -> Void = { [weak self] in
            // A message was too long, such as one with a picture: the monitor is opened again.
            self?.monitor = nil
            self?.changes.wake()
        }
        let monitor = try await Connection.open(
            services.address, on: services.loop, maximumMessage: DaemonLink.maximumMessage, onClose: again,
            onCut: again)
        try await monitor.becomeMonitor(Self.rules) { [weak self] in self?.handleMonitored($0) }
        self.monitor = monitor
        try await learnOwners()
    }

    /// A message between two other connections.
    private func handleMonitored(_ message: Message) {
        switch message.kind {
        case .methodCall: handleCall(message)
        case .methodReturn, .error:
            guard message.sender == server, !server.isEmpty, let program = message.destination else { return }
            let id = CallID(sender: program, serial: message.replySerial)
            if message.kind == .error { return onSight(.answer(id, .refused)) }
            // Other methods have other answers, or their calls are not known.
            guard case .uint32(let number)? = message.arguments.first, number > 0 else { return }
            onSight(.answer(id, .banner(.number(number))))
        case .signal:
            if message.sender == Bus.name { return noteOwner(message, byMonitor: true) }
            // The server in front of GNOME Shell sends each program the signals for its own banners only.
            guard message.sender == (gnomeShell.isEmpty ? server : gnomeShell) else { return }
            handleServerSignal(message)
        }
    }

    private func handleCall(_ message: Message) {
        guard let sender = message.sender, !isOwn(sender), let destination = message.destination else { return }
        let id = CallID(sender: sender, serial: message.serial)
        switch (message.interface ?? Self.name, message.member) {
        case (Self.name, "Notify") where destination == Self.name || destination == server:
            guard var notice = Notice(message.arguments, hasMarkup: hasMarkup) else { return }
            // Pressed in the inbox, they would do nothing.
            if !reachesPrograms { notice.buttons = [] }
            onSight(.notify(id, notice, program: sender, expectsReply: message.expectsReply))
        case (Self.name, "CloseNotification") where destination == Self.name || destination == server:
            guard case .uint32(let number)? = message.arguments.first else { return }
            onSight(.close(.number(number)))
        case (Self.gtk.name, "AddNotification") where message.signature == "ssa{sv}":
            let app = message.arguments[0].string ?? ""
            let notice = Notice(app: app, gtk: message.arguments[2].entries ?? [:])
            onSight(.notify(id, notice, program: sender, expectsReply: true))
            onSight(.answer(id, .banner(.gtk(app: app, id: message.arguments[1].string ?? ""))))
        case (Self.gtk.name, "RemoveNotification") where message.signature == "ss":
            onSight(
                .close(.gtk(app: message.arguments[0].string ?? "", id: message.arguments[1].string ?? "")))
        default: break
        }
    }

    /// Whether a connection is ours or notifyd's.
    private func isOwn(_ name: String) -> Bool {
        name == bus.uniqueName || name == services.connection.uniqueName || name == daemon
    }

    // MARK: Signals, and the watcher

    private func handleSignal(_ message: Message) {
        if message.sender == Bus.name { return noteOwner(message, byMonitor: false) }
        // The monitor sees them too.
        if monitor == nil, message.sender == server { handleServerSignal(message) }
    }

    private func handleServerSignal(_ message: Message) {
        guard message.interface == Self.name, message.arguments.count == 2,
            case .uint32(let number) = message.arguments[0]
        else { return }
        switch (message.member, message.arguments[1]) {
        case ("NotificationClosed", .uint32(let reason)): onSight(.ended(.number(number), reason))
        case ("ActionInvoked", .string(let action)): onSight(.pressed(.number(number), action))
        case ("ActivationToken", .string(let token)): onSight(.activation(number, token))
        default: break
        }
    }

    /// Plasma reports a notification to its watcher.
    private func watch(_ call: IncomingCall) {
        let message = call.message
        guard message.path == Self.watcher.path, message.sender == server, !server.isEmpty else {
            return call.fail("org.freedesktop.DBus.Error.AccessDenied", "Only the notification server calls this.")
        }
        call.reply()
        guard monitor == nil, case .uint32(let number)? = message.arguments.first else { return }
        switch message.member {
        case "Notify":
            guard let notice = Notice(Array(message.arguments.dropFirst()), hasMarkup: hasMarkup), !notice.isOfNotifyd
            else { return }
            let id = CallID(sender: server, serial: message.serial)
            onSight(.notify(id, notice, program: "", expectsReply: true))
            onSight(.answer(id, .banner(.number(number))))
        case "CloseNotification": onSight(.close(.number(number)))
        default: break
        }
    }

    // MARK: Calls to the server

    /// Closes a banner.
    ///
    /// - Parameter completion: called when the server has answered, or its time is up.
    func close(_ key: BannerKey, _ completion: @escaping @Sendable () -> Void = {}) {
        let call: Message =
            switch key {
            case .number(let number):
                // The server in front of GNOME Shell closes only the caller's own banners.
                .call(
                    "CloseNotification", of: Self.name, at: Self.path,
                    on: kind == .gnome && !gnomeShell.isEmpty ? gnomeShell : server, autoStart: false,
                    [.uint32(number)])
            case .gtk(let app, let id):
                .call(
                    "RemoveNotification", of: Self.gtk.name, at: Self.gtk.path, on: Self.gtk.name, autoStart: false,
                    [.string(app), .string(id)])
            }
        toClose.append((call, completion))
        closeNext()
    }

    private func closeNext() {
        guard closing < Self.mostClosing, let (call, completion) = toClose.popFirst() else { return }
        closing += 1
        bus.call(call) { [self] _ in
            closing -= 1
            completion()
            closeNext()
        }
    }

    /// Shows a banner.
    ///
    /// - Parameters:
    ///   - number: of the banner whose place it takes; 0: none.
    ///   - completion: gets its number; `nil` if the server does not show it.
    func show(_ notice: Notice, replacing number: UInt32 = 0, _ completion: @escaping @Sendable (BannerKey?) -> Void) {
        guard isKnown else {
            // Its capabilities are not known yet, and the text depends on them.
            if server.isEmpty { bus.call(.toBus("StartServiceByName", [.string(Self.name), .uint32(0)])) { _ in } }
            return completion(nil)
        }
        let arguments = notice.arguments(hasMarkup: hasMarkup, replacing: number)
        bus.call(.call("Notify", of: Self.name, at: Self.path, on: Self.name, arguments)) { answer in
            guard case .success(let reply) = answer, case .uint32(let number)? = reply.arguments.first else {
                return completion(nil)
            }
            completion(.number(number))
        }
    }

    /// Has the server press a button that was pressed elsewhere, if it can.
    func invoke(_ key: BannerKey, action: String) {
        switch (key, kind) {
        case (.number(let number), .plasma), (.number(let number), .mako):
            let isMako = kind == .mako
            bus.send(
                .call(
                    "InvokeAction", of: isMako ? "fr.emersion.Mako" : Self.manager,
                    at: isMako ? "/fr/emersion/Mako" : Self.path, on: server, autoStart: false,
                    [.uint32(number), .string(action)]))
        // A signal from here has no effect: GLib and Qt check that it comes from the server.
        case (.number, _): break
        case (.gtk(let app, _), _):
            guard action.hasPrefix("app.") else { return }
            bus.send(
                .toApplication(
                    app, "ActivateAction",
                    [.string(String(action.dropFirst(4))), .array([], of: .variant), .variants([:])]))
        }
    }

    /// The process of a program; `nil` if it has left the bus.
    func process(of program: String) async -> UInt32? { (try? await bus.process(of: program)) ?? nil }
}
