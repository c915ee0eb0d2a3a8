import Glibc
import NotifyText
import Routing
import ScreenHolding
import Systemd
import TOMLTables
import Watching

/// The interface `org.notifyd.Focus1`; `systemd/org.notifyd.Focus1.xml` describes it.
final class FocusInterface {
    static let path = "/org/notifyd/Focus1"
    static let name = "org.notifyd.Focus1"
    private static let mostWaiting = 16
    private static let mostWaitingPerCaller = 4
    private static let longestWait: UInt32 = 600_000

    /// A caller that waits for the window that is focused next.
    private struct Waiting {
        let call: RetainedMessage
        /// The window that had the focus when it came; `nil`: none.
        let window: UInt64?
        /// Microseconds of the monotonic clock.
        let deadline: Int64
        /// Tells when the caller leaves the bus.
        let departure: BusSlot
    }

    private unowned let focus: Focus
    private let bus: BusConnection
    private let interface = BusInterface(FocusInterface.name)
    private let sandbox: SandboxCheck
    private var timer: EventSource?
    private var waiting: [Waiting] = []

    init(_ focus: Focus, bus: BusConnection, loop: EventLoop) throws(SystemdError) {
        self.focus = focus
        self.bus = bus
        sandbox = SandboxCheck(bus: bus)
        timer = try loop.timer(.monotonic) { [unowned self] in endWaits() }
        interface.property("Source", "s", .announced) { [unowned self] in $0.append(status.source) }
        interface.property("Following", "b", .announced) { [unowned self] in $0.append(status.isFollowing) }
        interface.property("Detail", "s", .announced) { [unowned self] in $0.append(status.detail.deliverable) }
        interface.method("Get", out: [("state", "a{sv}")]) { [unowned self] call throws(BusFailure) in
            answer(RetainedMessage(retaining: call)) { $0.get($1, isSandboxed: $2) }
        }
        interface.method(
            "WaitForFocus", in: [("milliseconds", "u")],
            out: [("app", "s"), ("instance", "s"), ("title", "s")]
        ) { [unowned self] call throws(BusFailure) in
            guard let milliseconds: UInt32 = try? call.readNumber("u"), (1...Self.longestWait).contains(milliseconds)
            else { throw Self.invalid("'milliseconds' is 1 to \(Self.longestWait)") }
            answer(RetainedMessage(retaining: call)) { $0.wait($1, milliseconds, isSandboxed: $2) }
        }
        interface.method("Reload") { [unowned self] call throws(BusFailure) in
            if let error = focus.reload() {
                throw BusFailure(name: "\(Self.name).Error.BadConfiguration", text: error.description)
            }
            send(bus.methodReturn(to: call))
        }
        interface.method("Diagnose", out: [("problems", "a(sss)")]) { [unowned self] call throws(BusFailure) in
            answer(RetainedMessage(retaining: call)) { $0.diagnose($1, isSandboxed: $2) }
        }
        try interface.export(on: bus, path: Self.path)
    }

    private var status: WindowFollower.Status { focus.follower?.status ?? WindowFollower.Status() }

    func statusChanged() {
        bus.propertiesChanged(path: Self.path, interface: Self.name, ["Source", "Following", "Detail"])
    }

    // MARK: Calls

    private static func invalid(_ text: String) -> BusFailure {
        BusFailure(name: "org.freedesktop.DBus.Error.InvalidArgs", text: text)
    }

    /// Looks at the caller, and then handles its call.
    private func answer(_ call: RetainedMessage, _ body: @escaping (FocusInterface, RetainedMessage, Bool) -> Void) {
        sandbox.check(call.message.sender) { [unowned self] isSandboxed in body(self, call, isSandboxed) }
    }

    private func send(_ message: borrowing BusMessage) {
        // A lost connection ends the program.
        try? bus.send(message)
    }

    private func get(_ call: RetainedMessage, isSandboxed: Bool) {
        let reply = bus.methodReturn(to: call.message)
        let status = status
        reply.appendContainer("a", "{sv}") { state in
            state.appendEntry("source", "s") { $0.append(status.source) }
            state.appendEntry("following", "b") { $0.append(status.isFollowing) }
            state.appendEntry("detail", "s") { $0.append(status.detail.deliverable) }
            state.appendEntry("configuration", "s") { $0.append(focus.file.path.deliverable) }
            state.appendEntry("rules", "u") { $0.append(UInt32(focus.rules.rules.count), as: "u") }
            state.appendEntry("windows", "u") { $0.append(UInt32(focus.follower?.windows.count ?? 0), as: "u") }
            state.appendEntry("obstacle", "s") { $0.append(focus.holder.obstacle ?? "") }
            state.appendEntry("lockers", "as") { value in
                value.appendContainer("a", "s") { list in for name in focus.holder.knownLockers { list.append(name) } }
            }
            guard !isSandboxed else { return }
            append(focus.focused, to: state)
            appendHeld(to: state)
        }
        send(reply)
    }

    private func append(_ window: Window?, to state: borrowing BusMessage) {
        guard let window else { return }
        state.appendEntry("app", "s") { $0.append(window.app.deliverable) }
        state.appendEntry("instance", "s") { $0.append(window.instance.deliverable) }
        state.appendEntry("title", "s") { $0.append(window.title.deliverable) }
        guard let fit = focus.fit(window) else { return }
        state.appendEntry("rule", "u") { $0.append(UInt32(fit.rule + 1), as: "u") }
        if let topic = fit.topic {
            state.appendEntry("topic", "s") { $0.append(topic.description) }
        }
    }

    /// Topic, state, and how it is: open, waiting or the reason of a refusal.
    private func appendHeld(to state: borrowing BusMessage) {
        let held = focus.holder.held.sorted { $0.key.description < $1.key.description }
        state.appendEntry("screens", "a(sss)") { value in
            Self.append(held.map { ($0.description, $1.words.state, $1.words.detail) }, to: value)
        }
    }

    private static func append(_ rows: [(String, String, String)], to message: borrowing BusMessage) {
        message.appendContainer("a", "(sss)") { list in
            for row in rows {
                list.appendContainer("r", "sss") { entry in
                    entry.append(row.0)
                    entry.append(row.1)
                    entry.append(row.2)
                }
            }
        }
    }

    private func diagnose(_ call: RetainedMessage, isSandboxed: Bool) {
        let problems = FocusProblem.all(
            status, knowsDisplay: focus.follower?.knowsDisplay ?? true, rules: focus.rules.rules.count,
            // Topics tell what is looked at.
            held: isSandboxed ? [:] : focus.holder.held)
        let reply = bus.methodReturn(to: call.message)
        Self.append(problems.map { ("focus", $0.state.deliverable, $0.advice) }, to: reply)
        send(reply)
    }

    // MARK: Waiting

    private func wait(_ call: RetainedMessage, _ milliseconds: UInt32, isSandboxed: Bool) {
        guard !isSandboxed else {
            return fail(call, "Sandboxed", "titles of windows are not for programs in a sandbox")
        }
        let caller = call.message.sender
        guard waiting.count(where: { $0.call.message.sender == caller }) < Self.mostWaitingPerCaller else {
            return fail(call, "TooManyWaiting", "a connection waits at most \(Self.mostWaitingPerCaller) times at once")
        }
        guard waiting.count < Self.mostWaiting else {
            return fail(call, "TooManyWaiting", "\(Self.mostWaiting) callers wait already; try again later")
        }
        do throws(SystemdError) {
            let departure = try bus.matchOwnerChanges("arg0='\(caller)'") { [unowned self] name, owner in
                if owner == nil { forget(name) }
            }
            // It may have left before that.
            bus.call(bus.busCall("GetNameOwner", about: caller), timeout: .seconds(25)) { [weak self] answer in
                if answer.failure != nil { self?.forget(caller) }
            }
            let deadline = Clock.monotonic() + Int64(milliseconds) * 1000
            waiting.append(
                Waiting(call: call, window: focus.focused?.id, deadline: deadline, departure: departure))
            arm()
        } catch {
            // Only a lost connection takes no calls, and then the program ends.
        }
    }

    private func forget(_ caller: String) {
        waiting.removeAll { $0.call.message.sender == caller }
        arm()
    }

    /// Answers those who wait for another window than the one that had the focus then.
    func windowsChanged() {
        guard !waiting.isEmpty, let window = focus.focused else { return }
        waiting.removeAll { waiting in
            guard waiting.window != window.id else { return false }
            // A rule is made of what comes back, so nothing else will do.
            guard [window.app, window.instance, window.title].allSatisfy(\.fitsIntoMessage) else {
                fail(waiting.call, "BadTitle", "the title of the window has a character that no message can carry")
                return true
            }
            let reply = bus.methodReturn(to: waiting.call.message)
            reply.append(window.app)
            reply.append(window.instance)
            reply.append(window.title)
            send(reply)
            return true
        }
        arm()
    }

    private func endWaits() {
        let now = Clock.monotonic()
        waiting.removeAll { waiting in
            guard waiting.deadline <= now else { return false }
            fail(waiting.call, "TimedOut", "no other window was focused in time")
            return true
        }
        arm()
    }

    private func arm() {
        if let deadline = waiting.map(\.deadline).min() { timer?.arm(at: deadline) }
    }

    private func fail(_ call: RetainedMessage, _ name: String, _ text: String) {
        send(bus.methodError(to: call.message, BusFailure(name: "\(Self.name).Error.\(name)", text: text)))
    }
}

/// What is wrong although it runs, for `Diagnose`.
struct FocusProblem: Equatable {
    let state: String
    let advice: String

    /// With this notifyd answers everything while its configuration is bad, which it tells itself.
    private static let badConfiguration = "org.freedesktop.DBus.Error.InvalidFileContent"

    /// - Parameters:
    ///   - knowsDisplay: whether this program or the service manager knows of a display.
    ///   - rules: how many there are.
    static func all(
        _ status: WindowFollower.Status, knowsDisplay: Bool, rules: Int, held: [Topic: HeldScreen]
    ) -> [FocusProblem] {
        var problems: [FocusProblem] = []
        if !status.isFollowing {
            problems.append(
                FocusProblem(
                    state: "no windows are followed: \(status.detail.isEmpty ? "it has just begun" : status.detail)",
                    advice: knowsDisplay
                        ? "Screens of windows are not held meanwhile. notifyd-focus(8) says what it can follow."
                        : "The service manager knows of no display. Let your desktop run this when it begins: "
                            + focusStartCommand))
        } else if rules == 0 {
            problems.append(
                FocusProblem(
                    state: "windows are followed (\(status.source)), but there is no rule",
                    advice: "Add one: notifyctl focus --learn '/post/{id}'"))
        }
        for (topic, screen) in held.sorted(by: { $0.key.description < $1.key.description }) {
            guard case .refused(let reason, let error) = screen, error != badConfiguration else { continue }
            problems.append(
                FocusProblem(
                    state: "the screen of \(topic) is not open: \(reason)",
                    advice: error == "org.notifyd.Router1.Error.AccessDenied"
                        ? "Let notifyd-focus claim it: [[policy]] in notifyd.toml(5)."
                        : "Correct that, then: systemctl --user restart notifyd-focus"))
            // What is wrong with one is mostly wrong with all.
            break
        }
        return problems
    }
}

extension HeldScreen {
    /// The state of the screen, and what is to be said of it.
    fileprivate var words: (state: String, detail: String) {
        switch self {
        case .waiting: ("", "notifyd is not there")
        case .opening(let state), .open(_, let state): (state.rawValue, "")
        case .refused(let reason, _): ("", reason)
        }
    }
}

extension String {
    /// The text with U+FFFD for each character that no message can carry: strangers choose titles.
    fileprivate var deliverable: String {
        if fitsIntoMessage { return self }
        return String(
            String.UnicodeScalarView(unicodeScalars.map { String($0).fitsIntoMessage ? $0 : "\u{FFFD}" }))
    }
}

/// Tells sandboxed callers from others: titles of windows are none of their business.
///
/// A sandbox is one of Flatpak (it has a file in its root) or of Snap (by the control group). Whoever cannot be looked
/// at counts as sandboxed.
final class SandboxCheck {
    private static let timeout = Duration.seconds(5)

    private let bus: BusConnection

    init(bus: BusConnection) { self.bus = bus }

    /// Looks at the process behind a unique name.
    func check(_ name: String, _ answer: @escaping (_ isSandboxed: Bool) -> Void) {
        process(of: name) { [unowned self] process in
            guard let process, !Self.isSandboxed(process) else { return answer(true) }
            // Its number may have been given to another process meanwhile, unless its connection is still there.
            self.process(of: name) { answer($0 != process) }
        }
    }

    private func process(of name: String, _ answer: @escaping (Int32?) -> Void) {
        bus.call(bus.busCall("GetConnectionUnixProcessID", about: name), timeout: Self.timeout) { reply in
            let number: UInt32? = reply.failure == nil ? try? reply.readNumber("u") : nil
            answer(number.flatMap { Int32(exactly: $0) })
        }
    }

    private static func isSandboxed(_ process: Int32) -> Bool {
        var status = stat()
        // Without the right to look into the root, this fails with EACCES.
        guard stat("/proc/\(process)/root/", &status) == 0 else { return true }
        guard stat("/proc/\(process)/root/.flatpak-info", &status) != 0, errno == ENOENT else { return true }
        guard let unit = ProcessIdentity(process: process)?.userUnit else { return false }
        return unit.hasPrefix("snap.")
    }
}
