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
    var opened: Int64? {
        (event.decision.map(\.opened) ?? state.opened) ?? (event.window > 0 ? event.accepted : nil)
    }

    func append(to reply: borrowing BusMessage) {
        let decision = event.decision
        reply.appendContainer("a", "{sv}") { entries in
            Self.text("topic", event.topic.description, entries)
            Self.text("route", event.route, entries)
            Self.text("key", event.key, entries)
            Self.moment("published", event.published, entries)
            Self.moment("accepted", event.accepted, entries)
            Self.moment("opened", opened, entries)
            Self.moment("deadline", deadline, entries)
            Self.moment("resolved", decision?.resolved, entries)
            Self.moment("snoozed", snoozeEnd, entries)
            entries.appendEntry("window", "u") {
                $0.append(Duration.microseconds(event.window).millisecondsRoundedUp, as: "u")
            }
            Self.text("outcome", decision?.outcome.rawValue ?? "", entries)
            Self.text("reason", reason, entries)
            appendClaims(to: entries)
            Self.number("banner", decision?.banner, entries)
            Self.number("count", decision?.count.map { UInt32(clamping: $0) }, entries)
            if let lateness = decision?.lateness {
                entries.appendEntry("lateness", "t") { $0.append(UInt64(clamping: lateness), as: "t") }
            }
            Self.text("delay", decision?.delay?.rawValue, entries)
            Self.text("action", decision?.action, entries)
            Self.text("device", decision?.place.device, entries)
            Self.text("program", decision?.program, entries)
            appendPrograms(to: entries)
            Self.text("sender", event.sender, entries)
            Self.text("source", event.origin.source, entries)
            Self.text("event-id", event.origin.eventID, entries)
            Self.text("collapse", event.collapse, entries)
            Self.text("via", event.origin.via, entries)
            if decision?.isRead == true { entries.appendEntry("read", "b") { $0.append(true) } }
            if isReplayed { entries.appendEntry("replayed", "b") { $0.append(true) } }
            if isOfEarlierBoot { entries.appendEntry("earlier-boot", "b") { $0.append(true) } }
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

    private static func text(_ key: String, _ text: String?, _ entries: borrowing BusMessage) {
        guard let text else { return }
        entries.appendEntry(key, "s") { $0.append(text) }
    }

    private static func moment(_ key: String, _ moment: Int64?, _ entries: borrowing BusMessage) {
        guard let moment else { return }
        entries.appendEntry(key, "x") { $0.append(moment, as: "x") }
    }

    private static func number(_ key: String, _ number: UInt32?, _ entries: borrowing BusMessage) {
        guard let number else { return }
        entries.appendEntry(key, "u") { $0.append(number, as: "u") }
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
