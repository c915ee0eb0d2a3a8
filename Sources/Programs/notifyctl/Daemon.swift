import ChildProcesses
import Glibc

/// Finds the `notifyd` that belongs to this `notifyctl`.
enum Daemon {
    /// Beside this program, else in `$PATH`.
    static func locate() throws(ProcessError) -> String {
        var candidates: [String] = []
        var buffer = [CChar](repeating: 0, count: 4096)
        let length = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        if length > 0 {
            let own = String(decoding: buffer[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self)
            if let slash = own.lastIndex(of: "/") { candidates.append(own[...slash] + "notifyd") }
        }
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/local/bin:/usr/bin:/bin"
        candidates += path.split(separator: ":").map { $0 + "/notifyd" }
        guard let found = candidates.first(where: { access($0, X_OK) == 0 }) else {
            throw ProcessError(
                "No notifyd was found, neither beside notifyctl nor in $PATH. Install it, or name one with --daemon.")
        }
        return found
    }
}
