import Glibc

/// Readings of clock_gettime(2), in microseconds.
public enum Clock {
    /// CLOCK_MONOTONIC: stops while the machine sleeps.
    public static func monotonic() -> Int64 { read(CLOCK_MONOTONIC) }
    /// CLOCK_BOOTTIME: continues while the machine sleeps.
    public static func boottime() -> Int64 { read(CLOCK_BOOTTIME) }
    /// CLOCK_REALTIME: since the epoch; it can be set.
    public static func realtime() -> Int64 { read(CLOCK_REALTIME) }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        let result = clock_gettime(clock, &time)
        precondition(result == 0, "clock_gettime fails only for clocks that do not exist")
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}
