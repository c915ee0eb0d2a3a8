/// How long claims took, exactly: these are few enough to be kept one by one.
struct Latencies: Hashable, Sendable {
    private let sorted: [Duration]

    init(_ latencies: [Duration]) { sorted = latencies.sorted() }

    var count: Int { sorted.count }
    var longest: Duration? { sorted.last }

    /// The shortest time within which this many of 100 claims came.
    func reached(by percent: Int) -> Duration? {
        guard !sorted.isEmpty else { return nil }
        return sorted[max(0, (sorted.count * percent + 99) / 100 - 1)]
    }

    /// The smallest window that would have caught this many of 100 claims; `nil` when none can be that long.
    func window(catching percent: Int) -> Duration? {
        guard let time = reached(by: percent) else { return nil }
        let (seconds, attoseconds) = time.components
        let milliseconds = seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return milliseconds <= 60_000 ? .milliseconds(milliseconds) : nil
    }

    var json: JSON {
        func time(_ duration: Duration?) -> JSON { duration.map { .microseconds($0) } ?? .null }
        return .object([
            ("claims", .integer(count)), ("p50", time(reached(by: 50))), ("p95", time(reached(by: 95))),
            ("p99", time(reached(by: 99))), ("max", time(longest)),
        ])
    }

    /// For people; `nil` without any.
    var line: String? {
        guard let half = reached(by: 50), let most = reached(by: 95), let nearlyAll = reached(by: 99), let longest
        else {
            return nil
        }
        return
            "50% within \(half.figure), 95% \(most.figure), 99% \(nearlyAll.figure), longest \(longest.figure) (\(count))"
    }
}
