package import Routing

/// What has become of a wanted screen.
package enum HeldScreen: Equatable, Sendable {
    /// notifyd is not there. The screen is opened when it comes.
    case waiting
    /// notifyd was asked to open it, and has not replied yet.
    case opening(Screen.State)
    case open(ScreenID, Screen.State)
    /// notifyd does not allow it. It is asked again when the screen is wanted anew, or when notifyd has restarted.
    case refused(reason: String)

    /// Whether it is open.
    package var isOpen: Bool { if case .open = self { true } else { false } }
}
