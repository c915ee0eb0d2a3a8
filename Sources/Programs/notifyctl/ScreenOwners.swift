import NotifyClient
import NotifyText

/// The names of programs that hold screens, in the form of `why`. The bus is asked once about each connection.
struct ScreenOwners: Sendable {
    /// The most connections that are looked up at a time; the others keep their unique names.
    private static let limit = 100

    /// By unique name; `nil` if the name is not known.
    private var known: [String: String?] = [:]

    var programs: [String: String] { known.compactMapValues(\.self) }

    /// Looks up new owners of screens, and removes former owners.
    mutating func update(_ screens: [ListedScreen], _ client: NotifyClient) async {
        let owners = Set(screens.map(\.owner))
        known = known.filter { owners.contains($0.key) }
        for owner in owners.subtracting(known.keys).sorted().prefix(Self.limit) {
            known[owner] = .some(await client.process(of: owner).flatMap(Self.program))
        }
    }

    private static func program(process: UInt32) -> String? {
        let unit = FileFacts.text(of: "/proc/\(process)/cgroup").flatMap(userUnit)
        var command = command(of: "\(process)")
        if command == ProgramName.browserHost, let parent = ProcessFacts.parent(of: "\(process)"), parent != "1" {
            command = Self.command(of: parent) ?? command
        }
        return ProgramName.make(unit: unit, command: command)
    }

    private static func command(of process: String) -> String? {
        FileFacts.text(of: "/proc/\(process)/comm").map { String($0.prefix { $0 != "\n" }) }
    }

    /// The unit of the user's service manager in the text of `/proc/PID/cgroup`, as sd_pid_get_user_unit(3) finds it:
    /// the first part of the path after the manager that is not a slice.
    static func userUnit(inControlGroup text: String) -> String? {
        let line = text.split(separator: "\n").first { $0.contains("::") || $0.contains(":name=systemd:") }
        let parts = line?.split(separator: "/").drop { !($0.hasPrefix("user@") && $0.hasSuffix(".service")) } ?? []
        guard let unit = parts.dropFirst().first(where: { !$0.hasSuffix(".slice") }), unit.contains(".") else {
            return nil
        }
        return String(unit.hasPrefix("_") ? unit.dropFirst() : unit)
    }
}
