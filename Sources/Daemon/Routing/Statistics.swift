/// Counters since the start of the daemon.
public struct Statistics: Equatable, Sendable {
    /// Events accepted.
    public var published: UInt64 = 0
    /// Publications recognised as duplicates.
    public var repeated: UInt64 = 0
    /// Calls that were refused.
    public var refused: UInt64 = 0
    /// Events that got the outcome `claimed`.
    public var claimed: UInt64 = 0
    /// Events that got the outcome `shown`.
    public var shown: UInt64 = 0
    /// Events that got the outcome `retracted`, after `shown`.
    public var retracted: UInt64 = 0
    /// Events that got the outcome `dismissed`, after `shown`.
    public var dismissed: UInt64 = 0
    /// Events that got the outcome `silent`.
    public var silent: UInt64 = 0
    /// Events that got the outcome `muted`.
    public var muted: UInt64 = 0
    /// Events that got the outcome `expired`.
    public var expired: UInt64 = 0
    /// Events that got the outcome `withdrawn`, some of them after `shown`.
    public var withdrawn: UInt64 = 0
    /// Events that got the outcome `replaced`, some of them after `shown`.
    public var replaced: UInt64 = 0
    /// Claims with the verdict `recorded`.
    public var recordedClaims: UInt64 = 0
    /// Banners asked for, updates included.
    public var bannerCalls: UInt64 = 0
    /// Calls to the notification server that failed or timed out.
    public var bannerFailures: UInt64 = 0
    /// Banners closed by the router.
    public var bannersClosed: UInt64 = 0
    /// Banners folded into a summary.
    public var bannersFolded: UInt64 = 0
    /// Shown events that were forgotten because of the limits; they cannot be retracted.
    public var forgotten: UInt64 = 0

    public init() {}

    mutating func count(_ outcome: Outcome) {
        switch outcome {
        case .claimed: claimed += 1
        case .shown: shown += 1
        case .retracted: retracted += 1
        case .dismissed: dismissed += 1
        case .silent: silent += 1
        case .muted: muted += 1
        case .expired: expired += 1
        case .withdrawn: withdrawn += 1
        case .replaced: replaced += 1
        }
    }
}
