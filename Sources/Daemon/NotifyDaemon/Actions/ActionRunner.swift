import Glibc
import Journal
import Logging
import NotifyText
import Routing
import Systemd

/// Runs the action of a pressed button: a command, or the activation of a desktop application.
///
/// A command is an argument vector and runs without a shell; it gets the event in `NOTIFYD_*` variables only. The
/// service manager starts it, if it has started notifyd and is on the same bus; otherwise notifyd does.
final class ActionRunner {
    /// Commands that may run at a time.
    static let commandLimit = 16

    private let bus: BusConnection
    private let loop: EventLoop
    private let logger: Logger
    private var units: TransientUnits?
    /// Commands that failed or could not be started, and applications that refused their action.
    private(set) var failures: UInt64 = 0
    /// Those of them after which the same button has not worked yet.
    private var lasting = ButtonFailures()
    private var children: [Int: ChildProcess] = [:]
    private var lastChild = 0

    init(bus: BusConnection, loop: EventLoop, logger: Logger) {
        self.bus = bus
        self.loop = loop
        self.logger = logger
        guard ServiceManager.isThere else { return }
        units = TransientUnits(bus: bus, logger: logger) { [self] command, flaw in
            if let flaw { count(flaw, of: command.button) } else { lasting.worked(command.button) }
        }
    }

    /// The buttons that do not work; for `Diagnose`.
    var problems: [(what: String, state: String, advice: String)] { lasting.problems }

    /// The configuration may have corrected them.
    func forgetProblems() { lasting.forget() }

    /// Runs the action of the event's route; a button of the event itself has none. After a restart the current
    /// configuration may no longer have the button.
    ///
    /// - Parameter token: lets the application raise its window; from the signal `ActivationToken`.
    /// - Returns: why the command is not run, if that is known at once. If the service manager starts it, only a record
    ///   in the log tells.
    func run(_ key: String, of event: Event, token: String?) -> Refusal? {
        guard let action = event.appearance.actions.first(where: { $0.key.bytes == key.bytes }) else {
            // A click on a banner without a default action.
            guard key != "default" else { return nil }
            logger.record(.outdatedAction, ["event.id": "\(event.id)", "topic": "\(event.topic)", "action": "\(key)"])
            return nil
        }
        if !action.command.isEmpty, let refusal = start(action, event, token) { return refusal }
        if let application = action.application { activate(application, action, event, token) }
        return nil
    }

    // MARK: Commands

    private func start(_ action: Route.Action, _ event: Event, _ token: String?) -> Refusal? {
        let data: Logger.Metadata = [
            "event.id": "\(event.id)", "topic": "\(event.topic)", "action": "\(action.key)",
            "command": "\(action.command[0])",
        ]
        let command = ButtonCommand(
            vector: action.command, description: "Button “\(action.key)” of \(event.topic)",
            environment: Self.environment(action, event, token), button: Self.name(of: action, event), data: data)
        guard let units else { return startChild(command) }
        units.start(command) { [self] in _ = startChild(command) }
        return nil
    }

    private func startChild(_ command: ButtonCommand) -> Refusal? {
        let data = command.data
        guard children.count < Self.commandLimit else {
            failed(.tooManyCommands, data, command.button, "was not started: too many commands were running")
            return .limitExceeded(
                "commands of buttons: \(Self.commandLimit) are running; press the button again "
                    + "when one of them has ended"
            )
        }
        lastChild += 1
        let number = lastChild
        do throws(SystemdError) {
            children[number] = try ChildProcess.start(
                command.vector, environment: command.environment, on: loop
            ) { [self] end in
                children[number] = nil
                guard end != .exited(0) else { return lasting.worked(command.button) }
                failed(.commandFailed, data.merging(["end": "\(end)"]) { $1 }, command.button, "failed: \(end)")
            }
        } catch {
            failed(
                .commandNotStarted, data.merging(["error": "\(error)"]) { $1 }, command.button,
                "could not be started: \(error)")
            return .commandNotStarted(
                "the command of this button cannot be started (\(error)); correct 'exec' of its route, whose program "
                    + "is '\(command.vector[0].quotable)'")
        }
        return nil
    }

    private static func environment(
        _ action: Route.Action, _ event: Event, _ token: String?
    ) -> [(name: String, value: String)] {
        let text = BannerText(ofAlone: event)
        var environment = [
            ("NOTIFYD_ACTION", action.key), ("NOTIFYD_ID", "\(event.id)"), ("NOTIFYD_TOPIC", "\(event.topic)"),
            ("NOTIFYD_TITLE", event.title), ("NOTIFYD_BODY", event.body), ("NOTIFYD_SUMMARY", text.title),
            ("NOTIFYD_TEXT", text.body),
        ]
        var names: Set<String> = []
        // What templates know: captures of the topic, and fields where no capture has the name.
        let captures = event.route.pattern?.captures(of: event.topic) ?? []
        let fields = event.fields.compactMap { field in field.value.text.map { (name: field.name, value: $0) } }
        for (name, value) in captures + fields where !value.utf8.contains(0) {
            let letters = name.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" }
            let name = "NOTIFYD_FIELD_" + String(letters)
            // If two names map to the same variable, the first one counts.
            if names.insert(name).inserted { environment.append((name, value)) }
        }
        if let token { environment.append(("XDG_ACTIVATION_TOKEN", token)) }
        return environment
    }

    private func failed(_ message: MessageID, _ data: Logger.Metadata, _ button: String, _ flaw: String) {
        count(flaw, of: button)
        logger.record(message, data)
    }

    private func count(_ flaw: String, of button: String) {
        failures += 1
        lasting.failed(button, flaw)
    }

    private static func name(of action: Route.Action, _ event: Event) -> String {
        "“\(action.label.quotable)” of \(event.route.name)"
    }

    // MARK: Applications

    /// `ActivateAction` of the Desktop Entry Specification, "D-Bus Activation": the action's name is the button's key,
    /// and its parameter the event's topic.
    private func activate(_ application: String, _ action: Route.Action, _ event: Event, _ token: String?) {
        let path = "/" + String(application.map { $0 == "." ? "/" : $0 == "-" ? "_" : $0 })
        let call = bus.methodCall(
            to: application, path: path, interface: "org.freedesktop.Application", member: "ActivateAction",
            starting: true)
        call.append(action.key)
        call.appendContainer("a", "v") { parameters in
            parameters.appendContainer("v", "s") { $0.append(event.topic.description) }
        }
        call.appendContainer("a", "{sv}") { platform in
            platform.appendEntry("activation-token", token)
            platform.appendEntry("desktop-startup-id", token)
        }
        let data: Logger.Metadata = [
            "event.id": "\(event.id)", "topic": "\(event.topic)", "action": "\(action.key)",
            "application": "\(application)",
        ]
        let button = Self.name(of: action, event)
        bus.call(call, timeout: .seconds(25)) { [self] answer in
            guard let failure = answer.failure else { return lasting.worked(button) }
            failed(
                .activationFailed, data.merging(["error": "\(failure.name)"]) { $1 }, button,
                "could not activate \(application): \(failure.name)")
        }
    }
}

/// The buttons that do not work: each is remembered from a press that failed to the next that does not.
struct ButtonFailures {
    /// The newest of them.
    private static let limit = 16

    private var failures: [(button: String, state: String)] = []

    /// - Parameter button: such as `“Join” of /run/{session}/invite`.
    mutating func failed(_ button: String, _ why: String) {
        worked(button)
        failures.append((button, "\(button) \(why) (\(Self.now))"))
        failures.removeFirst(max(0, failures.count - Self.limit))
    }

    mutating func worked(_ button: String) { failures.removeAll { $0.button == button } }

    mutating func forget() { failures = [] }

    /// What `Diagnose` tells, the newest last.
    var problems: [(what: String, state: String, advice: String)] {
        failures.map {
            (
                "buttons", $0.state,
                "The log says more: journalctl --user -u notifyd -g button. This is told until the button works or the "
                    + "configuration is reloaded."
            )
        }
    }

    /// The local time, to the minute.
    private static var now: String {
        var seconds = time(nil)
        var parts = tm()
        localtime_r(&seconds, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let count = strftime(&text, text.count, "%F %H:%M", &parts)
        return String(decoding: text[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// Where the programs of buttons are looked for: in the folders of `PATH`, and then in the one of notifyd, where an
/// installation below a home directory has notifyctl.
enum ProgramPath {
    /// As execvp(3) without `PATH`.
    private static let standard = "/usr/local/bin:/usr/bin:/bin"

    /// The folder of this program; `nil` if it is not known.
    static let folder: String? = {
        guard let path = realpath("/proc/self/exe", nil) else { return nil }
        defer { free(path) }
        let program = String(cString: path)
        return program.lastIndex(of: "/").map { String(program[..<$0]) }
    }()

    /// Appends the folder of this program to `PATH`. Call it before another thread is started.
    static func extend() {
        setenv("PATH", folders(of: getenv("PATH").map { String(cString: $0) }).joined(separator: ":"), 1)
    }

    /// - Parameter path: the value of `PATH`.
    /// - Returns: its absolute folders as a unit's `ExecSearchPath=` takes them, and that of this program.
    static func folders(of path: String?, beside own: String? = folder) -> [String] {
        let folders = (path ?? standard).split(separator: ":").filter { $0.hasPrefix("/") }.compactMap { folder in
            let parts = folder.split(separator: "/").filter { $0 != "." }
            return parts.contains("..") ? nil : "/" + parts.joined(separator: "/")
        }
        return folders + [own].compactMap { $0 }.filter { !folders.contains($0) }
    }
}

/// `Press`: a button without a banner. Its command runs and it is announced, as for the button of a banner; then the
/// caller claims the event. The command is started first, so that a press whose command cannot be started changes
/// nothing.
extension Daemon {
    func press(_ action: String, of id: EventID, by caller: String, for call: RetainedMessage) throws(Refusal) {
        endTurnIfTooLong()
        let event = try pressable(id)
        let appearance = event.appearance
        guard appearance.actions.contains(where: { $0.key.bytes == action.bytes }) else {
            let keys = appearance.actions.map { "'\($0.key)'" }.joined(separator: ", ")
            throw .invalidEvent(
                "event \(id) has no button '\(action.quotable)'; "
                    + (keys.isEmpty ? "it has no buttons" : "its buttons are \(keys)"))
        }
        // As with a banner, a resident event is still there afterwards.
        let isResident = appearance.resident == true
        // The event may have been published in this turn, and its command has to find it in the journal.
        endTurn()
        if let refusal = host.run(action, of: event, token: nil) { throw refusal }
        sendAfterCommit(.reply(.done, to: call))
        announce(action, of: event)
        if !isResident { handle(.claimed(id, by: caller, pressing: action)) }
    }

    /// An unread event. Nobody presses a button of one that was claimed, closed or taken back.
    private func pressable(_ id: EventID) throws(Refusal) -> Event {
        if let event = router.event(id) { return event }
        endTurn()
        let stored = try storage.read { try $0.event(id) }
        guard let stored = stored.map(storage.current) else { throw .noEvent(id) }
        guard stored.isUnread else {
            let outcome = stored.decision?.outcome.rawValue ?? "undecided"
            throw .notClaimant("event \(id) is \(outcome) and read; a button can be pressed while its event is unread")
        }
        return routed(stored)
    }
}
