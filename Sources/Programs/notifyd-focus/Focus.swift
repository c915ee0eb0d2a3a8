import Glibc
import Logging
import NotifyText
import Routing
import ScreenHolding
import Systemd
import TOMLTables
import UserFiles
import Watching

/// Brings together what it works with: the windows of the desktop, the rules, and the screens that are held.
final class Focus {
    private(set) var rules: WindowRules
    let file: RulesFile
    private let loop: EventLoop
    private let bus: BusConnection
    private let logger: Logger
    let holder: ScreenHolder
    private(set) var follower: WindowFollower?
    private var interface: FocusInterface?
    private var signals: [EventSource] = []
    private var disconnection: BusSlot?

    init(rules: WindowRules, file: RulesFile, loop: EventLoop, bus: BusConnection, logger: Logger) throws(SystemdError)
    {
        self.rules = rules
        self.file = file
        self.loop = loop
        self.bus = bus
        self.logger = logger
        holder = try ScreenHolder(on: bus, loop: loop)
        interface = try FocusInterface(self, bus: bus, loop: loop)
    }

    func start() throws(SystemdError) {
        disconnection = try bus.onDisconnect { [unowned self] in
            logger.error("The bus is gone")
            loop.exit(ExitStatus.busLost)
        }
        WaylandLog.log = { [logger] line in logger.warning("libwayland complains", metadata: ["text": "\(line)"]) }
        let follower = try WindowFollower(
            loop: loop, bus: bus, environment: ProcessEnvironment.variables, onWindows: { [unowned self] in hold() },
            onStatus: { [unowned self] in tellStatus() })
        self.follower = follower
        for number in [SIGTERM, SIGINT] {
            signals.append(
                try loop.signal(number) { [unowned self] in
                    ServiceManager.stopping()
                    follower.stop()
                    loop.exit(ExitStatus.success)
                })
        }
        signals.append(try loop.signal(SIGHUP) { [unowned self] in _ = reload() })
        try follower.start()
    }

    // MARK: Windows

    /// Holds what the windows ask for.
    private func hold() {
        guard let follower else { return }
        holder.isBlank = follower.isBlank
        var wanted = WantedScreens()
        for screen in rules.screens(of: follower.windows, focused: follower.focused) {
            wanted.insert(screen.topic, screen.isFocused ? .focused : .visible)
        }
        for number in rules.takeGivenUp() {
            logger.warning(
                "The pattern of a rule takes too long for a title, which counts as no match",
                metadata: ["rule": "\(number + 1)", "pattern": "\(rules.rules[number].title?.description ?? "")"])
        }
        holder.want(wanted)
        interface?.windowsChanged()
    }

    var focused: Window? { follower.flatMap { follower in follower.focused.first.map { follower.windows[$0] } } }

    /// What the rules find in a window.
    func fit(_ window: Window) -> WindowRules.Fit? { rules.fit(window) }

    // MARK: Status

    /// One line for people.
    var line: String {
        guard let status = follower?.status, status.isFollowing || !status.detail.isEmpty else { return "starting" }
        return status.isFollowing ? "following windows (\(status.source))" : "waiting: \(status.detail)"
    }

    private func tellStatus() {
        guard let status = follower?.status else { return }
        if status.isFollowing {
            logger.info("Windows are followed", metadata: ["source": "\(status.source)"])
        } else if !status.isPassing {
            logger.notice("No windows are followed", metadata: ["reason": "\(status.detail)"])
        }
        ServiceManager.status(line)
        interface?.statusChanged()
    }

    // MARK: Configuration

    /// Reads the rules again.
    ///
    /// - Returns: what is wrong; the previous rules stay in force then.
    func reload() -> ConfigurationError? {
        ServiceManager.reloading()
        defer { ServiceManager.ready(status: line) }
        do throws(ConfigurationError) {
            rules = try file.read()
            logger.info("The configuration was read again")
            hold()
            return nil
        } catch {
            for line in error.lines {
                logger.error(
                    "The configuration is bad; the previous one stays in force", metadata: ["error": "\(line)"])
            }
            return error
        }
    }
}
