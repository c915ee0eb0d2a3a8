import NotifyJSON
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
