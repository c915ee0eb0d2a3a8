/// The sender that a match accepts messages from.
///
/// The bus checks the sender in a match rule only for broadcasts, not for signals with a destination, and sd-bus
/// accepts any unique name for a well-known one. So the sender of each message is checked here.
public enum ExpectedSender {
    /// The message bus itself.
    case bus
    /// sd-bus itself, about its connection.
    case library
    /// The owner of a well-known name. The closure returns its unique name, or `nil`.
    case owner(of: String, () -> String?)

    static let busName = "org.freedesktop.DBus"
    static let libraryName = "org.freedesktop.DBus.Local"

    /// The name for the match rule.
    var name: String {
        switch self {
        case .bus: Self.busName
        case .library: Self.libraryName
        case .owner(of: let name, _): name
        }
    }

    /// Whether a message with this sender comes from the sender. The bus writes the sender, and no peer can change it.
    func matches(_ sender: String) -> Bool {
        switch self {
        case .bus: sender == Self.busName
        case .library: sender == Self.libraryName
        case .owner(_, let owner): sender == owner()
        }
    }

    /// Whether a reply may come from this sender. A call to a well-known name accepts replies of any connection, so
    /// important calls go to a unique name.
    static func mayReply(_ sender: String, callTo destination: String, isError: Bool) -> Bool {
        if sender == destination { return true }
        if sender == busName { return isError }
        return destination != busName && !destination.hasPrefix(":")
    }
}
