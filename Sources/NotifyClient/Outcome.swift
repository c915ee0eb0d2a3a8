/// What became of an event: the signal `Resolved`.
///
/// A silent event (one whose route has no banner) has none: its ``Event`` already says so.
public struct Outcome: Hashable, Sendable {
    /// The final word. More may come, so a `switch` over it needs a `default`.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// Somebody claimed it in time; no banner.
        public static let claimed = Kind(rawValue: "claimed")
        /// A banner was shown.
        public static let shown = Kind(rawValue: "shown")
        /// A banner was shown, then somebody claimed it late.
        public static let retracted = Kind(rawValue: "retracted")
        /// A banner was shown, then closed by the user.
        public static let dismissed = Kind(rawValue: "dismissed")
        /// Its route has no banner.
        public static let silent = Kind(rawValue: "silent")
        /// Banners were paused, or its topic was muted.
        public static let muted = Kind(rawValue: "muted")
        /// Its time ran out before anyone could show it.
        public static let expired = Kind(rawValue: "expired")
    }

    /// The event that has it.
    public var id: EventID
    /// Where that event belongs.
    public var topic: String
    /// The outcome itself.
    public var kind: Kind
    /// The unique name of the claimant.
    public var by: String?
    /// What people call the claimant: its app, its unit or its command. It identifies nothing.
    public var program: String?
    /// From publishing to the claim.
    public var latency: Duration?
    /// The call it was claimed by, where that is not `Claim`.
    public var form: String?
    /// The id the notification server gave the banner.
    public var banner: UInt32?
    /// How many events the banner stands for.
    public var count: Int?
    /// How long after its deadline the banner was asked for.
    public var lateness: Duration?
    /// The key of the button that closed the banner.
    public var action: String?

    public init(
        id: EventID, topic: String, kind: Kind, by: String? = nil, latency: Duration? = nil, banner: UInt32? = nil,
        count: Int? = nil, lateness: Duration? = nil, form: String? = nil,
        action: String? = nil, program: String? = nil
    ) {
        self.id = id
        self.topic = topic
        self.kind = kind
        self.by = by
        self.latency = latency
        self.banner = banner
        self.count = count
        self.lateness = lateness
        self.form = form
        self.action = action
        self.program = program
    }
}

extension Outcome {
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
            by: details["by"]?.string,
            latency: details["latency"]?.integer().map { Duration(microseconds: $0) },
            banner: details["banner"]?.integer(),
            count: details["count"]?.integer(),
            lateness: details["lateness"]?.integer().map { Duration(microseconds: $0) },
            form: details["form"]?.string,
            action: details["action"]?.string,
            program: details["program"]?.string)
    }
}

/// The answer to a claim. More may come, so a `switch` over it needs a `default`.
public struct Verdict: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public var description: String { rawValue }

    /// In time: there is no banner for the event.
    public static let suppressed = Verdict(rawValue: "suppressed")
    /// Late: the banner had been shown, and is now closed.
    public static let retracted = Verdict(rawValue: "retracted")
    /// Nothing was there to suppress: a silent route, already claimed, or other events keep the banner up.
    public static let recorded = Verdict(rawValue: "recorded")
}
