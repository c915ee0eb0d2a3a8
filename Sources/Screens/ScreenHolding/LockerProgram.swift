import Glibc

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
        let own = (variable("PATH") ?? "").split(separator: ":").filter { $0.hasPrefix("/") }.map(String.init)
        let usual = ["/usr/local/bin", "/usr/bin", "/usr/libexec/xscreensaver"]
        return own
            + (usual + [variable("HOME").map { $0 + "/.local/bin" }].compactMap(\.self)).filter { !own.contains($0) }
    }

    /// Bytes of a name that the kernel keeps; proc(5), `comm`.
    private static let longestName = 15

    let name: String
    let process: Int32

    /// Those that lock this user's screen now.
    static var running: [LockerProgram] {
        guard let folder = opendir("/proc") else { return [] }
        defer { closedir(folder) }
        var found: [LockerProgram] = []
        while let entry = readdir(folder) {
            let number = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(cString: $0.bindMemory(to: CChar.self).baseAddress!)
            }
            guard let process = Int32(number), let name = read("/proc/\(number)/comm").flatMap(name) else { continue }
            guard let status = read("/proc/\(number)/status"), isRunning(status, for: getuid()) else { continue }
            guard isHere(read("/proc/\(number)/environ"), runtimeFolder: variable("XDG_RUNTIME_DIR")) else { continue }
            found.append(LockerProgram(name: name, process: process))
        }
        return found
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
    ///   owner. - runtimeFolder: `XDG_RUNTIME_DIR` of this session.
    package static func isHere(_ environment: String?, runtimeFolder: String?) -> Bool {
        let name = "XDG_RUNTIME_DIR="
        guard let variable = environment?.split(separator: "\0").first(where: { $0.hasPrefix(name) }) else {
            return true
        }
        return variable.dropFirst(name.count) == runtimeFolder ?? ""
    }

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    private static func read(_ path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while bytes.count < 256 << 10 {
            let count = fread(&chunk, 1, chunk.count, file)
            if count == 0 { break }
            bytes += chunk[..<count]
        }
        return ferror(file) == 0 ? String(decoding: bytes, as: UTF8.self) : nil
    }
}
