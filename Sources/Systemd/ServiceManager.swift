internal import CSystemd
import Glibc

/// What is said to the service manager, where there is one that listens; sd_notify(3). Without one, nothing happens.
public enum ServiceManager {
    /// Whether there is one that listens, which means that it has started this process.
    public static var isThere: Bool { getenv("NOTIFY_SOCKET") != nil }

    /// Start-up or reloading is done.
    public static func ready(status: String) { notify("READY=1\nSTATUS=\(status)") }

    public static func reloading() { notify("RELOADING=1\nMONOTONIC_USEC=\(Clock.monotonic())") }

    public static func stopping() { notify("STOPPING=1") }

    /// One line that `systemctl status` shows.
    public static func status(_ text: String) { notify("STATUS=\(text)") }

    private static func notify(_ state: String) {
        // A manager that cannot be reached notices by itself; the daemon works without one.
        _ = sd_notify(0, state)
    }
}
