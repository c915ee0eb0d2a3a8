/// Rates from the daemon's own counters, which include events whose signals were missed.
struct Rates: Sendable {
    struct PerSecond: Hashable, Sendable {
        var events: Double
        /// Events claimed in time.
        var claimed: Double
        /// Banners requested, including updates.
        var banners: Double
    }

    private static let counters = ["published", "claimed", "banner-calls"]
    private static let span = Duration.seconds(10)

    /// In order of time. At most the first one is older than the span.
    private var samples: [(time: Duration, counts: [UInt64])] = []

    mutating func note(_ statistics: [String: UInt64], at now: Duration) {
        let counts = Self.counters.map { statistics[$0] ?? 0 }
        // A restarted daemon counts from 0.
        if let last = samples.last, zip(counts, last.counts).contains(where: <) { samples = [] }
        samples.append((now, counts))
        while samples.count > 2, samples[1].time <= now - Self.span { samples.removeFirst() }
    }

    /// Over the last ten seconds, or since the first sample; `nil` before the second sample.
    var perSecond: PerSecond? {
        guard let first = samples.first, let last = samples.last, last.time > first.time else { return nil }
        let rates = zip(first.counts, last.counts).map { Double($1 - $0) / ((last.time - first.time) / .seconds(1)) }
        return PerSecond(events: rates[0], claimed: rates[1], banners: rates[2])
    }
}
