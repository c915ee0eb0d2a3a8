import NotifyClient
import TOMLTables
import UserFiles
import Watching

/// Whether notifyd-focus follows the windows.
struct FocusCheck {
    private static let check = "focus"

    /// The rules; `nil` if there is no file.
    var rules: Result<WindowRules, ConfigurationError>?
    var isThere = false
    /// `nil` if notifyd-focus does not run, or does not answer.
    var info: FocusInfo?
    /// The program that has its name and answers otherwise.
    var stranger: String?
    /// What it says of itself.
    var told: [Finding] = []
    /// `nil` without a service manager.
    var unit: FocusUnit?

    /// None if nobody uses it.
    var findings: [Finding] {
        if case .failure(let error) = rules {
            return [
                .problem(
                    Self.check, error.lines.first ?? "the configuration is bad",
                    "Correct it, then: notifyd-focus --check-config && systemctl --user reload-or-restart notifyd-focus"
                )
            ]
        }
        guard isThere else {
            guard rules != nil || unit?.hasFailed == true else { return [] }
            return [absence]
        }
        if let stranger { return [.stranger(Self.check, FocusInfo.name, stranger)] }
        guard let info else {
            return [
                .problem(
                    Self.check, "notifyd-focus is on the bus, but it does not answer",
                    "Restart it: systemctl --user restart notifyd-focus")
            ]
        }
        guard info.isFollowing, info.rules > 0 else { return told }
        let rules = info.rules.counting("rule")
        return [.ok(Self.check, "windows are followed (\(info.source)), \(rules); \(Self.lock(info))")] + told
    }

    /// Why it does not run.
    private var absence: Finding {
        let state = (rules == nil ? "" : "there are rules for windows, but ") + "notifyd-focus does not run"
        if unit?.isMasked == true {
            return .warning(Self.check, state + ": its unit is masked", UnitCheck.unmask("notifyd-focus"))
        }
        guard let unit, unit.isEnabled || unit.hasFailed else {
            return .warning(Self.check, state, "Start it: systemctl --user enable --now notifyd-focus")
        }
        if unit.hasFailed {
            return .warning(
                Self.check, state + ": it has failed",
                "journalctl --user -u notifyd-focus says why. Then: systemctl --user restart notifyd-focus")
        }
        guard unit.isSessionActive else {
            return .warning(
                Self.check, state + ": it is enabled, but graphical-session.target is not active",
                "Your desktop does not start that target. Let it run this when it begins: \(focusStartCommand)")
        }
        return .warning(Self.check, state, "Start it: systemctl --user start notifyd-focus")
    }

    /// How a locked screen is noticed. Without a locker there is nothing amiss: a kiosk has none.
    private static func lock(_ info: FocusInfo) -> String {
        guard info.obstacle.isEmpty else {
            return "\(Terminal.plain(info.obstacle)) is in front of them, so they do not count"
        }
        guard let lockers = info.lockers, !lockers.isEmpty else {
            return "a locked screen is noticed only if the locker tells logind (notifyd-focus(8))"
        }
        return "a locked screen is noticed by logind and \(Terminal.plain(lockers.joined(separator: ", ")))"
    }

    static func ask(_ query: BusQuery) async -> FocusCheck {
        var check = FocusCheck()
        check.isThere = await query.owner(of: FocusInfo.name) != nil
        if check.isThere {
            do throws(NotifyError) { check.info = try await FocusInfo.ask(query) } catch {
                if error.code == .refused { check.stranger = await query.program(of: FocusInfo.name) }
            }
        }
        if check.info != nil { check.told = await query.diagnosis(.focus) }
        check.unit = await FocusUnit.ask(query)
        check.rules = ConfigurationText.parsed(BaseDirectories().configuration + "/focus.toml", WindowRules.parse)
        return check
    }
}

extension ConfigurationText {
    /// What a file says, or its mistakes; `nil` if there is no such file.
    static func parsed<Content>(
        _ file: String, _ parse: (_ text: String, _ file: String) throws(ConfigurationError) -> Content
    ) -> Result<Content, ConfigurationError>? {
        do throws(ConfigurationError) {
            guard let text = try read(file) else { return nil }
            return .success(try parse(text, file))
        } catch {
            return .failure(error)
        }
    }
}

/// What the service manager says of notifyd-focus.service and of the desktop; org.freedesktop.systemd1(5).
struct FocusUnit {
    /// Whether it is started with `graphical-session.target`.
    var isEnabled = false
    var hasFailed = false
    var isMasked = false
    /// Whether `graphical-session.target` is reached.
    var isSessionActive = false

    /// - Returns: `nil` without a service manager.
    static func ask(_ query: BusQuery) async -> FocusUnit? {
        guard await query.managerEnvironment() != nil else { return nil }
        let unit = await query.unit("notifyd-focus.service")
        return FocusUnit(
            isEnabled: await query.isEnabled("notifyd-focus.service"), hasFailed: unit.isFailedUnit,
            isMasked: unit.text("LoadState") == "masked",
            isSessionActive: await query.unit("graphical-session.target").text("ActiveState") == "active")
    }
}

/// Whether browsers can start notifyd-browser, and whether its rules are right.
struct BrowserCheck {
    /// A browser that knows notifyd-browser: its name, the file that says so, what it would start, and whether that is
    /// there.
    typealias Known = (name: String, file: String, host: String, isUsable: Bool)

    private static let check = "browser"

    /// The rules; `nil` if there is no file.
    var rules: Result<TabRules, ConfigurationError>?
    var browsers: [Known] = []
    /// The names of browsers that have run here and do not know it.
    var unaware: [String] = []
    /// Those that have run here in a sandbox alone, in which they cannot start it.
    var confined: [(name: String, state: String, advice: String)] = []
    /// Whether another one has run here.
    var hasFree = true
    /// The programs that have started it and not ended it.
    var connected: [String] = []

    /// None without rules: most people need none.
    var findings: [Finding] {
        let broken = browsers.filter { !$0.isUsable }.map { browser in
            Finding.problem(
                "browser \(browser.name)", "it starts \(browser.host), which is not there",
                "Tell it of the right one: notifyctl browser install \(browser.name)")
        }
        guard let rules else { return broken }
        if case .failure(let error) = rules {
            let more = error.count > 1 ? " (and more: notifyd-browser --check-config)" : ""
            return broken + [
                .problem(
                    Self.check, (error.lines.first ?? "the configuration is bad") + more,
                    "Correct it. It counts when a tab changes.")
            ]
        }
        guard broken.isEmpty else { return broken }
        // Where one is connected, its portal lets it out.
        if !hasFree, connected.isEmpty, let (_, state, advice) = confined.first {
            return [.warning(Self.check, state, advice)]
        }
        guard !browsers.isEmpty else {
            return [
                .warning(
                    Self.check, "there are rules in browser.toml, and no browser knows notifyd-browser",
                    "Tell your browsers of it: notifyctl browser install")
            ]
        }
        return [.ok(Self.check, state)]
    }

    /// Which can start it, which cannot, and which have.
    private var state: String {
        let free = browsers.map(\.name).filter { name in !confined.contains { $0.name == name } }
        var parts = free.isEmpty ? [] : ["\(free.joined(separator: ", ")) can start notifyd-browser"]
        parts += confined.map(\.state)
        if !unaware.isEmpty {
            let verb = unaware.count == 1 ? "does" : "do"
            parts.append("\(unaware.joined(separator: ", ")) \(verb) not know it (notifyctl browser install)")
        }
        parts.append(
            connected.isEmpty
                ? "no browser is connected now: one with the extension is, while it runs (notifyd-browser(8))"
                : "connected now: \(connected.map { Terminal.plain($0) }.joined(separator: ", "))")
        return parts.joined(separator: "; ")
    }
}

extension BrowserCheck {
    init(environment: [String: String]) {
        let folders = BrowserFolders(environment: environment)
        let file = BaseDirectories { environment[$0] }.configuration + "/browser.toml"
        let rules = ConfigurationText.parsed(file) { text, file throws(ConfigurationError) in
            try TabRules.read(file: file, text: text)
        }
        self.init(rules: rules, connected: RunningHost.browsers)
        for browser in KnownBrowser.allCases {
            if let known = browser.manifest(folders) {
                browsers.append((browser.rawValue, known.file, known.manifest.host, known.manifest.isUsable))
            } else if browser.isUsed(folders) {
                unaware.append(browser.rawValue)
            }
            if let (state, advice) = browser.confinement(folders) { confined.append((browser.rawValue, state, advice)) }
        }
        hasFree = KnownBrowser.allCases.contains { $0.isUsed(folders) }
    }
}
