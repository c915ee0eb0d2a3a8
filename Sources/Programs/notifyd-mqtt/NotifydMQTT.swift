import LinkShell
import NotifyBridge

/// The program. Everything is in `LinkShell`, where tests reach it.
@main
enum NotifydMQTT {
    static func main() { LinkBridge.main() }
}
