internal import CSystemd
import Glibc

/// The identity of a process: its start time and its unit.
///
/// A process number alone is not enough, because numbers are reused. Two equal identities belong to one process. If
/// its connection existed all the time in between, both belong to the process that made the connection.
public struct ProcessIdentity: Equatable, Sendable {
    /// In clock ticks since boot; proc(5), `starttime`.
    public let startTime: UInt64
    /// The unit of the user's service manager; `nil` outside of units, as in a login from a terminal. It comes from
    /// the control group, which is readable from inside a sandbox too; sd_pid_get_user_unit(3).
    public let userUnit: String?

    /// For tests.
    public init(startTime: UInt64, userUnit: String?) {
        self.startTime = startTime
        self.userUnit = userUnit
    }

    /// Looks up a process; `nil` if there is none, or it is not visible.
    public init?(process: Int32) {
        guard process > 0, let startTime = Self.startTime(of: process) else { return nil }
        var name: UnsafeMutablePointer<CChar>?
        let result = sd_pid_get_user_unit(process, &name)
        defer { free(name) }
        guard result >= 0 || result == -ENODATA, Self.startTime(of: process) == startTime else { return nil }
        self.startTime = startTime
        userUnit = name.map { String(cString: $0) }
    }

    /// The name of a process's command, which the process can change; proc(5), `comm`. `nil` if there is no such
    /// process.
    public static func command(of process: Int32) -> String? {
        guard process > 0, let file = fopen("/proc/\(process)/comm", "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let text = bytes[..<fread(&bytes, 1, bytes.count, file)].prefix { $0 != UInt8(ascii: "\n") }
        return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
    }

    /// The process that has started a process, while that runs; 1 or `nil` afterwards.
    public static func parent(of process: Int32) -> Int32? { field(4, of: process).flatMap { Int32($0) } }

    private static func startTime(of process: Int32) -> UInt64? { field(22, of: process).flatMap { UInt64($0) } }

    /// A field of `/proc/PID/stat` after the third, by its number in proc(5). The program's name may contain anything,
    /// even brackets, so the last bracket counts.
    private static func field(_ number: Int, of process: Int32) -> String? {
        guard let file = fopen("/proc/\(process)/stat", "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let text = bytes[..<fread(&bytes, 1, bytes.count, file)]
        guard let bracket = text.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        // The first field after the bracket is field 3.
        let fields = text[(bracket + 1)...].split(separator: UInt8(ascii: " "))
        return fields.count > number - 3 ? String(decoding: fields[number - 3], as: UTF8.self) : nil
    }
}
