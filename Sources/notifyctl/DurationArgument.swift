import ArgumentParser

/// A time as people write it: `100ms`, `5s`, `1.5s`, `10m`, `2h`.
struct DurationArgument: ExpressibleByArgument, Hashable, Sendable {
    let duration: Duration
    private let text: String

    var defaultValueDescription: String { text }

    init?(argument: String) {
        let digits = argument.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        guard let number = Double(digits), number.isFinite else { return nil }
        let unit: Double
        switch argument.dropFirst(digits.count) {
        case "us", "µs": unit = 1e-6
        case "ms": unit = 1e-3
        case "s": unit = 1
        case "m", "min": unit = 60
        case "h": unit = 3600
        case "d": unit = 86400
        default: return nil
        }
        let seconds = number * unit
        // A year is more than any wait; and what follows counts nanoseconds in 64 bits.
        guard seconds <= 366 * 86400 else { return nil }
        text = argument
        duration = .microseconds(Int64((seconds * 1e6).rounded()))
    }
}

extension Duration {
    var microseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }

    /// With a fitting unit: `412 µs`, `31.4 ms`, `2.50 s`, `10 min`.
    var figure: String {
        let microseconds = microseconds
        if microseconds < 0 { return "-" + (.zero - self).figure }
        switch microseconds {
        case 0..<1000: return "\(microseconds) µs"
        case ..<1_000_000: return fixed(Double(microseconds) / 1e3, digits: 1) + " ms"
        case ..<120_000_000: return fixed(Double(microseconds) / 1e6, digits: 2) + " s"
        default: return "\(microseconds / 60_000_000) min"
        }
    }

    /// Without decimals where there are none: `100 ms`, `5 s`.
    var shortFigure: String {
        if microseconds % 1_000_000 == 0 { return "\(microseconds / 1_000_000) s" }
        if microseconds % 1000 == 0 { return "\(microseconds / 1000) ms" }
        return figure
    }
}

private func fixed(_ number: Double, digits: Int) -> String {
    var factor = 1
    for _ in 0..<digits { factor *= 10 }
    let scaled = Int((number * Double(factor)).rounded())
    let fraction = String(scaled % factor)
    return "\(scaled / factor)." + String(repeating: "0", count: digits - fraction.count) + fraction
}
