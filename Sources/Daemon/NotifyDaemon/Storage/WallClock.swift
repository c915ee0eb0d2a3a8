import Journal
import Routing

/// Converts between the wall clock and the other clocks.
struct WallClock {
    /// Microseconds since the epoch.
    let wall: Int64
    let now: Now
    /// Which boot this is; see `Expiry`.
    let boot: String

    func moment(_ instant: Instant) -> Int64 {
        wall + instant.microseconds - now.instant.microseconds
    }

    func moment(_ uptime: Uptime) -> Int64 {
        wall + uptime.microseconds - now.uptime.microseconds
    }

    var reading: ClockReading { ClockReading(wall: wall, uptime: now.uptime.microseconds, boot: boot) }

    /// How long ago a stored event was accepted, by a clock that cannot be set; `nil` for events of an earlier boot.
    func age(of event: StoredEvent) -> Duration? {
        guard boot == event.expires.boot else { return nil }
        let expires = event.expires
        let uptime = event.accepted - expires.wall + expires.uptime
        return .microseconds(max(0, now.uptime.microseconds - uptime))
    }

    /// What is left of a stored event's lifetime; negative when it is over.
    func left(_ expiry: Expiry) -> Duration {
        expiry.left(wall: wall, uptime: now.uptime.microseconds, boot: boot)
    }

    /// What is left of a stored pause or mute; negative when it is over.
    func left(_ end: StoredQuiet.End) -> Duration {
        end.left(wall: wall, uptime: now.uptime.microseconds, boot: boot)
    }
}
