/// Figures that a program which measures prints, for `Benchmarks/report` to read.
package struct Measurement: Sendable {
    /// Names as they are printed, in order.
    package private(set) var figures: [(name: String, value: Double)] = []

    package init() {}

    package var json: String {
        "{" + figures.map { "\"\($0.name)\": \(($0.value * 1000).rounded() / 1000)" }.joined(separator: ", ") + "}"
    }

    package subscript(name: String) -> Double? { figures.first { $0.name == name }?.value }

    package mutating func note(_ name: String, _ value: Double) { figures.append((name, value)) }

    /// Median and 99th percentile, in microseconds.
    package mutating func note(_ name: String, _ nanoseconds: [UInt64]) {
        guard !nanoseconds.isEmpty else { return }
        let sorted = nanoseconds.sorted()
        for percent in [50, 99] {
            note("\(name)_p\(percent)", Double(sorted[(sorted.count * percent + 99) / 100 - 1]) / 1000)
        }
    }
}
