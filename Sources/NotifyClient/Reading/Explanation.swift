/// How the daemon came to its decision about one event.
///
/// Moments are microseconds since 1970-01-01 00:00 UTC.
public struct Explanation: Hashable, Sendable {
    /// A step of a claim.
    public struct Claim: Hashable, Sendable {
        /// The claimant's unique name on the bus.
        public var by: String
        /// From publishing to this step.
        public var after: Duration
        /// What step it is: the call it was made by, `Claim`, `ClaimProvisionally`, `ClaimTopic`, `OpenScreen` or
        /// `MarkRead`; or how a
        /// provisional claim ended, `Complete`, `Release`, `ranout` (not confirmed in time) or `left` (its connection
        /// left the bus).
        public var form: String
        /// What the claimant was answered; `recorded` for `Release`, `ranout` and `left`.
        public var verdict: Verdict
        /// What people call the claimant: its app, its unit or its command. It identifies nothing.
        public var program: String?

        public init(by: String, after: Duration, form: String, verdict: Verdict, program: String? = nil) {
            self.by = by
            self.after = after
            self.form = form
            self.verdict = verdict
            self.program = program
        }

        /// Whether it ends a provisional claim without deciding the event.
        package var isEnd: Bool { ["Release", "ranout", "left"].contains(form) }

        /// Whether a claim made like this answers the event, so that its time says how long a window must be. One for all
        /// of a topic, at any time later, says only when a screen was opened; one that stood already answers at once.
        package static func isAnswer(_ form: String, after time: Duration) -> Bool {
            form == "Claim" || form == "ClaimProvisionally" || form == "ClaimNamed" || time == .zero
        }
    }

    /// The claims, without the steps by which provisional ones end, and without those that came to nothing.
    package var effectiveClaims: [Claim] {
        claims.indices.filter { index in
            let claim = claims[index]
            if claim.isEnd || claim.form == "Complete" { return false }
            guard claim.form == "ClaimProvisionally" else { return true }
            let next = claims[(index + 1)...].first { $0.by == claim.by && ($0.isEnd || $0.form == "Complete") }
            return next?.isEnd != true
        }.map { claims[$0] }
    }

    /// The claims that answered the event and changed something.
    package var answers: [Claim] {
        effectiveClaims.filter { $0.verdict != .recorded && Claim.isAnswer($0.form, after: $0.after) }
    }

    /// The event that is explained.
    public var id: EventID
    /// Where it belongs.
    public var topic: String
    /// The route that applied: its pattern, or `default`.
    public var route: String
    /// What the event shared its window and its banner with.
    public var key: String
    /// When it happened, as its publisher said; else when it was accepted.
    public var published: Int64
    /// When the window of its key was opened; `nil` when there was none.
    public var opened: Int64?
    /// When the window ended, or is to end.
    public var deadline: Int64?
    /// When the outcome became what it is.
    public var resolved: Int64?
    /// How long claims were awaited.
    public var window: Duration
    /// `nil` while the event is undecided.
    public var outcome: Outcome.Kind?
    /// Why it is so, in a sentence.
    public var reason: String
    /// In the order in which they were made.
    public var claims: [Claim]
    /// The id the notification server gave the banner.
    public var banner: UInt32?
    /// How many events the banner stands for.
    public var count: Int?
    /// How long after the deadline the banner was asked for.
    public var lateness: Duration?
    /// The key of the button that closed the banner.
    public var action: String?
    /// The unique name of the publisher on the bus.
    public var sender: String?
    /// The publisher's own name for where the event comes from.
    public var source: String?
    /// The publisher's own id within ``source``.
    public var eventID: String?
    /// Whether the event was announced again after a restart of the daemon.
    public var isReplayed: Bool
    /// Whether somebody has seen an event that was never shown; its outcome stays `muted` or `expired`.
    public var isRead: Bool

    public init(
        id: EventID, topic: String, route: String, key: String, published: Int64, opened: Int64? = nil,
        deadline: Int64? = nil, resolved: Int64? = nil, window: Duration = .zero, outcome: Outcome.Kind? = nil,
        reason: String = "", claims: [Claim] = [], banner: UInt32? = nil, count: Int? = nil, lateness: Duration? = nil,
        action: String? = nil, sender: String? = nil, source: String? = nil, eventID: String? = nil,
        isReplayed: Bool = false, isRead: Bool = false
    ) {
        self.id = id
        self.topic = topic
        self.route = route
        self.key = key
        self.published = published
        self.opened = opened
        self.deadline = deadline
        self.resolved = resolved
        self.window = window
        self.outcome = outcome
        self.reason = reason
        self.claims = claims
        self.banner = banner
        self.count = count
        self.lateness = lateness
        self.action = action
        self.sender = sender
        self.source = source
        self.eventID = eventID
        self.isReplayed = isReplayed
        self.isRead = isRead
    }
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
            published: published, opened: record["opened"]?.integer(), deadline: record["deadline"]?.integer(),
            resolved: record["resolved"]?.integer(),
            window: .milliseconds(record["window"]?.integer(as: UInt32.self) ?? 0),
            outcome: outcome.isEmpty ? nil : Outcome.Kind(rawValue: outcome), reason: record["reason"]?.string ?? "",
            claims: record["claims"]?.elements?.compactMap { Claim($0, programs) } ?? [],
            banner: record["banner"]?.integer(),
            count: record["count"]?.integer(),
            lateness: record["lateness"]?.integer().map { Duration(microseconds: $0) },
            action: record["action"]?.string, sender: record["sender"]?.string, source: record["source"]?.string,
            eventID: record["event-id"]?.string,
            isReplayed: record["replayed"]?.boolean ?? false, isRead: record["read"]?.boolean ?? false)
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
            by: by, after: .microseconds(after), form: form, verdict: Verdict(rawValue: verdict),
            program: programs[by]?.string)
    }
}
