/// A moment on the clock of windows: CLOCK_MONOTONIC of clock_gettime(2), in microseconds.
///
/// This clock stops while the machine sleeps, so that screens still have their time to claim after a resume.
public struct Instant: Hashable, Comparable, Sendable {
    /// Microseconds since an unspecified start.
    public let microseconds: Int64

    public init(microseconds: Int64) { self.microseconds = microseconds }

    public static func < (left: Instant, right: Instant) -> Bool { left.microseconds < right.microseconds }

    public static func + (instant: Instant, duration: Duration) -> Instant {
        Instant(microseconds: instant.microseconds + duration.microseconds)
    }

    /// The moment an age ago; this moment where the age is unknown.
    package func before(by age: Duration?) -> Instant { Instant(microseconds: microseconds - (age?.microseconds ?? 0)) }

    /// The time from `right` to `left`; negative where `left` is earlier.
    public static func - (left: Instant, right: Instant) -> Duration {
        .microseconds(left.microseconds - right.microseconds)
    }
}

/// A moment on the clock of lifetimes (`ttl`): CLOCK_BOOTTIME of clock_gettime(2), in microseconds.
///
/// This clock continues while the machine sleeps, and setting the wall clock does not change it: a lifetime of ten
/// minutes is over after an hour's sleep, and a wall clock that jumps by ten days expires nothing.
public struct Uptime: Hashable, Comparable, Sendable {
    /// Microseconds since boot.
    public let microseconds: Int64

    public init(microseconds: Int64) { self.microseconds = microseconds }

    public static func < (left: Uptime, right: Uptime) -> Bool { left.microseconds < right.microseconds }

    public static func + (uptime: Uptime, duration: Duration) -> Uptime {
        Uptime(microseconds: uptime.microseconds + duration.microseconds)
    }
}

/// The time of an input on both clocks. Time is an argument: the rules read no clock.
public struct Now: Hashable, Sendable {
    /// For windows.
    public let instant: Instant
    /// For lifetimes.
    public let uptime: Uptime

    public init(instant: Instant, uptime: Uptime) {
        self.instant = instant
        self.uptime = uptime
    }
}

extension Duration {
    /// The longest time to live of an event.
    package static let maximumLifetime: Duration = .seconds(28 * 24 * 3600)

    /// The duration in whole microseconds, rounded towards zero.
    public var microseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }

    /// The duration in whole milliseconds, rounded up, as D-Bus clients read "milliseconds left".
    public var millisecondsRoundedUp: UInt32 { UInt32(clamping: (max(0, microseconds) + 999) / 1000) }
}
