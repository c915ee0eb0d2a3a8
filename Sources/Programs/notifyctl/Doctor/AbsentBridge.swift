import Glibc
import NotifyClient
import UserFiles

/// A bridge that has failed, that has a configuration and does not run, or that is to run and has none.
struct AbsentBridge: Equatable {
    private static let names = ["desktop", "mqtt", "ntfy", "unifiedpush"]

    /// Such as `ntfy`.
    let name: String
    /// The configuration that its unit waits for; `nil` if it is there.
    var missing: String?
    /// Whether there is a service manager that knows its unit.
    var hasManager = false
    /// Why its unit has failed.
    var failure: UnitFailure?

    var finding: Finding {
        let unit = "notifyd-\(name)"
        if let failure { return .problem("bridge \(name)", "\(unit) \(failure.state)", failure.advice) }
        if let missing {
            return .warning(
                "bridge \(name)", "\(unit) is enabled, and is not started without its configuration",
                "Write \(missing), as \(unit).toml(5) says, and then: systemctl --user restart \(unit)")
        }
        let state = "there is a configuration, but \(unit) does not run"
        guard hasManager else {
            return .warning("bridge \(name)", state, "Start it: \(unit) --check-config && \(unit)")
        }
        return .warning("bridge \(name)", state, "Start it: systemctl --user enable --now \(unit)")
    }

    /// - Parameter running: the names of the bridges on the bus.
    static func all(_ query: BusQuery, running: [String]) async -> [AbsentBridge] {
        let folder = BaseDirectories().configuration
        var absent: [AbsentBridge] = []
        for name in names where !running.contains(name) {
            var bridge = AbsentBridge(name: name)
            await bridge.askManager(query)
            let file = "\(folder)/\(name).toml"
            if bridge.failure == nil {
                // LinkCheck says it of this one.
                if name == "mqtt" { continue }
                if access(file, F_OK) != 0 {
                    let state = try? await query.askManager("GetUnitFileState", [.string("notifyd-\(name).service")])?
                        .string
                    // The others need none.
                    guard name == "ntfy", state?.hasPrefix("enabled") == true else { continue }
                    bridge.missing = file
                }
            }
            absent.append(bridge)
        }
        return absent
    }

    private mutating func askManager(_ query: BusQuery) async {
        guard let path = try? await query.askManager("LoadUnit", [.string("notifyd-\(name).service")])?.string else {
            return
        }
        let unit = await query.properties(UnitCheck.manager, path, "\(UnitCheck.manager).Unit")
        hasManager = unit["LoadState"]?.string == "loaded"
        let service = await query.properties(UnitCheck.manager, path, "\(UnitCheck.manager).Service")
        // Between two attempts it waits to be restarted.
        guard unit["ActiveState"]?.string == "failed" || unit["SubState"]?.string == "auto-restart" else { return }
        failure = UnitFailure("notifyd-\(name)", service)
    }
}
