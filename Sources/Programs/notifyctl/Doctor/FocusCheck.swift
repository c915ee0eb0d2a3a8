import NotifyClient
import TOMLTables
import UserFiles
import WindowRules

/// Whether notifyd-focus follows the windows.
struct FocusCheck {
    private static let check = "focus"

    /// The rules; `nil` if there is no file.
    var rules: Result<WindowRules, ConfigurationError>?
    var isThere = false
    /// `nil` if notifyd-focus does not run, or does not answer.
    var info: FocusInfo?
    /// `nil` without a service manager.
    var unit: FocusUnit?
    /// Whether notifyd refuses everything, because its configuration is bad; that is told elsewhere.
    var daemonIsBroken = false

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
            guard rules != nil else { return [] }
            return [absence]
        }
        guard let info else {
            return [
                .problem(
                    Self.check, "notifyd-focus is on the bus, but it does not answer",
                    "Restart it: systemctl --user restart notifyd-focus")
            ]
        }
        return [state(of: info)] + refusals(info)
    }

    /// Why it does not run.
    private var absence: Finding {
        let state = "there are rules for windows, but notifyd-focus does not run"
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
                "Your desktop does not start that target. Let it run this when it begins: \(FocusUnit.start)")
        }
        return .warning(Self.check, state, "Start it: systemctl --user start notifyd-focus")
    }

    private func state(of info: FocusInfo) -> Finding {
        guard info.isFollowing else {
            let state = info.detail.isEmpty ? "it has just begun" : info.detail
            return .warning(
                Self.check, "no windows are followed: \(state)",
                unit?.hasDisplay == false
                    ? "The service manager knows of no display. Let your desktop run this when it begins: \(FocusUnit.start)"
                    : "Screens of windows are not held meanwhile. notifyd-focus(8) says what it can follow.")
        }
        guard info.rules > 0 else {
            return .warning(
                Self.check, "windows are followed (\(info.source)), but there is no rule",
                "Add one: notifyctl focus --learn '/post/{id}'")
        }
        let rules = "\(info.rules) rule\(info.rules == 1 ? "" : "s")"
        return .ok(Self.check, "windows are followed (\(info.source)), \(rules); \(Self.lock(info))")
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

    private func refusals(_ info: FocusInfo) -> [Finding] {
        let refused = info.screens.filter { $0.state.isEmpty && !$0.detail.isEmpty }
        guard !daemonIsBroken, let first = refused.first, first.detail != FocusInfo.noDaemon else { return [] }
        return [
            .warning(
                Self.check, "the screen of \(first.topic) is not open: \(first.detail)",
                first.detail.hasPrefix(FocusInfo.denial)
                    ? "Let notifyd-focus claim it: [[policy]] in notifyd.toml(5)."
                    : "Correct that, then: systemctl --user restart notifyd-focus")
        ]
    }

    /// - Parameter daemonIsBroken: whether notifyd is on the bus only to report a bad configuration.
    static func ask(_ query: BusQuery, daemonIsBroken: Bool) async -> FocusCheck {
        var check = FocusCheck(daemonIsBroken: daemonIsBroken)
        check.isThere = await query.owner(of: FocusInfo.name) != nil
        if check.isThere { check.info = try? await FocusInfo.ask(query) }
        check.unit = await FocusUnit.ask(query)
        let file = BaseDirectories().configuration + "/focus.toml"
        do throws(ConfigurationError) {
            guard let text = try ConfigurationText.read(file) else { return check }
            check.rules = .success(try WindowRules.parse(text, file: file))
        } catch {
            check.rules = .failure(error)
        }
        return check
    }
}
