import NotifyBridge
import NtfyShell

/// The program. Everything is in `NtfyShell`, where tests reach it.
@main
enum NotifydNtfy {
    static func main() { NtfyBridge.main() }
}
