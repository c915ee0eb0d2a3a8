internal import CSystemd
import Glibc

/// What was seen of a process when its number was looked up.
///
/// A number alone is no identity: it is given to another process some time after this one ended. Two sightings that are
/// equal are of one process, and whoever knows that it was there all the time in between (its connection was) knows that
/// both are of the one meant.
public struct ProcessSighting: Equatable, Sendable {
    /// When the process began, in clock ticks since the machine did; proc(5), `starttime`.
    public let began: UInt64
    /// The unit of a user's service manager that the process runs in; `nil` where it runs in none, as in a login from a
    /// terminal. It comes from the control group, which is readable from inside a sandbox too; sd_pid_get_user_unit(3).
    public let userUnit: String?

    /// For those who know already, such as tests.
    public init(began: UInt64, userUnit: String?) {
        self.began = began
        self.userUnit = userUnit
    }

    /// Looks a process up; `nil` where there is none of that number, or it cannot be seen.
    public init?(process: Int32) {
        guard process > 0, let began = Self.beginning(of: process) else { return nil }
        var name: UnsafeMutablePointer<CChar>?
        let result = sd_pid_get_user_unit(process, &name)
        defer { free(name) }
        guard result >= 0 || result == -ENODATA, Self.beginning(of: process) == began else { return nil }
        self.began = began
        userUnit = name.map { String(cString: $0) }
    }

    /// The name of a process's command, which the process may change, proc(5), `comm`; `nil` where there is no such process.
    public static func command(of process: Int32) -> String? {
        guard process > 0, let file = fopen("/proc/\(process)/comm", "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let text = bytes[..<fread(&bytes, 1, bytes.count, file)].prefix { $0 != UInt8(ascii: "\n") }
        return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
    }

    /// The name of the program may hold anything, even what looks like the end of its own field: the last bracket counts.
    private static func beginning(of process: Int32) -> UInt64? {
        guard let file = fopen("/proc/\(process)/stat", "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let text = bytes[..<fread(&bytes, 1, bytes.count, file)]
        guard let bracket = text.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        // The first field after the bracket is the third of proc(5), and the start is the twenty-second.
        let fields = text[(bracket + 1)...].split(separator: UInt8(ascii: " "))
        return fields.count > 19 ? UInt64(String(decoding: fields[19], as: UTF8.self)) : nil
    }
}
