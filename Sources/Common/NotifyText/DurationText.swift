extension Duration {
    /// The units of durations, in microseconds, the largest first.
    private static let units: [(name: Substring, size: Int64)] = [
        ("d", 24 * 3_600_000_000), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1000), ("us", 1),
    ]

    /// Reads a duration of a configuration or a command line: a whole number and a unit, such as `100ms`, `5s`, `10m`,
    /// `12h` or `28d`; `0` needs no unit.
    ///
    /// - Returns: `nil` if the text is not a duration or is longer than a year.
    public init?(text: String) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let name = text.dropFirst(digits.count)
        guard let number = Int64(digits), number <= 366 * 24 * 3_600_000_000,
            let unit = name.isEmpty && number == 0 ? 1 : Self.units.first(where: { $0.name.hasBytes(of: name) })?.size
        else { return nil }
        let (microseconds, overflow) = number.multipliedReportingOverflow(by: unit)
        guard !overflow, microseconds <= 366 * 24 * 3_600_000_000 else { return nil }
        self = .microseconds(microseconds)
    }

    /// The duration in the largest unit without a fraction, as `init(text:)` reads it.
    public var text: String {
        let microseconds = microseconds
        guard microseconds != 0 else { return "0s" }
        let unit = Self.units.first { microseconds % $0.size == 0 }
        return unit.map { "\(microseconds / $0.size)\($0.name)" } ?? "\(microseconds)us"
    }

    /// A measured duration, rounded for reading: `412 µs`, `31.4 ms`, `2.50 s`, `10 min`.
    package var displayText: String {
        let microseconds = microseconds
        switch microseconds {
        case ..<0: return "-" + (.zero - self).displayText
        case ..<1000: return "\(microseconds) µs"
        case ..<999_950:
            let tenths = (microseconds + 50) / 100
            return "\(tenths / 10).\(tenths % 10) ms"
        case ..<120_000_000:
            let hundredths = (microseconds + 5000) / 10_000
            return "\(hundredths / 100).\(hundredths / 10 % 10)\(hundredths % 10) s"
        default: return "\(microseconds / 60_000_000) min"
        }
    }

    /// A duration that somebody chose, without decimals where there are none: `100 ms`, `5 s`.
    package var shortText: String {
        let microseconds = microseconds
        if microseconds % 1_000_000 == 0 { return "\(microseconds / 1_000_000) s" }
        return microseconds % 1000 == 0 ? "\(microseconds / 1000) ms" : displayText
    }
}
