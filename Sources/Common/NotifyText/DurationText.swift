extension Duration {
    /// Reads a duration of a configuration or a command line: a whole number and a unit, such as `100ms`, `5s`, `10m`,
    /// `12h` or `28d`; `0` needs no unit.
    ///
    /// - Returns: `nil` if the text is not a duration or is longer than a year.
    public init?(text: String) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int64(digits), number <= 366 * 24 * 3_600_000_000 else { return nil }
        let unit: Int64
        switch text.dropFirst(digits.count) {
        case "us": unit = 1
        case "ms": unit = 1000
        case "s": unit = 1_000_000
        case "m": unit = 60_000_000
        case "h": unit = 3_600_000_000
        case "d": unit = 24 * 3_600_000_000
        case "" where number == 0: unit = 1
        default: return nil
        }
        let (microseconds, overflow) = number.multipliedReportingOverflow(by: unit)
        guard !overflow, microseconds <= 366 * 24 * 3_600_000_000 else { return nil }
        self = .microseconds(microseconds)
    }

    /// The duration in the largest unit without a fraction, as `init(text:)` reads it.
    public var text: String {
        let microseconds = microseconds
        let units: [(Int64, String)] = [
            (24 * 3_600_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "m"), (1_000_000, "s"), (1000, "ms"),
        ]
        if microseconds == 0 { return "0s" }
        for (size, name) in units where microseconds % size == 0 { return "\(microseconds / size)\(name)" }
        return "\(microseconds)us"
    }
}
