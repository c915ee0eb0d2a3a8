import CWayland
import Glibc

/// What libwayland has to say. By itself it writes to standard error what a compositor sends as the text of an error,
/// raw.
public enum WaylandLog {
    /// Bytes of a line that are kept.
    private static let longest = 256

    /// Takes each line. Set it before a source is made; only the thread of the loop uses it.
    nonisolated(unsafe) public static var take: (String) -> Void = { _ in }

    static func redirect() {
        wl_log_set_handler_client { format, arguments in
            guard let format, let arguments else { return }
            var bytes = [CChar](repeating: 0, count: WaylandLog.longest)
            guard vsnprintf(&bytes, bytes.count, format, arguments) > 0 else { return }
            let line = bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            WaylandLog.take(
                String(decoding: line.last == UInt8(ascii: "\n") ? line.dropLast() : line[...], as: UTF8.self))
        }
    }
}
