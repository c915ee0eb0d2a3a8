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
            return [
                .warning(
                    Self.check, "there are rules for windows, but notifyd-focus does not run",
                    "Start it: systemctl --user enable --now notifyd-focus")
            ]
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

    private func state(of info: FocusInfo) -> Finding {
        guard info.isFollowing else {
            return .warning(
                Self.check, "no windows are followed: \(Terminal.plain(info.detail))",
                "Screens of windows are not held meanwhile. notifyd-focus(8) says what it can follow.")
        }
        guard info.rules > 0 else {
            return .warning(
                Self.check, "windows are followed (\(info.source)), but there is no rule",
                "Add one: notifyctl focus --learn '/post/{id}'")
        }
        let rules = "\(info.rules) rule\(info.rules == 1 ? "" : "s")"
        return .ok(Self.check, "windows are followed (\(info.source)), \(rules)")
    }

    private func refusals(_ info: FocusInfo) -> [Finding] {
        let refused = info.screens.filter { $0.state.isEmpty && !$0.detail.isEmpty }
        guard let first = refused.first, first.detail != FocusInfo.noDaemon else { return [] }
        return [
            .warning(
                Self.check, "the screen of \(Terminal.plain(first.topic)) is not open: \(Terminal.plain(first.detail))",
                "Let notifyd-focus claim it: [[policy]] in notifyd.toml(5).")
        ]
    }

    static func ask(_ query: BusQuery) async -> FocusCheck {
        var check = FocusCheck()
        check.isThere = await query.owner(of: FocusInfo.name) != nil
        if check.isThere { check.info = try? await FocusInfo.ask(query) }
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
