import Histogram
import NotifyClient
import NotifyJSON
import Routing

/// The latencies of claims, in a [histogram with a high dynamic range](https://hdrhistogram.org): its size does not depend on
/// their number, and values are exact to a thousandth.
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

    var json: JSON { .object(members) }

    var members: [(String, JSON)] {
        func time(_ duration: Duration?) -> JSON { duration.map { .microseconds($0) } ?? .null }
        return [
            ("claims", .integer(count)), ("p50", time(reached(by: 50))), ("p95", time(reached(by: 95))),
            ("p99", time(reached(by: 99))), ("max", time(longest)),
        ]
    }

    /// For programs, the windows that would have sufficed, in milliseconds.
    var windows: [(String, JSON)] {
        [95, 99].map { percent in
            ("window-for-\(percent)", window(catching: percent).map { .milliseconds($0) } ?? .null)
        }
    }

    /// For people; `nil` if there are none.
    var line: String? {
        guard let half = reached(by: 50), let most = reached(by: 95), let nearlyAll = reached(by: 99), let longest
        else {
            return nil
        }
        return
            "50% within \(half.displayText), 95% \(most.displayText), 99% \(nearlyAll.displayText), longest \(longest.displayText) (\(count))"
    }

    /// The windows that would have sufficed, for people.
    var windowText: String {
        [95, 99].map { percent in "\(windowText(catching: percent)) for \(percent) of 100 claims" }
            .joined(separator: ", ")
    }

    func windowText(catching percent: Int) -> String {
        window(catching: percent)?.shortText ?? "none (60 s is the longest there is)"
    }
}
