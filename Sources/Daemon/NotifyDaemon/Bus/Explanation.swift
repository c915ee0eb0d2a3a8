import Journal
import Routing
import Systemd

/// The decision about an event, as the dictionary that `Explain` returns.
struct Explanation {
    /// The state of an undecided event.
    struct State {
        /// `nil` before it is announced again.
        var progress: Progress?
        /// When its window was opened, and when it ends or ended; microseconds since the epoch.
        var opened: Int64?
        var deadline: Int64?
        /// Whether an earlier run of the daemon accepted it.
        var isReplayed = false
        /// Whether that was before the last boot.
        var isOfEarlierBoot = false
    }

    let event: StoredEvent
    /// Claims that are stored beside the event.
    let claims: [ClaimRecord]
    let state: State
    /// When its banner is due again, in microseconds since the epoch, if it is snoozed.
    var snoozeEnd: Int64?
    /// Whether its route waits for screens only, as the configuration has it now.
    var waitsForScreens = false
    var isReplayed: Bool { event.decision?.isReplayed ?? state.isReplayed }
    var isOfEarlierBoot: Bool { event.decision?.isOfEarlierBoot ?? state.isOfEarlierBoot }
    var deadline: Int64? { event.decision.map(\.deadline) ?? state.deadline }

    /// When its window was opened; `nil` if it had none.
    var opened: Int64? { (event.decision.map(\.opened) ?? state.opened) ?? (event.window > 0 ? event.accepted : nil) }

    func append(to reply: borrowing BusMessage) {
        let decision = event.decision
        reply.appendContainer("a", "{sv}") { entries in
            entries.appendEntry("topic", event.topic.description)
            entries.appendEntry("route", event.route)
            entries.appendEntry("key", event.key)
            entries.appendEntry("published", event.published, as: "x")
            entries.appendEntry("accepted", event.accepted, as: "x")
            entries.appendEntry("opened", opened, as: "x")
            entries.appendEntry("deadline", deadline, as: "x")
            entries.appendEntry("resolved", decision?.resolved, as: "x")
            entries.appendEntry("snoozed", snoozeEnd, as: "x")
            entries.appendEntry("window", Duration.microseconds(event.window).millisecondsRoundedUp, as: "u")
            entries.appendEntry("outcome", decision?.outcome.rawValue ?? "")
            entries.appendEntry("reason", reason)
            appendClaims(to: entries)
            entries.appendEntry("banner", decision?.banner, as: "u")
            entries.appendEntry("count", decision?.count.map { UInt32(clamping: $0) }, as: "u")
            entries.appendEntry("lateness", decision?.lateness.map { UInt64(clamping: $0) }, as: "t")
            entries.appendEntry("delay", decision?.delay?.rawValue)
            entries.appendEntry("action", decision?.action)
            entries.appendEntry("device", decision?.place.device)
            entries.appendEntry("program", decision?.program)
            appendPrograms(to: entries)
            entries.appendEntry("sender", event.sender)
            entries.appendEntry("source", event.origin.source)
            entries.appendEntry("event-id", event.origin.eventID)
            entries.appendEntry("collapse", event.collapse)
            entries.appendEntry("via", event.origin.via)
            entries.appendEntry("read", decision?.isRead == true)
            entries.appendEntry("replayed", isReplayed)
            entries.appendEntry("earlier-boot", isOfEarlierBoot)
        }
    }

    /// The latency of a claim where it is unknown.
    private static let unknownTime: Int64 = -1

    private func appendClaims(to entries: borrowing BusMessage) {
        entries.appendEntry("claims", "a(sxss)") { message in
            message.appendContainer("a", "(sxss)") { list in
                for claim in allClaims {
                    list.appendContainer("r", "sxss") { entry in
                        entry.append(claim.claimant)
                        entry.append(claim.latency?.microseconds ?? Self.unknownTime, as: "x")
                        entry.append(claim.form.rawValue)
                        entry.append(claim.verdict.rawValue)
                    }
                }
            }
        }
    }

    /// Program names of the claimants, by unique name.
    private func appendPrograms(to entries: borrowing BusMessage) {
        let named = allClaims.compactMap { claim in claim.program.map { (claim.claimant, $0) } }
        guard !named.isEmpty else { return }
        let programs = Dictionary(named) { _, last in last }.sorted { $0.key < $1.key }
        entries.appendEntry("programs", "a{ss}") { message in
            message.appendContainer("a", "{ss}") { list in
                for (claimant, program) in programs {
                    list.appendContainer("e", "ss") { entry in
                        entry.append(claimant)
                        entry.append(program)
                    }
                }
            }
        }
    }

    /// Every step of every claim, in order. The deciding claim is stored in the decision, the others beside the event.
    var allClaims: [ClaimRecord] {
        guard let decision = event.decision, let claimant = decision.claimant, let form = decision.form,
            let verdict = decision.verdict
        else { return claims }
        let latency = decision.latency.map { Duration.microseconds($0) }
        // A confirmed provisional claim is among the others already.
        if form == .provisional, claims.contains(where: { $0.isSame(form, by: claimant, after: latency) }) {
            return claims
        }
        let deciding = ClaimRecord(
            claimant: claimant, latency: latency, form: form, verdict: verdict, program: decision.program)
        var all = claims
        all.insert(deciding, at: claims.firstIndex { deciding.isBefore($0) } ?? claims.endIndex)
        return all
    }
}

extension ClaimRecord {
    fileprivate func isSame(_ form: ClaimForm, by claimant: String, after latency: Duration?) -> Bool {
        self.form == form && self.claimant == claimant && self.latency == latency
    }

    /// Whether this claim, which decided the event, was made before another step.
    fileprivate func isBefore(_ step: ClaimRecord) -> Bool {
        if let latency, let other = step.latency { return latency < other }
        // With an unknown latency, only claims without effect come after it.
        return step.form == .claim
    }
}
