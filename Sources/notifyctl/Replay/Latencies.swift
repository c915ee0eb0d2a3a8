import Histogram
import NotifyClient
import Routing

/// How long claims took, in a [histogram with a high dynamic range](https://hdrhistogram.org): however many there are, it
/// takes the same room, and says every time to within a thousandth.
struct Latencies: Equatable, Sendable {
    /// Microseconds.
    private var histogram = Histogram<UInt32>(numberOfSignificantValueDigits: .three)

    init(_ latencies: some Sequence<Duration>) {
        for latency in latencies { histogram.record(UInt64(clamping: latency.microseconds)) }
    }

    var count: Int { Int(histogram.totalCount) }
    var longest: Duration? { count > 0 ? .microseconds(histogram.maxRecorded) : nil }

    /// The shortest time within which this many of 100 claims came.
    func reached(by percent: Int) -> Duration? {
        count > 0 ? .microseconds(histogram.valueAtPercentile(Double(percent))) : nil
    }

    /// The smallest window that would have caught this many of 100 claims; `nil` when none can be that long.
    func window(catching percent: Int) -> Duration? {
        guard let time = reached(by: percent) else { return nil }
        let milliseconds = (time.microseconds + 999) / 1000
        return milliseconds <= 60_000 ? .milliseconds(milliseconds) : nil
    }

    var json: JSON {
        func time(_ duration: Duration?) -> JSON { duration.map { .microseconds($0) } ?? .null }
        return .object([
            ("claims", .integer(count)), ("p50", time(reached(by: 50))), ("p95", time(reached(by: 95))),
            ("p99", time(reached(by: 99))), ("max", time(longest)),
        ])
    }

    /// For programs, the windows that would have sufficed, in milliseconds.
    var windows: [(String, JSON)] {
        [95, 99].map { percent in
            ("window-for-\(percent)", window(catching: percent).map { .milliseconds($0) } ?? .null)
        }
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

    /// The windows that would have sufficed, for people.
    var windowText: String {
        [95, 99].map { percent in "\(windowText(catching: percent)) for \(percent) of 100 claims" }
            .joined(separator: ", ")
    }

    func windowText(catching percent: Int) -> String {
        window(catching: percent)?.shortFigure ?? "none (60 s is the longest there is)"
    }
}
