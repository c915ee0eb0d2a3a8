import Logging
import NotifyBridge
import NotifyClient
import NotifyText
import Watching

/// The portal's backend: the notifications of sandboxed programs, which nothing shows but this program, and so not
/// before notifyd has decided. ``PortalNotices`` decides, this does.
///
/// It is version 1 of [the interface](https://flatpak.github.io/xdg-desktop-portal/docs/impl-dbus-interfaces.html). In
/// version 2, pictures and sounds are file descriptors, which a ``Value`` does not have; the portal makes version 1 of
/// what programs say in version 2.
final class Portal: @unchecked Sendable {
    // Proof: everything runs on the loop of the bridge.

    static let name = "org.freedesktop.impl.portal.desktop.notifyd"
    private static let frontend = "org.freedesktop.portal.Desktop"
    private static let path = "/org/freedesktop/portal/desktop"
    private static let interface = "org.freedesktop.impl.portal.Notification"
    private static let recordPrefix = "portal/"
    /// Bytes of a notification, without its picture.
    private static let longest = 64 << 10
    /// Bytes of a picture. The last 32 are in memory, where the run-time folder is.
    private static let longestPicture = 1 << 20

    private unowned let bridge: DesktopBridge
    private var notices: PortalNotices
    private var contents: [PortalNotices.Key: PortalContent] = [:]
    /// Events that are known from before the start, and whose outcomes are to be asked for.
    private var recovered: Set<String> = []
    /// By the number of a banner: what lets a program come to the front, which some servers give before a press.
    private var token: (number: UInt32, text: String)?
    private var alarm: WorkTimer?
    private var isPurging = false
    /// `nil`: there is no place for pictures, which are left out.
    private let pictures: PictureFolder?

    private var services: BridgeServices { bridge.services }

    init(_ bridge: DesktopBridge) {
        self.bridge = bridge
        notices = PortalNotices(bus: bridge.server.busID)
        do throws(PictureFolder.Failure) {
            pictures = try PictureFolder("notifyd-desktop")
        } catch {
            pictures = nil
            bridge.services.logger.warning(
                "There are no pictures of sandboxed programs", metadata: ["error": "\(error)"])
        }
    }

    /// Takes over what an earlier process has held back, and then the calls of the portal.
    func start() async {
        for (key, record) in (try? await services.store.all(prefix: Self.recordPrefix)) ?? [] {
            if !recover(record) { try? await services.store.write([.remove(key)]) }
        }
        services.connection.export(Self.interface) { [self] in handle($0) }
        do throws(NotifyError) {
            try await services.connection.requestName(Self.name)
        } catch {
            services.status.setProblem(
                "portal", "another program is the portal's backend: \(error)", "End it, and restart notifyd-desktop.")
        }
    }

    // MARK: The portal

    private func handle(_ call: IncomingCall) {
        let message = call.message
        guard message.path == Self.path else {
            return call.fail("org.freedesktop.DBus.Error.UnknownObject", "The object is \(Self.path).")
        }
        let arguments = message.arguments
        switch (message.member, message.signature) {
        case ("AddNotification", "ssa{sv}"): add(call)
        case ("RemoveNotification", "ss"):
            call.reply()
            let key = PortalNotices.Key(app: arguments[0].string ?? "", id: arguments[1].string ?? "")
            if let number = notices.number(of: key) { bridge.release(.number(number)) }
            perform(notices.removed(key))
        default: call.fail("org.freedesktop.DBus.Error.UnknownMethod", "There is no such method here.")
        }
    }

    private func add(_ call: IncomingCall) {
        let arguments = call.message.arguments
        let key = PortalNotices.Key(app: arguments[0].string ?? "", id: arguments[1].string ?? "")
        var notification = arguments[2].entries ?? [:]
        // A picture, which the portal has looked at, becomes a file.
        if let icon = notification["icon"]?.elements, icon.first?.string == "bytes" {
            notification["icon"] = picture(icon.last?.bytes ?? [])
        }
        let content = PortalContent(app: key.app, notification)
        guard let size = try? record(key, content).wire().count, size <= Self.longest else {
            return call.fail(
                "org.freedesktop.DBus.Error.LimitsExceeded",
                "A notification has at most \(Self.longest) bytes, without its picture.")
        }
        // What its banner shows is followed no more: it is replaced, or closed, when notifyd has decided.
        if let number = notices.number(of: key) { bridge.release(.number(number)) }
        contents[key] = content
        let id = CallID(sender: call.message.sender ?? "", serial: call.message.serial)
        let effects = notices.added(key, content.notice, id, bridge.decide(content.notice), at: .now)
        // The portal tells a program of presses from now on.
        write(key) { call.reply() }
        perform(effects)
    }

    private func picture(_ bytes: [UInt8]) -> Value? {
        guard bytes.count <= Self.longestPicture else { return nil }
        let kind = bytes.starts(with: [0x89, 0x50]) ? "png" : bytes.starts(with: [0xFF, 0xD8]) ? "jpeg" : "svg"
        let path = try? pictures?.keep(bytes, kind: kind)
        return path.map { .structure([.string("file"), .variant(.string("file://" + $0))]) }
    }

    /// A program hears that one of its buttons was pressed, once for each.
    private func press(_ key: PortalNotices.Key, _ button: String, token: String? = nil) {
        guard let action = contents[key]?.actions[button], contents[key]?.pressed.insert(button).inserted == true else {
            return
        }
        let target = Value.array(action.target.map { [.variant($0)] } ?? [], of: .variant)
        let platform = Value.variants(token.map { ["activation-token": .string($0)] } ?? [:])
        func call(_ member: String, _ arguments: [Value]) {
            services.connection.call(.toApplication(key.app, member, arguments)) { _ in }
        }
        guard !action.name.hasPrefix("app.") else {
            return call("ActivateAction", [.string(String(action.name.dropFirst(4))), target, platform])
        }
        if !key.app.isEmpty { call("Activate", [platform]) }
        services.connection.send(
            .signal(
                "ActionInvoked", of: Self.interface, at: Self.path, to: Self.frontend,
                [.string(key.app), .string(key.id), .string(action.name), target]))
    }

    // MARK: What the bridge sees

    func serverChanged() { perform(notices.serverChanged()) }

    func serverReady() { perform(notices.serverReady()) }

    func ended(_ key: BannerKey) {
        guard case .number(let number) = key else { return }
        perform(notices.ended(number))
    }

    func pressed(_ key: BannerKey, _ button: String) {
        guard case .number(let number) = key, let key = notices.key(ofBanner: number) else { return }
        press(key, button, token: token?.number == number ? token?.text : nil)
    }

    func activation(_ number: UInt32, _ text: String) { token = (number, text) }

    /// A button was pressed somewhere, as notifyd announces.
    func announced(_ eventID: String, _ button: String) {
        if let key = notices.key(ofEvent: eventID) { press(key, button) }
    }

    /// An event has an outcome. The observer has been told before.
    func decided(_ eventID: String, _ outcome: String, action: String?) {
        if let action { announced(eventID, action) }
        perform(notices.decided(eventID, outcome))
    }

    /// The bridge has shown a banner again that was closed for a while.
    func displayed(_ name: DesktopName, _ key: BannerKey?) {
        guard let own = notices.key(ofEvent: name.eventID), case .number(let number)? = key else { return }
        perform(notices.displayed(own, name, number, at: .now))
    }

    func daemonChanged(isThere: Bool) {
        notices.daemonChanged(isThere: isThere, at: .now)
        arm()
    }

    // MARK: What is done

    private func perform(_ effects: [PortalNotices.Effect]) {
        for effect in effects {
            switch effect {
            case .publish(let name, let notice, let route, let collapse):
                bridge.deliver(notice, name, route, collapse: collapse) { [self] answer in
                    perform(notices.answered(name.eventID, isTaken: answer.isDone))
                    if let id = answer.eventID, recovered.remove(name.eventID) != nil { askOutcome(of: id, name) }
                }
            case .show(let key, let name, let notice, let topic, let number): show(key, name, notice, topic, number)
            case .close(let number): bridge.server.close(.number(number))
            case .withdraw(let name): bridge.claim(name, "withdrawn")
            case .forget(let key):
                contents[key] = nil
                services.store.write([.remove(Self.recordKey(key))]) { _ in }
                purge()
            }
        }
        arm()
    }

    private func arm() {
        alarm?.cancel()
        alarm = notices.deadline.map { deadline in
            services.loop.perform(after: max(.zero, deadline - .now)) { [self] in
                perform(notices.timePassed(at: .now))
            }
        }
    }

    private func show(
        _ key: PortalNotices.Key, _ name: DesktopName?, _ notice: Notice, _ topic: Topic?, _ replaced: UInt32
    ) {
        bridge.server.show(notice, replacing: replaced) { [self] banner in
            guard case .number(let number)? = banner else {
                return perform(notices.displayed(key, name, nil, at: .now))
            }
            perform(notices.displayed(key, name, number, at: .now))
            guard notices.isUp(key, name) else { return }
            if let name, let topic { bridge.follow(name, notice, .number(number), at: topic) }
            contents[key]?.forgetTexts()
            write(key) {}
            purge()
        }
    }

    /// What became of an event while this program was not there.
    private func askOutcome(of id: EventID, _ name: DesktopName) {
        services.daemon.submit(DaemonCall("Explain", [.uint64(id.rawValue)])) { [self] answer in
            guard let outcome = answer.record?["outcome"]?.string, !outcome.isEmpty else { return }
            perform(notices.decided(name.eventID, outcome))
        }
    }

    // MARK: Records

    private static func recordKey(_ key: PortalNotices.Key) -> String { "\(recordPrefix)\(key.app)/\(key.id)" }

    /// What is kept of a notification on disk, as a message: what the portal has given, its event, and its banner.
    private func record(_ key: PortalNotices.Key, _ content: PortalContent) -> Message {
        let name = notices.name(of: key)
        return .signal(
            "AddNotification", of: Self.interface, at: Self.path,
            [
                .string(key.app), .string(key.id), .variants(content.notification),
                .string(name?.eventID ?? ""), .string(name?.source ?? ""), .string(bridge.server.server),
                .uint32(notices.number(of: key) ?? 0),
            ])
    }

    /// Deletes texts from the disk that are not needed any more: those of the next seconds together.
    private func purge() {
        guard !isPurging else { return }
        isPurging = true
        services.loop.perform(after: .seconds(1)) { [self] in
            isPurging = false
            services.loop.task { [store = services.store] in try? await store.purge() }
        }
    }

    private func write(_ key: PortalNotices.Key, _ completion: @escaping @Sendable () -> Void) {
        guard notices.name(of: key) != nil else {
            // It is shown at once, and nothing is left to do for it after a restart.
            services.store.write([.remove(Self.recordKey(key))]) { _ in }
            return completion()
        }
        guard let content = contents[key], let record = try? record(key, content).wire() else { return completion() }
        // Where the disk takes nothing, a restart forgets it, and nothing more.
        services.store.write([.put(Self.recordKey(key), record)]) { _ in completion() }
    }

    /// - Returns: whether there is something to do for it.
    private func recover(_ bytes: [UInt8]) -> Bool {
        guard let message = Message(wire: bytes), message.signature == "ssa{sv}sssu" else { return false }
        let arguments = message.arguments
        let texts = arguments.map { $0.string ?? "" }
        let key = PortalNotices.Key(app: texts[0], id: texts[1])
        let name = DesktopName(eventID: texts[3], source: texts[4])
        let number: UInt32? = arguments[6].integer().flatMap { $0 == 0 ? nil : $0 }
        let content = PortalContent(app: key.app, arguments[2].entries ?? [:])
        guard DesktopName.isSource(name.source),
            case .take(let route) = bridge.observer.rules.decision(for: content.notice),
            // Another server does not have its banner.
            number == nil || texts[5] == bridge.server.server && texts[3].hasPrefix(bridge.server.busID + "/")
        else { return false }
        contents[key] = content
        if let number {
            bridge.follow(name, content.notice, .number(number), at: route.topic)
        } else {
            recovered.insert(name.eventID)
        }
        perform(notices.recovered(key, name, content.notice, route, number: number, at: .now))
        return true
    }
}

/// What a program has given to the portal.
struct PortalContent {
    private(set) var notification: [String: Value]
    let notice: Notice
    /// What the buttons stand for, by their keys.
    let actions: [String: (name: String, target: Value?)]
    /// The buttons that the program has heard of.
    var pressed: Set<String> = []

    init(app: String, _ notification: [String: Value]) {
        self.notification = notification
        var notice = Notice(app: app, gtk: notification)
        var actions: [String: (name: String, target: Value?)] = [:]
        notice.buttons = []
        for action in Notice.actions(gtk: notification) {
            // Two buttons may do the same with different targets, and "default" is the banner itself.
            var key = action.isDefault ? "default" : action.name
            while actions[key] != nil || key == "default" && !action.isDefault { key += "+" }
            actions[key] = (action.name, action.target)
            notice.buttons.append(Notice.Button(key: key, label: action.label))
        }
        (self.notice, self.actions) = (notice, actions)
    }

    /// Once the banner is up, only the buttons are of use.
    mutating func forgetTexts() {
        notification = notification.filter { ["buttons", "default-action", "default-action-target"].contains($0.key) }
    }
}
