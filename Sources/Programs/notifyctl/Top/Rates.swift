/// Rates from the daemon's own counters, which include events whose signals were missed.
struct Rates: Sendable {
    struct PerSecond: Hashable, Sendable {
        /// Events accepted.
        var events: Double
        /// Events claimed in time.
        var claimed: Double
        /// Banners requested, including updates.
        var banners: Double
    }

    private struct Sample: Sendable {
        let time: Duration
        let published: UInt64
        let claimed: UInt64
        let banners: UInt64
    }

    private static let span = Duration.seconds(10)

    /// In order of time. At most the first one is older than the span.
    private var samples: [Sample] = []

    mutating func note(_ statistics: [String: UInt64], at now: Duration) {
        let sample = Sample(
            time: now, published: statistics["published"] ?? 0, claimed: statistics["claimed"] ?? 0,
            banners: statistics["banner-calls"] ?? 0)
        // A restarted daemon counts from 0.
        if let last = samples.last,
            sample.published < last.published || sample.claimed < last.claimed || sample.banners < last.banners
        {
            samples = []
        }
        samples.append(sample)
        while samples.count > 2, samples[1].time <= now - Self.span { samples.removeFirst() }
    }

    /// Over the last ten seconds, or since the first sample; `nil` before the second sample.
    var perSecond: PerSecond? {
        guard let first = samples.first, let last = samples.last, last.time > first.time else { return nil }
        let time = (last.time - first.time) / .seconds(1)
        return PerSecond(
            events: Double(last.published - first.published) / time,
            claimed: Double(last.claimed - first.claimed) / time,
            banners: Double(last.banners - first.banners) / time)
    }
}
