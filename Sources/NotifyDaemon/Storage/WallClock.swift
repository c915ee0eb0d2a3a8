import Journal
import Routing

/// The wall clock, and what the other clocks' moments are on it.
struct WallClock {
    /// Microseconds since the epoch.
    let wall: Int64
    let now: Now
    /// Which boot this is; see `Expiry`.
    let boot: String

    func moment(_ instant: Instant) -> Int64 {
        wall + instant.microseconds - now.instant.microseconds
    }

    func instant(_ moment: Int64) -> Instant {
        Instant(microseconds: now.instant.microseconds + moment - wall)
    }

    func moment(_ uptime: Uptime) -> Int64 {
        wall + uptime.microseconds - now.uptime.microseconds
    }

    var reading: ClockReading { ClockReading(wall: wall, uptime: now.uptime.microseconds, boot: boot) }

    /// How long ago a kept event came in: within its boot by a clock that nobody can set.
    func age(of event: StoredEvent) -> Duration {
        let expires = event.expires
        let uptime = event.accepted - expires.wall + expires.uptime
        return .microseconds(max(0, boot == expires.boot ? now.uptime.microseconds - uptime : wall - event.accepted))
    }

    /// What is left of a kept event's time; negative when it is over.
    func left(_ expiry: Expiry) -> Duration {
        expiry.left(wall: wall, uptime: now.uptime.microseconds, boot: boot)
    }

    /// What is left of a kept pause or mute; negative when it is over.
    func left(_ end: StoredQuiet.End) -> Duration {
        end.left(wall: wall, uptime: now.uptime.microseconds, boot: boot)
    }
}
