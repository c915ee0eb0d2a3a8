/// Everything that can happen to the router.
public enum Input: Sendable {
    /// Somebody publishes an event.
    case published(Publication)
    /// Somebody, named by its unique bus name, says "I handle this event".
    case claimed(EventID, by: String)
    /// The timer that was asked for went off; also safe at any other time, for only what is due is done.
    case timerFired

    /// The notification server took its name, or there is a new one.
    case serverAppeared
    /// The notification server is gone, and all banners with it.
    case serverVanished
    /// The server answered a `showBanner` with the number of the banner.
    case bannerShown(BannerCall, BannerID)
    /// The server refused a `showBanner` or did not answer in time.
    case bannerFailed(BannerCall)
    /// The server says that a banner is closed.
    case bannerClosed(BannerID, ClosingReason)
    /// The user pressed one of the banner's buttons.
    case actionInvoked(BannerID, action: String)

    /// There is a new configuration. Open windows keep their deadlines.
    case reconfigured(RouteTable, BannerSettings)
}

/// Why a banner was closed: `NotificationClosed` of the Desktop Notifications Specification.
public enum ClosingReason: Sendable {
    /// By the user.
    case dismissed
    /// By itself, by a program, or for a reason the server does not give.
    case other
}

/// How banners are to be treated as a whole.
public struct BannerSettings: Hashable, Sendable {
    /// New banners that may appear within a second; more are folded into one. 0 means no limit.
    public var maximumPerSecond: Int

    public init(maximumPerSecond: Int = 5) {
        self.maximumPerSecond = maximumPerSecond
    }
}
