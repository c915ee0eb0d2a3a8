/// Whether notifyd would take the configuration as it is now.
struct ConfigurationCheck {
    /// What “notifyd --check-config” says, and how it ends; `nil` where there is no notifyd to ask.
    var report: (code: Int32, lines: [String])?

    var finding: Finding {
        let check = "configuration"
        guard let report else {
            return .warning(check, "cannot be checked: no notifyd beside notifyctl or in $PATH", "Install notifyd.")
        }
        let first = report.lines.first ?? "no word was said"
        guard report.code == 0 else {
            return .problem(
                check, first, "Mend it, then: notifyctl config check && systemctl --user reload-or-restart notifyd")
        }
        // “The configuration is good (FILES). Routes:”
        let files = first.split(separator: "(").last?.split(separator: ")").first.map(String.init)
        return .ok(check, files.map { "good: \($0)" } ?? "good")
    }
}
