import ArgumentParser
import Routing

extension Duration {
    /// With a fitting unit: `412 µs`, `31.4 ms`, `2.50 s`, `10 min`.
    var displayText: String {
        let microseconds = microseconds
        if microseconds < 0 { return "-" + (.zero - self).displayText }
        switch microseconds {
        case 0..<1000: return "\(microseconds) µs"
        case ..<1_000_000: return (Double(microseconds) / 1e3).fixed(1) + " ms"
        case ..<120_000_000: return (Double(microseconds) / 1e6).fixed(2) + " s"
        default: return "\(microseconds / 60_000_000) min"
        }
    }

    /// Without decimals where there are none: `100 ms`, `5 s`.
    var shortText: String {
        if microseconds % 1_000_000 == 0 { return "\(microseconds / 1_000_000) s" }
        if microseconds % 1000 == 0 { return "\(microseconds / 1000) ms" }
        return displayText
    }
}

extension JSON {
    static func microseconds(_ duration: Duration) -> JSON { .integer(duration.microseconds) }
    static func milliseconds(_ duration: Duration) -> JSON { .integer(duration.microseconds / 1000) }
}

extension Double {
    func fixed(_ digits: Int) -> String {
        let factor = [1, 10, 100][digits]
        let scaled = Int((self * Double(factor)).rounded())
        return "\(scaled / factor)." + String(scaled % factor).padded(to: digits, with: "0")
    }
}

extension String {
    /// The text with characters before it, up to a number of characters.
    func padded(to width: Int, with filler: Character = " ") -> String {
        String(repeating: filler, count: max(0, width - count)) + self
    }
}

/// A duration on the command line, as in the configuration: `100ms`, `5s`, `10m`, `2h`.
struct DurationArgument: Hashable, Sendable {
    let duration: Duration

    static func parse(_ text: String) throws -> DurationArgument {
        guard let duration = Duration(text: text) else {
            throw ValidationError(
                "“\(text)” is not a time. Write a whole number and a unit, such as 100ms, 5s, 10m, 2h or 28d; the longest is 366d."
            )
        }
        return DurationArgument(duration: duration)
    }

    /// For what notifyd counts in seconds.
    static func parseSeconds(_ text: String) throws -> DurationArgument {
        let argument = try parse(text)
        guard argument.duration.components.attoseconds == 0 else {
            throw ValidationError(
                "“\(text)” is not a number of whole seconds. Write a time such as 1s, 10m, 2h or 28d.")
        }
        return argument
    }
}
