import NotifyBridge
import PushShell

/// The program. Everything is in `PushShell`, where tests reach it.
@main
enum NotifydUnifiedPush {
    static func main() { PushBridge.main() }
}
