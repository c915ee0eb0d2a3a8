import Glibc
import Systemd

/// Who has the names of compositors on the bus. Any program may take a name that is free: an owner is believed in a
/// session of its desktop, or if its program is the compositor.
final class CompositorOwners {
    struct Owner {
        /// Its unique name.
        let connection: String
        var isCompositor = false
    }

    private static let timeout = Duration.seconds(25)

    private let bus: BusConnection
    private let changed: (String) -> Void
    private var slots: [BusSlot] = []
    private var owners: [String: Owner] = [:]

    /// - Parameter changed: a name has another owner, or more is known of it.
    init(bus: BusConnection, changed: @escaping (String) -> Void) {
        self.bus = bus
        self.changed = changed
    }

    /// Asks for the owners that there are, and follows them.
    func start() throws(SystemdError) {
        for name in [KWinName.bus, GNOMEName.bus] {
            slots.append(
                try bus.matchOwnerChanges("arg0='\(name)'") { [unowned self] _, owner in take(owner, of: name) })
            bus.call(bus.busCall("GetNameOwner", about: name), timeout: Self.timeout) { [unowned self] answer in
                if answer.failure == nil, let owner = try? answer.readString() { take(owner, of: name) }
            }
        }
    }

    /// The connection behind a name.
    func connection(of name: String) -> String? { owners[name]?.connection }

    /// The names whose owners are believed.
    ///
    /// - Parameter desktops: those of the session, as `XDG_CURRENT_DESKTOP` names them.
    func believed(desktops: Set<Substring>) -> Set<String> {
        let desktop = [KWinName.bus: KWinName.desktop, GNOMEName.bus: GNOMEName.desktop]
        return Set(owners.filter { $1.isCompositor || desktops.contains(desktop[$0]![...]) }.keys)
    }

    private func take(_ owner: String?, of name: String) {
        owners[name] = owner.map { Owner(connection: $0) }
        changed(name)
        guard let owner else { return }
        bus.call(bus.busCall("GetConnectionUnixProcessID", about: owner), timeout: Self.timeout) {
            [weak self] answer in
            guard answer.failure == nil, let number: UInt32 = try? answer.readNumber("u"),
                let program = Self.program(of: number), let self, owners[name]?.connection == owner
            else { return }
            guard name == KWinName.bus ? KWinName.isProgram(program) : GNOMEName.isProgram(program) else { return }
            owners[name]?.isCompositor = true
            changed(name)
        }
    }

    /// The name of the file that a process runs. KWin has a capability, which hides it: then the name that the process
    /// gives itself.
    private static func program(of process: UInt32) -> String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/\(process)/exe", &bytes, bytes.count)
        guard count > 0 else { return Int32(exactly: process).flatMap(ProcessIdentity.command) }
        let path = String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return path.split(separator: "/").last.map(String.init)
    }
}
