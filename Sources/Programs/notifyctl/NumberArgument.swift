import ArgumentParser
import NotifyClient
import Routing

/// Numbers on the command line. Options take them `.unconditional`, so that the error of a negative number names the
/// range.
enum NumberArgument {
    /// - Parameter what: such as “a number of events”.
    static func parse<Number: FixedWidthInteger & Sendable>(
        _ range: ClosedRange<Number>, _ what: String = "a number"
    ) -> @Sendable (String) throws -> Number {
        { text in
            if let number = Number(text), range.contains(number) { return number }
            let bounds =
                switch (range.lowerBound == .min, range.upperBound == .max) {
                case (true, true): ""
                case (false, true): " of at least \(range.lowerBound)"
                default: " from \(range.lowerBound) to \(range.upperBound)"
                }
            throw ValidationError("“\(text)” is not \(what)\(bounds).")
        }
    }

    @Sendable static func eventID(_ text: String) throws -> UInt64 {
        guard let id = UInt64(text) else {
            throw ValidationError(
                "“\(text)” is not the id of an event. Write the number that “send”, “listen” and “history” print.")
        }
        return id
    }
}

/// A duration on the command line, as in the configuration: `100ms`, `5s`, `10m`, `2h`.
struct DurationArgument: Hashable, Sendable {
    private static let longest = Duration.seconds(366 * 86400)

    let duration: Duration

    static func parse(_ text: String) throws -> DurationArgument {
        try parse(.zero...longest)(text)
    }

    /// - Parameters:
    ///   - range: the times that notifyd takes.
    ///   - unit: what notifyd counts in: whole seconds or milliseconds. A part of a unit would be lost.
    static func parse(
        _ range: ClosedRange<Duration> = .zero...longest, in unit: Duration = .microseconds(1)
    ) -> @Sendable (String) throws -> DurationArgument {
        { text in
            guard !Duration.isTooLong(text) else { throw tooLong(text, range.upperBound) }
            guard let duration = Duration(text: text) else {
                throw ValidationError(
                    "“\(text)” is not a time. Write a whole number and a unit, such as 100ms, 5s, 10m, 2h or 28d; the longest "
                        + "is \(range.upperBound.text).")
            }
            guard duration.microseconds % unit.microseconds == 0 else {
                throw ValidationError(
                    unit == .seconds(1)
                        ? "“\(text)” is not a number of whole seconds. Write a time such as 1s, 10m, 2h or 28d."
                        : "“\(text)” is not a number of whole milliseconds. Write a time such as 1ms, 250ms or 5s.")
            }
            guard range.contains(duration) else {
                throw duration > range.upperBound
                    ? tooLong(text, range.upperBound)
                    : ValidationError("“\(text)” is too short: at least \(range.lowerBound.text).")
            }
            return DurationArgument(duration: duration)
        }
    }

    /// A number of whole seconds, or a time of the day, such as 9:00: then until the local clock shows it next.
    static func parseEnd(
        _ range: ClosedRange<Duration> = .zero...longest, now: @escaping @Sendable () -> Int64 = { Timestamp.now }
    ) -> @Sendable (String) throws -> DurationArgument {
        { text in
            guard text.contains(":") else { return try parse(range, in: .seconds(1))(text) }
            let now = now()
            guard let end = MomentArgument.next(text, after: now) else {
                throw ValidationError("“\(text)” is not a time of the day. Write it as 9:00 or 18:30.")
            }
            let left = Duration.seconds((end - now + 999_999) / 1_000_000)
            guard left >= range.lowerBound else {
                throw ValidationError("“\(text)” is too soon: at least \(range.lowerBound.text) from now.")
            }
            return DurationArgument(duration: left)
        }
    }

    static func tooLong(_ text: String, _ longest: Duration = longest) -> ValidationError {
        ValidationError("“\(text)” is too long: at most \(longest.text).")
    }
}

extension Duration {
    /// Whether a text is a time of the right form, but longer than any that can be meant.
    static func isTooLong(_ text: String) -> Bool {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let hasUnit = ["us", "ms", "s", "m", "h", "d"].contains(text.dropFirst(digits.count))
        return !digits.isEmpty && hasUnit && Duration(text: text) == nil
    }
}
