/// Whether the commands of buttons could be run.
struct ButtonCheck {
    /// Commands that failed since notifyd started.
    var failures = 0

    var finding: Finding? {
        guard failures > 0 else { return nil }
        let commands = failures == 1 ? "a command of a button" : "\(failures) commands of buttons"
        return .warning(
            "buttons", "\(commands) failed or could not be started",
            "The log says which, and why: journalctl --user -t notifyd -g button")
    }
}
