import Glibc
import Systemd
import UserFiles

/// Whether somebody may be looking, as far as those know who do not tell logind: programs that lock the screen as long
/// as they run, and screen savers on the session bus. notifyd itself asks logind.
///
/// A Wayland compositor tells nobody of its lock (ext-session-lock-v1), and an X server knows none, so programs are
/// watched. Nothing is asked again and again: that one is executed is seen by its file being opened, and its end by its
/// process. In doubt the screen is locked, and there is a banner.
final class LockWatch {
    /// A screen saver on the bus.
    private struct Saver {
        let name: String
        var path: String { "/" + name.split(separator: ".").joined(separator: "/") }
        var owner: String?
        var isActive = false
    }

    /// Microseconds for which the screen counts as locked after a locker's file was opened. It takes a moment until the
    /// process has its name, and is forked, perhaps.
    private static let suspicion: Int64 = 1_000_000
    /// Microseconds until files that are new are looked at.
    private static let timeout: Int64 = 2_000_000

    /// The name of who locks the screen; `nil`: nobody.
    private(set) var locker: String?
    /// Who is there to lock it: programs that are installed, and screen savers on the bus.
    var known: Set<String> { programs.union(savers.filter { $0.owner != nil }.map(\.name)) }

    private let loop: EventLoop
    private let bus: BusConnection
    private let onChange: () -> Void
    private var savers = ["freedesktop", "gnome", "cinnamon", "mate", "xfce"].map {
        Saver(name: "org.\($0).ScreenSaver")
    }
    private var slots: [BusSlot] = []
    private var programs: Set<String> = []
    private var files: [EventSource] = []
    private var folders: [EventSource] = []
    /// Looks for files again, if something is new in a folder.
    private var search: EventSource?
    private var isSearching = false
    /// The locker whose file was opened a moment ago.
    private var suspect: String?
    private var suspicionEnd: EventSource?
    private var running: String?
    private var ends: [EventSource] = []

    /// - Parameter onChange: `locker` has changed.
    init(loop: EventLoop, bus: BusConnection, onChange: @escaping () -> Void) throws(SystemdError) {
        self.loop = loop
        self.bus = bus
        self.onChange = onChange
        search = try loop.timer(.monotonic) { [unowned self] in
            isSearching = false
            findFiles()
            // It may run by now.
            lookAtProcesses()
        }
        suspicionEnd = try loop.timer(.monotonic) { [unowned self] in
            suspect = nil
            lookAtProcesses()
        }
        let paths = LockerProgram.folders
        // A folder that is not there has nothing new.
        folders = paths.compactMap { path in try? loop.directoryChanges(path) { [unowned self] in searchSoon() } }
        findFiles()
        lookAtProcesses()
        for index in savers.indices { try watch(index) }
    }

    private func update() {
        let new = suspect ?? running ?? savers.first(where: \.isActive)?.name
        guard new != locker else { return }
        locker = new
        onChange()
    }

    // MARK: Programs

    private func searchSoon() {
        guard !isSearching else { return }
        isSearching = true
        search?.arm(at: Clock.monotonic() + Self.timeout)
    }

    private func findFiles() {
        programs = []
        files = []
        for folder in LockerProgram.folders {
            for name in LockerProgram.names {
                let file = try? loop.openings(of: folder + "/" + name) { [unowned self] in suspect(name) }
                guard let file else { continue }
                files.append(file)
                programs.insert(name)
            }
        }
    }

    private func suspect(_ name: String) {
        suspect = name
        suspicionEnd?.arm(at: Clock.monotonic() + Self.suspicion)
        update()
    }

    /// Looks which lockers run, and again when one of them ends: another one may have taken its place, such as its
    /// child.
    private func lookAtProcesses() {
        (running, ends) = (nil, [])
        for locker in LockerProgram.running {
            do throws(SystemdError) {
                ends.append(try loop.end(of: locker.process) { [unowned self] in lookAtProcesses() })
                running = locker.name
            } catch  where error.code == ESRCH {
                continue
            } catch {
                // Without a descriptor for it, it is looked at again later.
                running = locker.name
                suspicionEnd?.arm(at: Clock.monotonic() + Self.timeout)
            }
        }
        update()
    }

    // MARK: Screen savers

    private func watch(_ index: Int) throws(SystemdError) {
        let name = savers[index].name
        slots.append(
            try bus.match(
                signal: "interface='\(name)',member='ActiveChanged'",
                from: .owner(of: name) { [unowned self] in savers[index].owner }
            ) { [unowned self] signal in
                if let isActive = try? signal.readBoolean() { set(index, isActive) }
            })
        slots.append(
            try bus.matchOwnerChanges("arg0='\(name)'") { [unowned self] _, owner in set(owner, at: index) })
        bus.call(bus.busCall("GetNameOwner", about: name), timeout: nil) { [weak self] answer in
            guard answer.failure == nil, let owner = try? answer.readString() else { return }
            self?.set(owner, at: index)
        }
    }

    private func set(_ owner: String?, at index: Int) {
        savers[index].owner = owner
        set(index, false)
        guard let owner else { return }
        let question = bus.methodCall(
            to: owner, path: savers[index].path, interface: savers[index].name, member: "GetActive")
        bus.call(question, timeout: nil) { [weak self] answer in
            guard let self, savers[index].owner == owner, answer.failure == nil else { return }
            if let isActive = try? answer.readBoolean() { set(index, isActive) }
        }
    }

    private func set(_ index: Int, _ isActive: Bool) {
        savers[index].isActive = isActive
        update()
    }
}

/// A program that locks the screen as long as it runs, and tells nobody.
package struct LockerProgram {
    /// Such programs; notifyd-focus(8) lists them.
    package static let names = [
        "gtklock", "hyprlock", "i3lock", "physlock", "slock", "swaylock", "sxlock", "waylock", "xlock",
        "xscreensaver-gfx",
        "xsecurelock", "xtrlock",
    ]

    /// Where they may be.
    static var folders: [String] {
        let own = (BaseDirectories.environment("PATH") ?? "").split(separator: ":").filter { $0.hasPrefix("/") }.map(
            String.init)
        let usual = ["/usr/local/bin", "/usr/bin", "/usr/libexec/xscreensaver"]
        return own
            + (usual + [BaseDirectories.environment("HOME").map { $0 + "/.local/bin" }].compactMap(\.self)).filter {
                !own.contains($0)
            }
    }

    /// Bytes of a name that the kernel keeps; proc(5), `comm`.
    private static let longestName = 15

    let name: String
    let process: Int32

    /// Those that lock this user's screen now.
    static var running: [LockerProgram] {
        (Folder.names(in: "/proc") ?? []).compactMap { number in
            guard let process = Int32(number), let name = read("/proc/\(number)/comm", upTo: 64).flatMap(name),
                let status = read("/proc/\(number)/status", upTo: 64 << 10), isRunning(status, for: getuid()),
                isHere(
                    read("/proc/\(number)/environ", upTo: 256 << 10),
                    runtimeFolder: BaseDirectories.environment("XDG_RUNTIME_DIR"))
            else { return nil }
            return LockerProgram(name: name, process: process)
        }
    }

    // MARK: What is said of a process

    /// The locker that has this name in `/proc/PID/comm`.
    package static func name(_ command: String) -> String? {
        let command = command.hasSuffix("\n") ? command.dropLast() : command[...]
        return names.first { $0.prefix(longestName) == command }
    }

    /// Whether `/proc/PID/status` is that of a process that has not ended, and that this user has started, or root, who
    /// locks for everybody.
    package static func isRunning(_ status: String, for user: UInt32) -> Bool {
        let fields = status.split(separator: "\n").map { $0.split { $0 == ":" || $0 == "\t" || $0 == " " } }
        func value(_ name: String) -> Substring? { fields.first { $0.first == name[...] }?.dropFirst().first }
        guard let state = value("State"), !["Z", "X"].contains(state) else { return false }
        return value("Uid").flatMap { UInt32($0) }.map { $0 == user || $0 == 0 } ?? false
    }

    /// Whether a locker is one of this session, by the environment that it was started with. One that does not say so
    /// counts: in doubt the screen is locked.
    ///
    /// - Parameters:
    ///   - environment: `/proc/PID/environ`; `nil`: it cannot be read, as that of a program with the rights of its
    ///     owner.
    ///   - runtimeFolder: `XDG_RUNTIME_DIR` of this session.
    package static func isHere(_ environment: String?, runtimeFolder: String?) -> Bool {
        let name = "XDG_RUNTIME_DIR="
        guard let variable = environment?.split(separator: "\0").first(where: { $0.hasPrefix(name) }) else {
            return true
        }
        return variable.dropFirst(name.count) == runtimeFolder ?? ""
    }

    private static func read(_ path: String, upTo limit: Int) -> String? {
        (try? FileKind.read(path, atMost: limit)).map { String(decoding: $0, as: UTF8.self) }
    }
}
