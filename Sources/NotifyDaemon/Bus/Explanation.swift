import Journal
import Routing
import Systemd

/// The whole decision about an event, as the flat dictionary that `Explain` returns.
struct Explanation {
    private let event: StoredEvent
    private let claims: [ClaimRecord]
    private let deadline: Int64?
    private let isReplayed: Bool

    /// - Parameters:
    ///   - deadline: when the window ends, for an event that is undecided; microseconds since the epoch.
    ///   - isOlder: whether an earlier run of the daemon accepted it.
    init(_ event: StoredEvent, claims: [ClaimRecord], deadline: Int64?, isOlder: Bool) {
        self.event = event
        self.claims = claims
        self.deadline = deadline
        isReplayed = event.decision?.isReplayed ?? isOlder
    }

    func append(to reply: borrowing BusMessage) {
        let decision = event.decision
        reply.appendContainer("a", "{sv}") { entries in
            Self.text("topic", event.topic.description, entries)
            Self.text("route", event.route, entries)
            Self.text("key", event.key, entries)
            Self.moment("published", event.published, entries)
            Self.moment("opened", decision?.opened ?? (event.window > 0 ? event.accepted : nil), entries)
            Self.moment("deadline", decision?.deadline ?? deadline, entries)
            Self.moment("resolved", decision?.resolved, entries)
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
            Self.text("action", decision?.action, entries)
            Self.text("program", decision?.program, entries)
            appendPrograms(to: entries)
            Self.text("sender", event.sender, entries)
            Self.text("source", event.origin.source, entries)
            Self.text("event-id", event.origin.eventID, entries)
            if decision?.isRead == true { entries.appendEntry("read", "b") { $0.append(true) } }
            if isReplayed { entries.appendEntry("replayed", "b") { $0.append(true) } }
        }
    }

    private func appendClaims(to entries: borrowing BusMessage) {
        entries.appendEntry("claims", "a(sxss)") { message in
            message.appendContainer("a", "(sxss)") { list in
                for claim in allClaims {
                    list.appendContainer("r", "sxss") { entry in
                        entry.append(claim.claimant)
                        entry.append(claim.latency.microseconds, as: "x")
                        entry.append(claim.form.rawValue)
                        entry.append(claim.verdict.rawValue)
                    }
                }
            }
        }
    }

    /// What people call the claimants, by their unique names.
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

    /// The claim that decided the event stands with the decision, the others by themselves.
    private var allClaims: [ClaimRecord] {
        guard let decision = event.decision, let claimant = decision.claimant, let latency = decision.latency,
            let form = decision.form
        else { return claims }
        let verdict: Verdict = decision.outcome == .claimed ? .suppressed : .retracted
        let deciding = ClaimRecord(
            claimant: claimant, latency: .microseconds(latency), form: form, verdict: verdict, program: decision.program
        )
        let others = claims.filter { !($0.form == form && $0.claimant == claimant && $0.latency == deciding.latency) }
        return (others + [deciding]).sorted { $0.latency < $1.latency }
    }

    /// Why it is so, as a sentence.
    private var reason: String {
        let window = Duration.microseconds(event.window).text
        guard let decision = event.decision else {
            return "It is undecided: its window is open, or it waits for a notification server."
        }
        let claimant = decision.claimant.map { Self.name($0, decision.program) } ?? "somebody"
        switch decision.outcome {
        case .claimed:
            let after = Duration.microseconds(decision.latency ?? 0)
            let moment = after == .zero ? "as it came in" : "\(Self.text(after)) after it was published"
            return "\(claimant) claimed it (\(decision.form?.rawValue ?? "Claim")) \(moment)."
        case .shown: return failedHold ?? "Nobody claimed it within its window of \(window)."
        case .retracted: return "It was shown, and \(claimant) claimed it afterwards."
        case .dismissed:
            guard let action = decision.action else { return "It was shown, and the user closed the banner." }
            return "It was shown, and the user pressed the button “\(action)”."
        case .silent:
            return decision.cause == Silence.publisher.rawValue
                ? "Its publisher wanted no banner." : "Its route \(event.route) has no banner."
        case .muted:
            let cause = decision.cause.flatMap { MuteCause($0) }
            return cause?.sentence(decided: decision.resolved) ?? "Its topic was muted."
        case .expired: return "Its time to live ended before it could be shown."
        }
    }

    /// For an event that was held to the end of its window: why that came to nothing.
    private var failedHold: String? {
        guard let last = claims.last, let deadline = event.decision?.deadline else { return nil }
        // A hold that ended before the window did changed nothing.
        guard event.accepted + last.latency.microseconds >= deadline else { return nil }
        let claimant = Self.name(last.claimant, last.program)
        switch last.form {
        case .released: return "\(claimant) held it and released it after its window."
        case .ranOut: return "\(claimant) held it and did not confirm it in time."
        case .left: return "\(claimant) held it and left the bus."
        default: return nil
        }
    }

    private static func name(_ claimant: String, _ program: String?) -> String {
        program.map { "\($0) (\(claimant))" } ?? claimant
    }

    /// A length that was measured, to a tenth of a millisecond: nobody reads more in a sentence.
    private static func text(_ duration: Duration) -> String {
        let tenths = (duration.microseconds + 50) / 100
        return tenths == 0 ? "\(duration.microseconds)us" : "\(tenths / 10).\(tenths % 10)ms"
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
