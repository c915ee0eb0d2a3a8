import NotifyClient

/// Whether notifyd runs, answers, and can be started by the bus.
struct RouterCheck {
    var isRunning = false
    /// `nil` if it does not answer.
    var version: String?
    var ownVersion = ""
    var process: Int?
    /// The main process of the unit, if there is one.
    var unitProcess: Int?
    var isActivatable = false
    /// Whether notifyd.service has failed.
    var unitHasFailed = false
    /// Whether there is a service manager that cannot load notifyd.service: it is missing, masked or bad. The bus
    /// starts notifyd by it.
    var unitIsUnusable = false
    var isPaused = false
    /// It is on the bus only to report a bad configuration.
    var hasBadConfiguration = false
    var quiet: [Quiet] = []
    /// How much of the room for claims of events that have not come is taken, in percent.
    var awaitedFill = 0

    var findings: [Finding] {
        var findings = [router, activation]
        // Somebody has asked for this, so it is neither a warning nor a problem.
        if isPaused {
            findings.append(
                .ok("banners", "none: \(quiet.pause?.words() ?? "paused"); “notifyctl resume” ends that"))
        }
        if let desktop = quiet.desktop { findings.append(.ok("banners", desktop)) }
        if let mutes = quiet.mutes() {
            findings.append(
                .ok("banners", "muted: \(mutes); “notifyctl quiet” lists all, “notifyctl resume TOPIC” ends one"))
        }
        if awaitedFill >= 90 {
            findings.append(
                .warning(
                    "claims", "the room for claims of events that have not come is \(awaitedFill) % full",
                    "When it is full, the program that has most there loses some, and banners may appear for events that "
                        + "were read elsewhere. “notifyctl forget /” drops all of them, with the history."))
        }
        return findings
    }

    private var router: Finding {
        let check = "notifyd"
        guard isRunning else {
            if unitHasFailed { return .problem(check, "not running: notifyd.service has failed", "See “unit” below.") }
            if unitIsUnusable {
                return .problem(check, "not running, and the bus cannot start it", "See “unit” below.")
            }
            return isActivatable
                ? .ok(check, "not running; the first call starts it")
                : .problem(
                    check, "not running",
                    "Start it: systemctl --user start notifyd, or, without systemd, notifyd")
        }
        let place = process.map { ", process \($0)" } ?? ""
        if hasBadConfiguration {
            return .problem(check, "it does not start: its configuration is bad", "See “configuration” below.")
        }
        guard let version else {
            return .problem(
                check, "on the bus\(place), but it does not answer", "Restart it: systemctl --user restart notifyd")
        }
        guard version == ownVersion else {
            return .warning(
                check, "version \(version)\(place); this notifyctl is \(ownVersion)",
                "After an update: systemctl --user daemon-reload && systemctl --user restart notifyd")
        }
        if let process, let unitProcess, unitProcess != process {
            return .warning(
                check, "version \(version)\(place), which is not that of notifyd.service",
                "It was started by hand. End that process, then: systemctl --user restart notifyd")
        }
        return .ok(check, "version \(version)\(place)")
    }

    private var activation: Finding {
        if isActivatable, unitIsUnusable {
            return .warning(
                "activation", "the bus starts notifyd by its unit, which cannot be loaded", "See “unit” below.")
        }
        return isActivatable
            ? .ok("activation", "the bus knows how to start notifyd")
            : .warning(
                "activation", "the bus does not know how to start notifyd",
                "org.notifyd.Router1.service belongs in share/dbus-1/services of a folder in $XDG_DATA_DIRS, or in "
                    + "~/.local/share/dbus-1/services; then: systemctl --user reload dbus")
    }
}
