public import NotifyText

extension Observer {
    public enum Effect: Equatable, Sendable {
        /// Publish the event of a notification. With `collapse`, it takes the place of the one before.
        case publish(DesktopName, Notice, DesktopRules.Route, collapse: String?)
        /// The user has closed its banner.
        case dismiss(DesktopName)
        /// The user has pressed a button of its banner.
        case press(DesktopName, String)
        /// The program has taken it back.
        case withdraw(DesktopName)
        case close(BannerKey)
        /// Show a banner again that was closed for a while.
        case show(DesktopName, Notice, Topic)
        /// A button was pressed elsewhere; the program is to hear of it.
        case invoke(BannerKey, action: String)
    }

    /// What the server says about a call.
    public enum Answer: Equatable, Sendable {
        case banner(BannerKey)
        /// It shows nothing.
        case refused
    }

    /// What came lately: for people.
    public struct Sighting: Equatable, Sendable {
        public let notice: Notice
        public let decision: DesktopRules.Decision
        /// Microseconds since the epoch.
        public let time: Int64
    }
}
