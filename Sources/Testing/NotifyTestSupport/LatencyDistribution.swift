/// The distribution of measured times.
package struct LatencyDistribution: CustomStringConvertible {
    private let sorted: [Duration]

    package init?(_ durations: [Duration]) {
        guard !durations.isEmpty else { return nil }
        sorted = durations.sorted()
    }

    package var minimum: Duration { sorted[0] }
    package var maximum: Duration { sorted[sorted.count - 1] }

    package func percentile(_ percent: Int) -> Duration {
        sorted[max(0, (sorted.count * percent + 99) / 100 - 1)]
    }

    package var description: String {
        if sorted.count == 1 { return minimum.milliseconds }
        return "\(minimum.milliseconds) to \(maximum.milliseconds) (p50 \(percentile(50).milliseconds), "
            + "p99 \(percentile(99).milliseconds), \(sorted.count) of them)"
    }
}

extension Scenario {
    /// The delays of banners in a recording.
    package func spread(in recording: Recording) -> LatencyDistribution? {
        var due: [String: [Duration]] = [:]
        for name in ["banner", "update"] {
            for mark in lane(name)?.marks ?? [] {
                due["\(name) \(mark.symbol)", default: []].append(settings.step * mark.column)
            }
        }
        var lateness: [Duration] = []
        for happening in recording.happenings {
            let key = "\(happening.lane) \(happening.occurrence.symbol)"
            if due[key]?.isEmpty == false { lateness.append(happening.at - due[key]!.removeFirst()) }
            if case .after(let length)? = fate(of: happening.occurrence.symbol)?.delay,
                happening.lane == "banner", let published = recording.published[happening.occurrence]
            {
                lateness.append(happening.at - published - length)
            }
        }
        return LatencyDistribution(lateness)
    }
}
