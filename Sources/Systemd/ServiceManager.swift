internal import CSystemd
import Glibc

/// What is said to the service manager, where there is one that listens; sd_notify(3). Without one, nothing happens.
public enum ServiceManager {
    /// Whether there is one that listens, which means that it has started this process.
    public static var isThere: Bool { getenv("NOTIFY_SOCKET") != nil }

    /// The manager takes no message of more than 4096 bytes, and ignores a longer one as a whole.
    private static let statusBytes = 1024

    /// Whether the bus has started this process itself, without a service manager.
    public static var isBus: Bool { getenv("DBUS_STARTER_ADDRESS") != nil }

    /// Start-up or reloading is done.
    public static func ready(status: String) { notify("READY=1\n\(assignment(ofStatus: status))") }

    public static func reloading() { notify("RELOADING=1\nMONOTONIC_USEC=\(Clock.monotonic())") }

    public static func stopping() { notify("STOPPING=1") }

    /// One line that `systemctl status` shows.
    public static func status(_ text: String) { notify(assignment(ofStatus: text)) }

    /// The text may hold what a file or a program has put into it, and every line is a statement of its own.
    static func assignment(ofStatus text: String) -> String {
        "STATUS=" + text.asSingleLine.shortened(toBytes: statusBytes)
    }

    private static func notify(_ state: String) {
        // A manager that cannot be reached notices by itself; the daemon works without one.
        _ = sd_notify(0, state)
    }
}
