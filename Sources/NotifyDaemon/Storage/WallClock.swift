import Glibc
import Routing
import Systemd

/// The wall clock, and what the other clocks' moments are on it.
struct WallClock {
    let wall = Clock.realtime()
    let now: Now

    init(_ now: Now) {
        self.now = now
    }

    static func now() -> Int64 { Clock.realtime() }

    func moment(_ instant: Instant) -> Int64 {
        wall + instant.microseconds - now.instant.microseconds
    }

    func moment(_ uptime: Uptime) -> Int64 {
        wall + uptime.microseconds - now.uptime.microseconds
    }

    /// Which boot this is: random(4).
    static let boot: String = {
        guard let file = fopen("/proc/sys/kernel/random/boot_id", "re") else { return "unknown" }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 36)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }()
}
