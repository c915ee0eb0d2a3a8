import Glibc
import NotifyClient
import UserFiles

/// A bridge that has a configuration and does not run, or that is to run and has none.
struct AbsentBridge: Equatable {
    /// The bridges of notifyd that nobody starts without a configuration; of notifyd-mqtt, ``LinkCheck`` says it.
    private static let names = ["ntfy", "unifiedpush"]
    /// What a bridge ends with if its configuration is bad.
    private static let badConfiguration = 78

    /// Such as `ntfy`.
    let name: String
    /// Whether there is a service manager.
    /// The configuration that its unit waits for; `nil` if it is there.
    var missing: String?
    var hasManager = false
    var hasFailed = false
    /// Of its last run.
    var exitStatus = 0

    var finding: Finding {
        if let missing {
            return .warning(
                "bridge \(name)", "notifyd-\(name) is enabled, and is not started without its configuration",
                "Write \(missing), as notifyd-\(name).toml(5) says, and then: systemctl --user restart notifyd-\(name)")
        }
        let state = "there is a configuration, but notifyd-\(name) does not run"
        let unit = "notifyd-\(name)"
        guard hasManager else {
            return .warning("bridge \(name)", state, "Start it: \(unit) --check-config && \(unit)")
        }
        guard hasFailed else {
            return .warning("bridge \(name)", state, "Start it: systemctl --user enable --now \(unit)")
        }
        if exitStatus == Self.badConfiguration {
            return .problem(
                "bridge \(name)", state + ": its configuration is bad",
                "Correct it: \(unit) --check-config says what is wrong. Then: systemctl --user restart \(unit)")
        }
        return .problem(
            "bridge \(name)", state + ": it has failed with \(exitStatus)",
            "journalctl --user -t \(unit) -n 20 says why. Then: systemctl --user restart \(unit)")
    }

    /// - Parameter running: the names of the bridges on the bus.
    static func all(_ query: BusQuery, running: [String]) async -> [AbsentBridge] {
        let folder = BaseDirectories().configuration
        var absent: [AbsentBridge] = []
        for name in names where !running.contains(name) {
            var bridge = AbsentBridge(name: name)
            let file = "\(folder)/\(name).toml"
            if access(file, F_OK) != 0 {
                let state = try? await query.askManager("GetUnitFileState", [.string("notifyd-\(name).service")])?
                    .string
                // notifyd-unifiedpush needs none.
                guard name == "ntfy", state?.hasPrefix("enabled") == true else { continue }
                bridge.missing = file
                absent.append(bridge)
                continue
            }
            if let path = try? await query.askManager("LoadUnit", [.string("notifyd-\(name).service")])?.string {
                let unit = await query.properties(UnitCheck.manager, path, "\(UnitCheck.manager).Unit")
                let service = await query.properties(UnitCheck.manager, path, "\(UnitCheck.manager).Service")
                bridge.hasManager = unit["LoadState"]?.string == "loaded"
                bridge.hasFailed = unit["ActiveState"]?.string == "failed"
                bridge.exitStatus = service["ExecMainStatus"]?.integer() ?? 0
            }
            absent.append(bridge)
        }
        return absent
    }
}
