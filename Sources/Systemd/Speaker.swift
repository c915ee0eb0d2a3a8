/// Who may say what a match hears.
///
/// The bus holds broadcasts against the sender of a match rule. It does not do so with a signal that has a destination, and
/// sd-bus lets a unique name pass where a rule asks for a well-known one. So the sender of each message is compared here.
public enum Speaker {
    /// The message bus itself.
    case bus
    /// sd-bus, about its own connection.
    case library
    /// The connection that owns a well-known name. The closure returns its unique name, `nil` while there is none.
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

    /// Whether a message with this sender comes from the speaker. The bus writes the sender, and no peer can change it.
    func isSender(_ sender: String) -> Bool {
        switch self {
        case .bus: sender == Self.busName
        case .library: sender == Self.libraryName
        case .owner(_, let owner): sender == owner()
        }
    }

    /// Whether an answer may come from this sender. Any connection may answer a call to a well-known name; so what matters is
    /// asked of a unique name.
    static func mayAnswer(_ sender: String, callTo destination: String, isError: Bool) -> Bool {
        if sender == destination { return true }
        if sender == busName { return isError }
        return destination != busName && !destination.hasPrefix(":")
    }
}
