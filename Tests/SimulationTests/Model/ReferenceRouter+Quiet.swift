@testable import Routing

/// Pauses and mutes: section 13 of the design.
extension ReferenceRouter {
    /// A pause or a mute, and the order in which they were put down.
    struct Standstill {
        let quiet: Quiet
        let stamp: Int
    }

    /// Inside choice: the pause comes first, and then topics in the order of their bytes.
    var quiet: [Quiet] {
        quiets.map(\.quiet).sorted { left, right in
            if left.cause != right.cause { return left.cause == .paused }
            return Array(left.topic.description.utf8).lexicographicallyPrecedes(Array(right.topic.description.utf8))
        }
    }

    /// The pause, or else the mute with the longest topic that covers this one.
    func quiet(over topic: Topic) -> Quiet? {
        let covering = quiets.map(\.quiet).filter { $0.topic.covers(topic) }
        return covering.first { $0.cause == .paused }
            ?? covering.max { $0.topic.description.utf8.count < $1.topic.description.utf8.count }
    }

    /// What holds back the banner of an event: nothing, if its route breaks through.
    func quiet(holding item: Item) -> Quiet? { item.route.breaksThrough ? nil : quiet(over: item.topic) }

    func muted(by quiet: Quiet) -> Resolution {
        var resolution = Resolution(.muted)
        resolution.quiet = quiet
        return resolution
    }

    mutating func pause(_ flag: Bool) {
        let before = quiets.first { $0.quiet.cause == .paused }
        let isAsWanted = flag ? before.map { $0.quiet.ends == nil } ?? false : before == nil
        if isAsWanted { return }
        quiets.removeAll { $0.quiet.cause == .paused }
        if flag { quiets.append(Standstill(quiet: Quiet(.all, .paused, ends: nil), stamp: stamp())) }
        out.append(.quietChanged)
    }

    mutating func pause(for time: Duration) {
        out.append(.reply(.done))
        if time <= .zero { return pause(true) }
        begin(Quiet(.all, .paused, ends: now.uptime + time))
    }

    /// Zero takes back what was muted at this very topic.
    mutating func mute(_ topic: TopicPrefix, for time: Duration) {
        let isThere = quiets.contains { $0.quiet.cause == .muted && $0.quiet.topic == topic }
        if time <= .zero {
            out.append(.reply(.done))
            if isThere { end(.muted, topic) }
            return
        }
        let count = quiets.filter { $0.quiet.cause == .muted }.count
        if !isThere, count >= limits.mutes { return refuse("LimitExceeded") }
        out.append(.reply(.done))
        begin(Quiet(topic, .muted, ends: now.uptime + time))
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
