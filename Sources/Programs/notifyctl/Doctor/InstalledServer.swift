import Glibc
import NotifyClient

/// A notification server that the bus can start: a file such as `/usr/share/dbus-1/services/org.knopwob.dunst.service`.
struct InstalledServer: Equatable {
    /// The name of its program.
    let program: String
    /// Its unit; `nil`: the bus starts the program by itself.
    let unit: String?
    /// How its unit has failed; `nil`: it has not.
    var failure: String?

    /// Reads a service file of the bus.
    ///
    /// - Returns: `nil` if it is that of another name.
    init?(_ text: String, for name: String) {
        var values: [Substring: Substring] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { values[parts[0]] = parts[1] }
        }
        guard values["Name"] == name[...] else { return nil }
        let program = values["Exec"]?.split(separator: " ").first?.split(separator: "/").last
        // `Exec=/bin/false` says that only the unit starts it.
        unit = values["SystemdService"].map(String.init)
        guard let named = program == "false" ? unit?.dropLast(".service".count) : program ?? unit?[...] else {
            return nil
        }
        self.program = String(named)
    }

    /// Those that are installed, and how the units of some have failed.
    static func all(_ query: BusQuery, environment: [String: String]) async -> [InstalledServer] {
        var found: [InstalledServer] = []
        for folder in folders(environment) {
            for file in FileFacts.names(in: folder) where file.hasSuffix(".service") {
                guard let text = FileFacts.text(of: folder + "/" + file),
                    var server = InstalledServer(text, for: "org.freedesktop.Notifications"),
                    !found.contains(where: { $0.program == server.program })
                else { continue }
                if let unit = server.unit { server.failure = await failure(of: unit, query) }
                found.append(server)
            }
        }
        return found
    }

    /// Where the bus looks: dbus-daemon(1), `standard_session_servicedirs`.
    private static func folders(_ environment: [String: String]) -> [String] {
        let own = environment["XDG_DATA_HOME"] ?? environment["HOME"].map { $0 + "/.local/share" }
        let shared = (environment["XDG_DATA_DIRS"] ?? "").split(separator: ":").map(String.init)
        let all =
            [environment["XDG_RUNTIME_DIR"], own] + (shared.isEmpty ? ["/usr/local/share", "/usr/share"] : shared)
        return all.compactMap(\.self).filter { $0.hasPrefix("/") }.map { $0 + "/dbus-1/services" }
    }

    private static func failure(of unit: String, _ query: BusQuery) async -> String? {
        guard let path = try? await query.askManager("LoadUnit", [.string(unit)])?.string else { return nil }
        let manager = UnitCheck.manager
        guard await query.properties(manager, path, "\(manager).Unit")["ActiveState"]?.string == "failed" else {
            return nil
        }
        return UnitFailure(unit, await query.properties(manager, path, "\(manager).Service")).state
    }
}
