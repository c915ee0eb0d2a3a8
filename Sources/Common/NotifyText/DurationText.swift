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
}
