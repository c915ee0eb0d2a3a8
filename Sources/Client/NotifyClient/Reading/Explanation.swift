public import NotifyText

/// The decision of the daemon about one event, and the steps that led to it.
///
/// Points in time are microseconds since 1970-01-01 00:00 UTC.
public struct Explanation: Hashable, Sendable {
    /// A step of a claim.
    public struct Claim: Hashable, Sendable {
        /// The claimant's unique name on the bus.
        public var by: String
        /// From publishing to this step; `nil` if the machine was restarted in between, because no clock measures that.
        public var after: Duration?
        /// The kind of the step: the call, `Claim`, `ClaimNamed`, `ClaimProvisionally`, `ClaimTopic`, `OpenScreen` or
        /// `MarkRead`; `Snooze`, which is not a claim; or how a provisional claim ended, `Complete`, `Release`,
        /// `ranout` (not confirmed in time) or `left` (its connection left the bus).
        public var form: String
        /// The verdict that the claimant got; `recorded` for `Release`, `ranout` and `left`.
        public var verdict: Verdict
        /// The app, unit or command of the claimant, for people. It does not identify a program.
        public var program: String?

        /// Whether it ends a provisional claim without deciding the event.
        package var isEnd: Bool { ["Release", "ranout", "left"].contains(form) }

        /// Whether it puts the banner off, and claims nothing.
        package var isSnooze: Bool { form == "Snooze" }

        /// Whether it begins or ends a provisional claim.
        fileprivate var isPartOfHold: Bool {
            isEnd || form == "Complete" || form == "ClaimProvisionally" && verdict != .recorded
        }

        /// How long after publishing a claim can answer an event whose window is shorter. Later, somebody has found the
        /// event, in the inbox for example, and no window would have waited for that.
        private static let longestAnswer = Duration.seconds(2)

        /// Whether the claim answers the event, so that its latency says how long a window must be. A claim of a whole
        /// topic can come at any time later and only says when a screen was opened; an open screen answers at once.
        ///
        /// - Parameters:
        ///   - time: from publishing to the claim; `nil` if unknown.
        ///   - window: that of the event; `nil` if unknown.
        package static func isAnswer(_ form: String, after time: Duration?, window: Duration?) -> Bool {
            if time == .zero { return true }
            guard form == "Claim" || form == "ClaimProvisionally" else { return false }
            return time.map { $0 <= max(longestAnswer, window ?? .zero) } ?? true
        }
    }

    /// The claims, without snoozes, without the steps that end provisional claims and without claims that failed. A
    /// restart of the daemon ends a provisional claim without a step.
    package var effectiveClaims: [Claim] {
        claims.indices.filter { index in
            let claim = claims[index]
            if claim.isEnd || claim.form == "Complete" || claim.isSnooze { return false }
            guard claim.form == "ClaimProvisionally" else { return true }
            let next = claims[(index + 1)...].first { $0.by == claim.by && $0.isPartOfHold }
            if let next { return next.form == "Complete" }
            // Where its confirmation is not kept, it decided the event if nothing else did.
            return outcome == .claimed && claim.verdict != .recorded
                && !claims[(index + 1)...].contains { $0.verdict != .recorded }
        }.map { claims[$0] }
    }

    /// The claim that decided the outcome, whatever its verdict.
    package var decidingClaim: Claim? {
        guard outcome == .claimed || outcome == .retracted else { return nil }
        let claims = effectiveClaims
        return claims.last { $0.verdict != .recorded } ?? claims.first { $0.form != "ClaimProvisionally" }
    }

    /// Whether a claim changed a banner or the outcome.
    package func isOfUse(_ claim: Claim) -> Bool { claim.verdict != .recorded || claim == decidingClaim }

    /// The claims that answered the event and changed something. After a restart of notifyd their latencies include the
    /// restart.
    package var answers: [Claim] {
        isReplayed
            ? []
            : effectiveClaims.filter { isOfUse($0) && Claim.isAnswer($0.form, after: $0.after, window: window) }
    }

    /// The event that is explained.
    public var id: EventID
    /// Where it belongs.
    public var topic: String
    /// The route that applied: its pattern, or `default`.
    public var route: String
    /// The coalescing key: events with the same key share a window and a banner.
    public var key: String
    /// When it happened according to its publisher; otherwise when it was accepted.
    public var published: Int64
    /// When the daemon accepted it; `nil` with an older daemon.
    public var accepted: Int64?
    /// When the window of its key was opened; `nil` when there was none.
    public var opened: Int64?
    /// When the window ended, or will end.
    public var deadline: Int64?
    /// When the event got its current outcome.
    public var resolved: Int64?
    /// The length of the window.
    public var window: Duration = .zero
    /// `nil` while the event is undecided.
    public var outcome: Outcome.Kind?
    /// The reason for the outcome, in a sentence.
    public var reason = ""
    /// In the order in which they were made.
    public var claims: [Claim] = []
    /// The id the notification server gave the banner.
    public var banner: UInt32?
    /// How many events the banner stands for.
    public var count: Int?
    /// How long after the deadline the banner was requested.
    public var lateness: Duration?
    /// What the banner waited for in that time; `nil` if nothing.
    public var delay: BannerDelay?
    /// The key of the button that closed the banner.
    public var action: String?
    /// The unique name of the publisher on the bus.
    public var sender: String?
    /// The publisher's name for the source of the event.
    public var source: String?
    /// The publisher's own id within ``source``.
    public var eventID: String?
    /// Whether the event was announced again after a restart of the daemon.
    public var isReplayed = false
    /// Whether the machine was restarted after the event was published and before it was decided. No clock measures
    /// latencies then.
    public var isOfEarlierBoot = false
    /// Whether an event that was never shown is marked as read; its outcome stays `muted` or `expired`.
    public var isRead = false
    /// What it takes, or took, the place of: ``PublishOptions/collapse``.
    public var collapse: String?
    /// The line by which a bridge brought it: ``PublishOptions/via``.
    public var via: String?
    /// When the banner of a snoozed event comes back; `nil` if it is not snoozed.
    public var snoozed: Int64?
    /// Where it was claimed, for people, if that was on another device.
    public var device: String?
}

extension Explanation {
    /// From the dictionary that `Explain` answers with.
    package init?(_ id: EventID, _ record: [String: Value]) {
        guard let topic = record["topic"]?.string, let published: Int64 = record["published"]?.integer() else {
            return nil
        }
        let outcome = record["outcome"]?.string ?? ""
        let programs = record["programs"]?.entries ?? [:]
        self.init(
            id: id, topic: topic, route: record["route"]?.string ?? "", key: record["key"]?.string ?? "",
            published: published, accepted: record["accepted"]?.integer(), opened: record["opened"]?.integer(),
            deadline: record["deadline"]?.integer(),
            resolved: record["resolved"]?.integer(),
            window: .milliseconds(record["window"]?.integer(as: UInt32.self) ?? 0),
            outcome: outcome.isEmpty ? nil : Outcome.Kind(rawValue: outcome), reason: record["reason"]?.string ?? "",
            claims: record["claims"]?.elements?.compactMap { Claim($0, programs) } ?? [],
            banner: record["banner"]?.integer(),
            count: record["count"]?.integer(),
            lateness: record["lateness"]?.integer().map { Duration(microseconds: $0) },
            delay: record["delay"]?.string.map(BannerDelay.init), action: record["action"]?.string,
            sender: record["sender"]?.string, source: record["source"]?.string,
            eventID: record["event-id"]?.string,
            isReplayed: record["replayed"]?.boolean ?? false,
            isOfEarlierBoot: record["earlier-boot"]?.boolean ?? false, isRead: record["read"]?.boolean ?? false,
            collapse: record["collapse"]?.string, via: record["via"]?.string,
            snoozed: record["snoozed"]?.integer(), device: record["device"]?.string)
    }
}

extension Explanation.Claim {
    /// From an entry of `claims`: `s x s s`, and from what claimants are called.
    fileprivate init?(_ entry: Value, _ programs: [String: Value]) {
        guard let members = entry.elements, members.count >= 4,
            let by = members[0].string, let after: Int64 = members[1].integer(),
            let form = members[2].string, let verdict = members[3].string
        else { return nil }
        self.init(
            by: by, after: after < 0 ? nil : .microseconds(after), form: form, verdict: Verdict(rawValue: verdict),
            program: programs[by]?.string)
    }
}
