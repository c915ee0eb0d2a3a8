/// What a banner waited for after the window of its event had ended. More may come, so a `switch` over it needs a
/// `default`.
public struct BannerDelay: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// There was no notification server.
    public static let absent = BannerDelay(rawValue: "absent")
    /// The notification server had failed several times and was not called for a while.
    public static let resting = BannerDelay(rawValue: "resting")
    /// The notification server refused the banner, or did not answer in time.
    public static let failed = BannerDelay(rawValue: "failed")
    /// More banners were due than may appear at a time.
    public static let limited = BannerDelay(rawValue: "limited")
    /// The notification server had not answered an earlier call.
    public static let busy = BannerDelay(rawValue: "busy")
}
