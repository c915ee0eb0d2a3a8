import Routing

extension Duration {
    /// With a fitting unit: `412 µs`, `31.4 ms`, `2.50 s`, `10 min`.
    var displayText: String {
        let microseconds = microseconds
        if microseconds < 0 { return "-" + (.zero - self).displayText }
        switch microseconds {
        case 0..<1000: return "\(microseconds) µs"
        case ..<1_000_000: return fixed(Double(microseconds) / 1e3, digits: 1) + " ms"
        case ..<120_000_000: return fixed(Double(microseconds) / 1e6, digits: 2) + " s"
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

private func fixed(_ number: Double, digits: Int) -> String {
    var factor = 1
    for _ in 0..<digits { factor *= 10 }
    let scaled = Int((number * Double(factor)).rounded())
    let fraction = String(scaled % factor)
    return "\(scaled / factor)." + String(repeating: "0", count: digits - fraction.count) + fraction
}
