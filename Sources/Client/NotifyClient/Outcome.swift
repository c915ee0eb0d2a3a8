public import NotifyText

/// What became of an event: the signal `Resolved`.
///
/// A silent event (its route has no banner) has no such signal: its ``Event`` already says so.
public struct Outcome: Hashable, Sendable {
    /// The final state of the event. More may come, so a `switch` over it needs a `default`.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// It was claimed in time and got no banner.
        public static let claimed = Kind(rawValue: "claimed")
        /// A banner was shown.
        public static let shown = Kind(rawValue: "shown")
        /// A banner was shown, and the event was claimed afterwards.
        public static let retracted = Kind(rawValue: "retracted")
        /// A banner was shown, and the user closed it.
        public static let dismissed = Kind(rawValue: "dismissed")
        /// Its route has no banner.
        public static let silent = Kind(rawValue: "silent")
        /// Banners were paused, or its topic was muted.
        public static let muted = Kind(rawValue: "muted")
        /// Its time to live ended before a banner could be shown.
        public static let expired = Kind(rawValue: "expired")
        /// Its publisher took it back.
        public static let withdrawn = Kind(rawValue: "withdrawn")
        /// A later event with the same ``PublishOptions/collapse`` took its place.
        public static let replaced = Kind(rawValue: "replaced")
    }

    /// The event.
    public var id: EventID
    /// The topic of the event.
    public var topic: String
    /// The outcome itself.
    public var kind: Kind
    /// The unique name of the claimant, or of who withdrew it.
    public var by: String?
    /// The app, unit or command of the claimant, for people. It does not identify a program.
    public var program: String?
    /// From publishing to the claim; `nil` also if the machine was restarted in between, because no clock measures
    /// that.
    public var latency: Duration?
    /// The call that claimed it, if not `Claim`.
    public var form: String?
    /// The id the notification server gave the banner.
    public var banner: UInt32?
    /// How many events the banner stands for.
    public var count: Int?
    /// How long after its deadline the banner was requested.
    public var lateness: Duration?
    /// What the banner waited for in that time; `nil` if nothing.
    public var delay: BannerDelay?
    /// The key of the button that closed the banner.
    public var action: String?
    /// Where it was claimed, for people, if that was on another device.
    public var device: String?
}

extension Outcome {
    /// An outcome of which nothing else is known.
    public init(id: EventID, topic: String, kind: Kind) { self.init(id: id, topic: topic, kind: kind, by: nil) }
}

extension Outcome: Announced {
    package static let signal = "Resolved"

    /// From the arguments of the signal: `s t s a{sv}`.
    package init?(arguments: [Value]) {
        guard arguments.count >= 4,
            case .string(let topic) = arguments[0],
            case .uint64(let id) = arguments[1],
            case .string(let kind) = arguments[2],
            let details = arguments[3].entries
        else { return nil }
        self.init(
            id: EventID(rawValue: id), topic: topic, kind: Kind(rawValue: kind),
            by: details["by"]?.string, program: details["program"]?.string,
            latency: details["latency"]?.integer().map { Duration(microseconds: $0) },
            form: details["form"]?.string, banner: details["banner"]?.integer(),
            count: details["count"]?.integer(),
            lateness: details["lateness"]?.integer().map { Duration(microseconds: $0) },
            delay: details["delay"]?.string.map(BannerDelay.init),
            action: details["action"]?.string, device: details["device"]?.string)
    }
}

/// The reply to a claim. More may come, so a `switch` over it needs a `default`.
public struct Verdict: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// In time: there is no banner for the event.
    public static let suppressed = Verdict(rawValue: "suppressed")
    /// Late: the banner had been shown, and is now closed.
    public static let retracted = Verdict(rawValue: "retracted")
    /// There was nothing to suppress: the route is silent, the event was already claimed, or other events keep the
    /// banner up.
    public static let recorded = Verdict(rawValue: "recorded")
    /// The event has not come yet; it is claimed when it comes. Only for a claim by name.
    public static let awaited = Verdict(rawValue: "awaited")
}

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
