/// A moment on the clock that windows run on: CLOCK_MONOTONIC of clock_gettime(2), in microseconds.
///
/// This clock stands still while the machine sleeps, so that a window that was open when the lid closed goes on when it
/// opens, and screens still have their time to claim.
public struct Instant: Hashable, Comparable, Sendable {
    /// Microseconds since an unspecified start.
    public let microseconds: Int64

    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    public static func < (left: Instant, right: Instant) -> Bool {
        left.microseconds < right.microseconds
    }

    public static func + (instant: Instant, duration: Duration) -> Instant {
        Instant(microseconds: instant.microseconds + duration.microseconds)
    }

    /// The time from `right` to `left`; negative where `left` is the earlier one.
    public static func - (left: Instant, right: Instant) -> Duration {
        .microseconds(left.microseconds - right.microseconds)
    }
}

/// A moment on the clock that lifetimes (`ttl`) run on: CLOCK_BOOTTIME of clock_gettime(2), in microseconds.
///
/// It goes on while the machine sleeps and does not follow when somebody sets the wall clock: an invitation that is good
/// for ten minutes is stale after an hour's sleep, and a clock that jumps by ten days expires nothing.
public struct Uptime: Hashable, Comparable, Sendable {
    /// Microseconds since the machine was started.
    public let microseconds: Int64

    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    public static func < (left: Uptime, right: Uptime) -> Bool {
        left.microseconds < right.microseconds
    }

    public static func + (uptime: Uptime, duration: Duration) -> Uptime {
        Uptime(microseconds: uptime.microseconds + duration.microseconds)
    }
}

/// What both clocks said when an input came in. Time is an argument here: nothing in this module reads a clock.
public struct Now: Hashable, Sendable {
    /// For windows.
    public let instant: Instant
    /// For lifetimes, which go on while the machine sleeps.
    public let uptime: Uptime

    public init(instant: Instant, uptime: Uptime) {
        self.instant = instant
        self.uptime = uptime
    }
}

extension Duration {
    /// The duration in whole microseconds, rounded towards zero.
    public var microseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }

    /// The duration in whole milliseconds, rounded up, as "milliseconds left" is meant on the bus.
    public var millisecondsRoundedUp: UInt32 {
        UInt32(clamping: (max(0, microseconds) + 999) / 1000)
    }
}
