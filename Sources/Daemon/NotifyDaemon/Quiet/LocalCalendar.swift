import Glibc

/// Converts between days and minutes of the local time and moments, by nothing but the offsets of a time zone.
struct LocalCalendar {
    static let dayLength: Int64 = 86_400
    /// Further from a moment than local time can be from UTC.
    private static let margin: Int64 = 26 * 3600

    /// How far local time is ahead of UTC at a moment, both in seconds.
    let offset: (Int64) -> Int64

    /// The time zone of this process: localtime_r(3). The zone is read again if /etc/localtime has changed.
    static var system: LocalCalendar {
        tzset()
        return LocalCalendar { moment in
            var seconds = time_t(moment)
            var parts = tm()
            localtime_r(&seconds, &parts)
            return Int64(parts.tm_gmtoff)
        }
    }

    /// The local day of a moment, counted from 1970-01-01.
    func day(at moment: Int64) -> Int64 {
        let local = moment + offset(moment)
        return (local - ((local % Self.dayLength) + Self.dayLength) % Self.dayLength) / Self.dayLength
    }

    /// Of a time that the clocks show twice, which one is meant.
    enum Choice {
        case first, last
    }

    /// The moment at which clocks show a time. If they skip it, the moment at which they do.
    func moment(day: Int64, minute: Int, _ choice: Choice) -> Int64 {
        let local = day * Self.dayLength + Int64(minute) * 60
        let before = offset(local - Self.margin)
        let after = offset(local + Self.margin)
        let moments = [local - before, local - after].filter { $0 + offset($0) == local }
        if let moment = choice == .first ? moments.min() : moments.max() { return moment }
        return change(after: local - max(before, after), upTo: local - min(before, after))
    }

    /// The moment at which the offset changes.
    private func change(after start: Int64, upTo end: Int64) -> Int64 {
        let old = offset(start)
        var (low, high) = (start, end)
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if offset(middle) == old { low = middle } else { high = middle }
        }
        return high
    }
}
