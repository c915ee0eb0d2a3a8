/// The id of an event. Ids grow strictly, also over restarts of the daemon, and are never reused.
public struct EventID: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible,
    ExpressibleByIntegerLiteral
{
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
    public init(integerLiteral value: UInt64) { rawValue = value }

    public var description: String { String(rawValue) }

    public static func < (left: EventID, right: EventID) -> Bool { left.rawValue < right.rawValue }
}

/// The urgency of a banner: the levels of the Desktop Notifications Specification.
public enum Urgency: UInt8, Hashable, Sendable, CaseIterable {
    /// `critical` breaks through “do not disturb”.
    case low, normal, critical
}
