@testable import Routing

/// Pauses and mutes: rule 16 of docs/design.md.
extension ReferenceRouter {
    /// A pause or a mute, and the order in which they were put down.
    struct Standstill {
        let quiet: Quiet
        let stamp: Int
    }

    /// What the schedules hold back that are on and not lifted: for each topic until the latest end.
    var scheduled: [Quiet] {
        let effective = schedules.filter { !lifted.contains($0.period) }
        var topics: [TopicPrefix] = []
        for schedule in effective where !topics.contains(schedule.period.topic) { topics.append(schedule.period.topic) }
        return topics.map { topic in
            Quiet(topic, .schedule, ends: effective.filter { $0.period.topic == topic }.map(\.ends).max())
        }
    }

    /// Inside choice: the pause comes first, and then topics in the order of their bytes, a mute before a schedule.
    var quiet: [Quiet] {
        (quiets.map(\.quiet) + scheduled).sorted { left, right in
            if left.cause == .paused || right.cause == .paused { return left.cause == .paused }
            if left.cause == .desktop || right.cause == .desktop { return left.cause == .desktop }
            if left.topic == right.topic { return left.cause == .muted }
            return Array(left.topic.description.utf8).lexicographicallyPrecedes(Array(right.topic.description.utf8))
        }
    }

    /// The pause, or else the mute or schedule with the longest topic that covers this one.
    func quiet(over topic: Topic) -> Quiet? {
        let covering = quiet.filter { $0.topic.covers(topic) }
        return covering.first { $0.cause == .paused }
            ?? covering.filter { $0.cause != .desktop }
            .max { $0.topic.description.utf8.count < $1.topic.description.utf8.count } ?? covering.first
    }

    /// What holds back the banner of an event: nothing, if its route breaks through or, for the desktop, if it is
    /// critical.
    func quiet(holding item: Item) -> Quiet? {
        let quiet = quiet(over: item.topic)
        if quiet?.cause == .desktop, item.isOwnBanner { return nil }
        return quiet == quietBroken(by: item) ? nil : quiet
    }

    func quietBroken(by item: Item) -> Quiet? {
        let quiet = quiet(over: item.topic)
        return item.route.breaksThrough || quiet?.cause == .desktop && item.isCritical ? quiet : nil
    }

    mutating func desktop(_ isQuiet: Bool) {
        isDesktopQuiet = isQuiet
        let isOn = quiets.contains { $0.quiet.cause == .desktop }
        let isWanted = isQuiet && configuration.banners.followsDesktop
        if isWanted, !isOn { begin(Quiet(.all, .desktop, ends: nil)) }
        if isOn, !isWanted { end(.desktop, .all) }
    }

    mutating func pause(_ flag: Bool) {
        let before = quiets.first { $0.quiet.cause == .paused }
        let isAsWanted = flag ? before.map { $0.quiet.ends == nil } ?? false : before == nil
        if isAsWanted { return }
        quiets.removeAll { $0.quiet.cause == .paused }
        if flag { quiets.append(Standstill(quiet: Quiet(.all, .paused, ends: nil), stamp: stamp())) }
        out.append(.quietChanged)
    }

    mutating func pause(for time: Duration?) {
        out.append(.reply(.done))
        guard let time, time > .zero else { return pause(time != nil) }
        begin(Quiet(.all, .paused, ends: now.uptime + time))
    }

    /// Zero takes back what was muted at this very topic.
    mutating func mute(_ topic: TopicPrefix, for time: Duration) {
        let isThere = quiets.contains { $0.quiet.cause == .muted && $0.quiet.topic == topic }
        if time <= .zero {
            out.append(.reply(.done))
            let periods = schedules.map(\.period).filter { $0.topic == topic && !lifted.contains($0) }
            lifted += periods
            quiets.removeAll { $0.quiet.cause == .muted && $0.quiet.topic == topic }
            if isThere || !periods.isEmpty { out.append(.quietChanged) }
            return
        }
        let count = quiets.filter { $0.quiet.cause == .muted }.count
        if !isThere, count >= limits.mutes { return refuse("LimitExceeded") }
        out.append(.reply(.done))
        begin(Quiet(topic, .muted, ends: now.uptime + time))
    }

    mutating func schedule(_ active: [ActiveSchedule]) {
        let before = (scheduled, lifted)
        schedules = active
        lifted.removeAll { period in !active.contains { $0.period == period } }
        // The order in which schedules are told has no meaning.
        if Set(before.0) != Set(scheduled) || before.1 != lifted { out.append(.quietChanged) }
    }

    private mutating func begin(_ quiet: Quiet) {
        quiets.removeAll { $0.quiet.cause == quiet.cause && $0.quiet.topic == quiet.topic }
        quiets.append(Standstill(quiet: quiet, stamp: stamp()))
        out.append(.quietChanged)
    }

    mutating func end(_ cause: Quiet.Cause, _ topic: TopicPrefix) {
        quiets.removeAll { $0.quiet.cause == cause && $0.quiet.topic == topic }
        out.append(.quietChanged)
    }
}
