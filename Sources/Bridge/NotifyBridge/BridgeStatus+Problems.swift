import TOMLTables

/// What the program itself tells for every bridge, beside what a bridge tells.
extension BridgeStatus {
    /// The configuration that was read last cannot be used.
    private static let configurationSubject = "configuration"
    /// The disk takes nothing.
    private static let diskSubject = "disk"
    /// Dead letters are not kept.
    private static let letterSubject = "letters"
    /// notifyd takes nothing.
    private static let daemonSubject = "notifyd"
    /// The state was damaged at the start.
    private static let stateSubject = "state"

    /// Forgets what a bridge with other settings has told; what the program itself has told stays.
    func clearProblems() {
        keepProblems(
            [
                Self.configurationSubject, Self.daemonSubject, Self.diskSubject, Self.letterSubject, Self.stateSubject,
            ])
    }

    /// Tells that notifyd takes no events for now, until it does.
    func setRefusal(_ reason: String?) {
        setProblem(
            Self.daemonSubject,
            reason.map {
                Problem(
                    "notifyd takes no events for now: \($0)",
                    "They wait, and are tried again by themselves. “notifyctl doctor” says more of notifyd.")
            })
    }

    /// Tells until the next start that the state was damaged, and begins anew.
    func setBegunAnew(_ file: String, of name: String) {
        setProblem(
            Self.stateSubject,
            Problem(
                "the state was damaged when it was opened: it is set aside as \(file), and what it knew is gone",
                "Stop the bridge and put a copy back as state.db, or begin anew: notifyd-\(name)(8) says what was in it."
            ))
    }

    /// Tells that a changed configuration is not in force, until it is.
    func setConfiguration(_ error: ConfigurationError?, of name: String) {
        setProblem(
            Self.configurationSubject,
            error.map {
                Problem(
                    "the configuration has changed and is bad, so that the one before is in force: \($0.summary)",
                    "Correct it, then: notifyd-\(name) --check-config && systemctl --user reload notifyd-\(name)")
            })
    }

    /// Tells that dead letters are not kept, until they are.
    func setLetters(_ reason: String?) {
        setProblem(
            Self.letterSubject,
            reason.map {
                Problem(
                    $0,
                    "Make room on that disk. What waits is kept then; of what was given up, the log says why it came to nothing."
                )
            })
    }

    /// Tells that the state is not written, until it is.
    func setDisk(_ error: StoreError?, _ folder: String) {
        setProblem(
            Self.diskSubject,
            error.map {
                Problem(
                    "its state cannot be written to \(folder): \($0)",
                    "Make room on that disk. What it knows is written when there is some.")
            })
    }
}
