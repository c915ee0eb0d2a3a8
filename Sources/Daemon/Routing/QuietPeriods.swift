public import NotifyText

/// A pause of all banners, the desktop's own “do not disturb”, or a mute or a schedule for those at or below a topic.
public struct Quiet: Hashable, Sendable {
    /// What it is.
    public enum Cause: String, Sendable, CaseIterable {
        /// All banners are paused.
        case paused
        /// A topic is muted.
        case muted
        /// A schedule of the configuration is on.
        case schedule
        /// The desktop's own “do not disturb” is on. Critical events come through.
        case desktop
    }

    /// Banners at or below this topic are held back; `all` for a pause and for the desktop.
    public let topic: TopicPrefix
    /// What it is.
    public let cause: Cause
    /// When it ends; `nil` for a pause until it is lifted, and for the desktop.
    public let ends: Uptime?

    public init(_ topic: TopicPrefix, _ cause: Cause, ends: Uptime?) {
        self.topic = topic
        self.cause = cause
        self.ends = ends
    }
}

/// A schedule that is on at one topic. The router does not know the local time: it is told which schedules are on.
public struct ActiveSchedule: Hashable, Sendable {
    /// Names one period of a schedule at one topic, from its beginning to its end. A period that is lifted stays so.
    public struct Period: Hashable, Sendable {
        /// Banners at or below it are held back.
        public let topic: TopicPrefix
        /// When it began: microseconds since the epoch. The router only compares it.
        public let began: Int64

        public init(_ topic: TopicPrefix, began: Int64) {
            self.topic = topic
            self.began = began
        }

        /// All pauses, or all mutes of this topic, until a digest reports them. No schedule begins at that time.
        init(pauseOf topic: TopicPrefix) { self.init(topic, began: .min) }

        /// Whether it is a pause or a mute.
        var isPause: Bool { began == .min }
    }

    /// Which period it is.
    public let period: Period
    /// When it ends; for people. It lasts until the router is told that it is over.
    public let ends: Uptime
    /// Whether a digest follows its end.
    public let hasDigest: Bool

    public init(_ period: Period, ends: Uptime, hasDigest: Bool = false) {
        self.period = period
        self.ends = ends
        self.hasDigest = hasDigest
    }
}

/// The pause of all banners, the mutes of topics and the schedules. They are independent: each ends at its own time or
/// when it is lifted. With them are the digests of what they held back, and the snoozes of events.
struct QuietPeriods {
    typealias TimerID = Router.Timers.LifetimeID

    private struct Period {
        /// `nil`: until it is lifted.
        let ends: Uptime?
        /// Armed for the end.
        let timer: TimerID?
    }

    private var pause: Period?
    private var mutes: [TopicPrefix: Period] = [:]
    /// The schedules that are on, lifted or not.
    private var schedules: [ActiveSchedule] = []
    /// Those of them that are lifted.
    private(set) var lifted: Set<ActiveSchedule.Period> = []
    /// The topics with a schedule that is on and not lifted, each with the latest end.
    private var scheduled: [TopicPrefix: Uptime] = [:]
    /// The periods of the schedules that are on, lifted or not, and whether each has a digest.
    private var on: [ActiveSchedule.Period: Bool] = [:]
    /// The topics of those with a digest, each with the period that counts what is held back there: of several the one
    /// that ends last.
    private var digested: [TopicPrefix: ActiveSchedule.Period] = [:]

    /// Whether the desktop's own “do not disturb” holds banners back.
    private var isDesktopQuiet = false
    /// Whether it is on, followed or not.
    private var isDesktopOn = false

    var digests = Digests()
    var snoozes = Snoozes()
    /// Whether the pause, the mutes or the lifted schedules have changed since `takeChanges`.
    private var hasChanged = false

    /// The digests that are owed for periods which are over, where nothing else covers their topics.
    var dueDigests: [OwedDigest] { digests.all.filter { !isOn($0.period) && covering($0.period.topic) == nil } }

    var isPaused: Bool { pause != nil }
    var pauseTimer: TimerID? { pause?.timer }
    func muteTimer(of topic: TopicPrefix) -> TimerID? { mutes[topic]?.timer }

    private static let desktop = Quiet(.all, .desktop, ends: nil)

    /// The pause first, then the desktop, then mutes and schedules in the byte order of their topics.
    var all: [Quiet] {
        let others =
            mutes.map { Quiet($0.key, .muted, ends: $0.value.ends) }
            + scheduled.map { Quiet($0.key, .schedule, ends: $0.value) }
        return (pause.map { [Quiet(.all, .paused, ends: $0.ends)] } ?? []) + (isDesktopQuiet ? [Self.desktop] : [])
            + others.sorted { $0.topic == $1.topic ? $0.cause == .muted : $0.topic < $1.topic }
    }

    /// What holds back banners for this topic: the pause, or else the nearest mute or schedule at or above it, or else
    /// the desktop.
    func covering(_ topic: Topic) -> Quiet? {
        // The prefix is made only where it is needed.
        if pause == nil, mutes.isEmpty, scheduled.isEmpty { return isDesktopQuiet ? Self.desktop : nil }
        return covering(TopicPrefix(topic))
    }

    /// What holds back all banners at or below a topic.
    func covering(_ topic: TopicPrefix) -> Quiet? {
        if let pause { return Quiet(.all, .paused, ends: pause.ends) }
        var prefix: TopicPrefix? = topic
        while let candidate = prefix {
            if let mute = mutes[candidate] { return Quiet(candidate, .muted, ends: mute.ends) }
            if let ends = scheduled[candidate] { return Quiet(candidate, .schedule, ends: ends) }
            prefix = candidate.parent
        }
        return isDesktopQuiet ? Self.desktop : nil
    }

    // MARK: Changes

    /// The tables that have changed since the last call.
    mutating func takeChanges() -> Tables {
        var tables: Tables = hasChanged ? .quiet : []
        hasChanged = false
        if snoozes.takeChange() { tables.insert(.snoozes) }
        if digests.takeChange() { tables.insert(.digests) }
        return tables
    }

    private mutating func recordChange(_ isChanged: Bool) {
        guard isChanged else { return }
        hasChanged = true
        digests.checkLater()
    }

    /// - Parameter duration: zero for a pause until it is lifted; `nil` lifts it.
    mutating func pause(for duration: Duration?, at now: Uptime, timers: inout Router.Timers) {
        switch duration {
        case nil: recordChange(pause.take() != nil)
        case .zero?:
            recordChange(pause == nil || pause?.ends != nil)
            pause = Period(ends: nil, timer: nil)
        case let duration?:
            pause = Period(ends: now + duration, timer: timers.schedule(.pause, at: now + duration))
            recordChange(true)
        }
    }

    /// - Parameter duration: zero or `nil` ends the mute of exactly this topic, and lifts its schedules until they
    ///   begin again.
    mutating func mute(
        _ topic: TopicPrefix, for duration: Duration?, limit: Int, at now: Uptime, timers: inout Router.Timers
    ) throws(Refusal) {
        guard let duration, duration > .zero else {
            endMute(of: topic)
            return recordChange(lift(schedules.map(\.period).filter { $0.topic == topic }))
        }
        guard mutes[topic] != nil || mutes.count < limit else {
            throw .limitExceeded("mutes: \(limit) topics are muted already; unmute one with 0 seconds")
        }
        mutes[topic] = Period(ends: now + duration, timer: timers.schedule(.mute(topic), at: now + duration))
        recordChange(true)
    }

    mutating func endMute(of topic: TopicPrefix) { recordChange(mutes.removeValue(forKey: topic) != nil) }

    /// - Parameters:
    ///   - isQuiet: whether the desktop's own “do not disturb” is on; `nil`: as before.
    ///   - isFollowed: whether it holds banners back.
    mutating func setDesktop(_ isQuiet: Bool? = nil, isFollowed: Bool) {
        isDesktopOn = isQuiet ?? isDesktopOn
        let before = isDesktopQuiet
        isDesktopQuiet = isDesktopOn && isFollowed
        recordChange(isDesktopQuiet != before)
    }

    /// Restores the pause and mutes of an earlier run, unless this run has newer ones, lifts the schedules that it
    /// lifted, and owes its digests.
    mutating func restore(
        _ restored: Restoration, limits: Limits, at now: Uptime, timers: inout Router.Timers
    ) {
        // Also announces and keeps what ended while the daemon was not running.
        recordChange(lift(restored.liftedSchedules) || !restored.quiet.isEmpty)
        for quiet in restored.quiet where quiet.left.map({ $0 > .zero }) ?? true {
            switch (quiet.cause, quiet.left) {
            case (.paused, let left): if pause == nil { pause(for: left ?? .zero, at: now, timers: &timers) }
            case (.muted, let left?):
                guard mutes[quiet.topic] == nil else { continue }
                // Those beyond the limit are dropped.
                try? mute(quiet.topic, for: left, limit: limits.mutes, at: now, timers: &timers)
            case (.muted, nil), (.schedule, _), (.desktop, _): continue
            }
        }
        if !restored.digests.isEmpty { digests.restore(restored.digests, limit: limits.digests) }
    }

    // MARK: Schedules

    /// - Parameter active: all schedules that are on now.
    mutating func setSchedules(_ active: [ActiveSchedule]) {
        schedules = active
        on = Dictionary(active.map { ($0.period, $0.hasDigest) }) { $0 || $1 }
        recordChange(changeLifted { $0.formIntersection(active.map(\.period)) })
        digests.checkLater()
    }

    /// Lifts those of some periods that are on.
    ///
    /// - Returns: whether anything changed.
    private mutating func lift(_ periods: [ActiveSchedule.Period]) -> Bool {
        let active = Set(schedules.map(\.period))
        return changeLifted { $0.formUnion(periods.filter(active.contains)) }
    }

    /// Whether a period is on and not lifted.
    func isOn(_ period: ActiveSchedule.Period) -> Bool { !lifted.contains(period) && on[period] != nil }

    private mutating func changeLifted(_ change: (inout Set<ActiveSchedule.Period>) -> Void) -> Bool {
        let before = (lifted, scheduled)
        change(&lifted)
        let effective = schedules.filter { !lifted.contains($0.period) }
        scheduled = Dictionary(effective.map { ($0.period.topic, $0.ends) }, uniquingKeysWith: max)
        digested = Dictionary(effective.filter(\.hasDigest).map { ($0.period.topic, $0) }) { left, right in
            (left.ends, left.period.began) < (right.ends, right.period.began) ? right : left
        }.mapValues(\.period)
        return before != (lifted, scheduled)
    }

    // MARK: Digests

    /// Notes that something has held back the banner of an event, also of one whose snooze has ended. The digest does
    /// not count itself.
    ///
    /// - Parameter pauses: whether there are digests of pauses and mutes.
    /// - Returns: the name of the digest that counts the event.
    mutating func oweDigest(of event: Event, heldBackBy quiet: Quiet, pauses: Bool, limit: Int) -> EventID? {
        let period =
            switch quiet.cause {
            case .schedule: digested[quiet.topic]
            case .paused, .muted, .desktop: pauses ? ActiveSchedule.Period(pauseOf: quiet.topic) : nil
            }
        guard event.topic != DigestTally.topic, let period else { return nil }
        return digests.add(event.id, to: period, limit: limit)
    }

    /// - Parameter pauses: whether there are digests of pauses and mutes.
    /// - Returns: whether the due digests are to be counted now.
    mutating func beginCount(pauses: Bool) -> Bool {
        guard digests.takeUnchecked() else { return false }
        // The configuration does not want these any more.
        let unwanted = digests.owed.keys.filter { on[$0] == false || $0.isPause && !pauses }
        for period in unwanted { digests.remove(period) }
        return !dueDigests.isEmpty && digests.beginCount()
    }

    /// - Returns: the digest to publish, if there is one.
    mutating func endCount(_ count: DigestCount) -> Publication? {
        digests.endCount(count, isCurrent: count.digests == dueDigests)
    }
}

/// Pauses, mutes, schedules and the desktop's own “do not disturb” hold banners back. Fan-out and claims go on.
extension Router {
    /// What holds banners back now: the pause first, then the desktop, then mutes and schedules in the byte order of
    /// their topics.
    public var quiet: [Quiet] { quietPeriods.all }
    /// The schedules that are on but lifted, in the byte order of their topics.
    public var liftedSchedules: [ActiveSchedule.Period] { quietPeriods.lifted.sorted { $0.precedes($1) } }
    /// Whether banners are paused.
    public var pausesBanners: Bool { quietPeriods.isPaused }

    /// What holds back the banner of an event now. What is critical comes through as the desktop has it, and through
    /// nothing else. What a publisher shows itself the desktop treats as it wants: taken down, it would be missing in
    /// the desktop's own list.
    func quietHolding(_ event: Event) -> Quiet? {
        guard !event.route.breaksThrough, let quiet = quietPeriods.covering(event.topic) else { return nil }
        let isLeftToDesktop = event.isShownByPublisher || event.shownUrgency == .critical
        return quiet.cause == .desktop && isLeftToDesktop ? nil : quiet
    }

    /// What would hold back the banner of an event if its route did not break through, or if it were not critical.
    func quietBroken(by event: Event) -> Quiet? {
        guard let quiet = quietPeriods.covering(event.topic) else { return nil }
        return event.route.breaksThrough || quiet.cause == .desktop && event.shownUrgency == .critical ? quiet : nil
    }
}
