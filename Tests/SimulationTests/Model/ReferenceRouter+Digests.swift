@testable import Routing

/// The digests of schedules, pauses and mutes.
extension ReferenceRouter {
    /// The period that counts what a schedule of this very topic holds back.
    ///
    /// Inside choice: of several the one that ends last.
    private func period(at topic: TopicPrefix) -> ActiveSchedule.Period? {
        schedules.filter { $0.hasDigest && $0.period.topic == topic && !lifted.contains($0.period) }
            .max { ($0.ends, $0.period.began) < ($1.ends, $1.period.began) }?.period
    }

    var dueDigests: [OwedDigest] {
        let due = owed.filter { digest in
            let isOn = schedules.contains { $0.period == digest.period } && !lifted.contains(digest.period)
            return !isOn && !quiet.contains { $0.topic.covers(digest.period.topic) }
        }
        return Self.sorted(due)
    }

    static func sorted(_ digests: [OwedDigest]) -> [OwedDigest] {
        digests.sorted { left, right in
            if left.period.topic == right.period.topic { return left.period.began < right.period.began }
            return Array(left.period.topic.description.utf8).lexicographicallyPrecedes(
                Array(right.period.topic.description.utf8))
        }
    }

    /// What a schedule holds back is reported later, if it is not a digest itself.
    mutating func muted(_ item: Item, by quiet: Quiet) -> Resolution {
        var resolution = Resolution(.muted)
        resolution.quiet = quiet
        let ofPause =
            configuration.banners.digestsPauses ? ActiveSchedule.Period(quiet.topic, began: .min) : nil
        guard item.topic.description != "/notifyd/digest",
            let period = quiet.cause == .schedule ? period(at: quiet.topic) : ofPause
        else { return resolution }
        let before = owed.first { $0.period == period }
        guard before != nil || owed.count < limits.digests else { return resolution }
        let name = before?.name ?? item.id
        owed.removeAll { $0.period == period }
        owed.append(OwedDigest(period, name: name, first: min(item.id, before?.first ?? item.id)))
        resolution.digest = name
        return resolution
    }

    mutating func digestsCounted(_ count: DigestCount) {
        isCounting = false
        guard count.digests == dueDigests else {
            isCountDue = true
            return out.append(.reply(.done))
        }
        switch count.result {
        case .none:
            owed.removeAll { count.digests.contains($0) }
            out.append(.reply(.done))
        case .quiet: out.append(.reply(.done))
        case .found(let publication):
            publish(publication)
            guard case .reply(.accepted(let id)) = out.first else {
                digestRetry = Moment(at: now.instant + .seconds(10), stamp: stamp())
                return
            }
            owed.removeAll { count.digests.contains($0) }
            toldDigests = (id, count.digests)
        }
    }

    /// The digest is among events that could not be kept: its time comes again.
    mutating func takeBackDigests(_ ids: [EventID]) {
        if let toldDigests, ids.contains(toldDigests.by) {
            for digest in toldDigests.digests where !owed.contains(where: { $0.period == digest.period }) {
                owed.append(digest)
            }
            isCountDue = true
        }
        toldDigests = nil
    }

    /// - Parameter isChanged: whether schedules were told, or what is quiet has changed.
    mutating func askForCount(_ isChanged: Bool) {
        guard isChanged || isCountDue else { return }
        isCountDue = false
        owed.removeAll { digest in
            let same = schedules.filter { $0.period == digest.period }
            if digest.period.began == .min, !configuration.banners.digestsPauses { return true }
            return !same.isEmpty && same.allSatisfy { !$0.hasDigest }
        }
        if !isCounting, !dueDigests.isEmpty {
            isCounting = true
            out.append(.countDigests)
        }
    }
}
