import ArgumentParser
import Glibc
import Routing

/// A place in the history on the command line: the id of an event, or a time.
enum MomentArgument: Hashable, Sendable {
    case event(UInt64)
    /// In microseconds since the epoch.
    case time(Int64)

    static func parse(_ text: String) throws -> MomentArgument { try parse(text, now: Timestamp.now) }

    /// - Parameter now: in microseconds since the epoch.
    static func parse(_ text: String, now: Int64) throws -> MomentArgument {
        if let id = UInt64(text) { return .event(id) }
        if let age = Duration(text: text) { return .time(now - age.microseconds) }
        if Duration.isTooLong(text) { throw DurationArgument.tooLong(text) }
        guard let time = localTime(text) else {
            throw ValidationError(
                "“\(text)” is neither an id nor a time. Write a date, such as 2026-05-03 or “2026-05-03 17:04:05”, or how long "
                    + "ago, such as 90m, 12h or 30d.")
        }
        return .time(time)
    }

    /// The local time `2026-05-03`, `2026-05-03 17:04` or `2026-05-03T17:04:05`, in microseconds since the epoch.
    private static func localTime(_ text: String) -> Int64? {
        let halves = text.split(omittingEmptySubsequences: false) { $0 == " " || $0 == "T" }
        guard halves.count <= 2, let day = numbers(halves[0], "-", [4, 2, 2]),
            let clock = halves.count < 2
                ? [0, 0] : numbers(halves[1], ":", [2, 2]) ?? numbers(halves[1], ":", [2, 2, 2]),
            clock[0] < 24, clock[1] < 60, clock.count < 3 || clock[2] < 60
        else { return nil }
        var parts = tm()
        parts.tm_year = day[0] - 1900
        parts.tm_mon = day[1] - 1
        parts.tm_mday = day[2]
        parts.tm_hour = clock[0]
        parts.tm_min = clock[1]
        parts.tm_sec = clock.count < 3 ? 0 : clock[2]
        // Whether it is summer time.
        parts.tm_isdst = -1
        let seconds = mktime(&parts)
        // mktime makes 3 March of 31 February.
        guard parts.tm_mon == day[1] - 1, parts.tm_mday == day[2] else { return nil }
        return Int64(seconds) * 1_000_000
    }

    /// The next moment at which the local clock shows a time such as `9:00`; `nil` if that is none.
    static func next(_ text: String, after now: Int64) -> Int64? {
        guard let clock = numbers(text[...], ":", [2, 2]) ?? numbers(text[...], ":", [1, 2]), clock[0] < 24,
            clock[1] < 60
        else { return nil }
        var seconds = time_t(now / 1_000_000)
        var today = tm()
        localtime_r(&seconds, &today)
        for day: CInt in 0...1 {
            var parts = today
            parts.tm_mday += day
            (parts.tm_hour, parts.tm_min, parts.tm_sec, parts.tm_isdst) = (clock[0], clock[1], 0, -1)
            let moment = Int64(mktime(&parts)) * 1_000_000
            if moment > now { return moment }
        }
        return nil
    }

    /// Numbers with so many digits each.
    private static func numbers(_ text: Substring, _ separator: Character, _ digits: [Int]) -> [CInt]? {
        let parts = text.split(separator: separator, omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == digits else { return nil }
        let numbers = parts.compactMap { part in
            part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? CInt(part) : nil
        }
        return numbers.count == digits.count ? numbers : nil
    }
}
