import Glibc

/// The clock that ``Event/published`` and the moments of an ``Explanation`` are read from.
package enum WallClock {
    /// In microseconds since 1970-01-01 00:00 UTC.
    package static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}
