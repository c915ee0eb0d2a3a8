import Journal
import NotifyText
import Routing

/// The decision as a sentence or two.
extension Explanation {
    var reason: String {
        guard let decision = event.decision else { return undecided }
        return [outcomeReason(decision), brokenThrough(decision), readElsewhere(decision), snoozed].compactMap(\.self)
            .joined(separator: " ")
    }

    private func outcomeReason(_ decision: StoredDecision) -> String {
        let claimant = decision.claimant.map { Self.name($0, decision.program) } ?? "somebody"
        if let elsewhere = reasonElsewhere(decision, passedOnBy: claimant) { return elsewhere }
        switch decision.outcome {
        case .claimed where decision.form == .provisional && confirmation(of: decision) != nil:
            let confirmed = confirmation(of: decision)?.displayText ?? ""
            return "\(claimant) held it \(Self.moment(ofClaim: decision)), and confirmed it after \(confirmed)."
        case .claimed where decision.action != nil, .retracted where decision.action != nil:
            let isUser = shownByPublisher != nil && decision.claimant == event.sender
            return "\(shownBefore)\(isUser ? "The user" : claimant) pressed its button “\(decision.action ?? "")”."
        case .claimed:
            return "\(claimant) claimed it (\(decision.form?.rawValue ?? "Claim")) \(Self.moment(ofClaim: decision))."
        case .shown where cameBack:
            return [returned(decision), late(decision)].compactMap(\.self).joined(separator: " ")
        case .shown:
            let hold = claims.last { $0.form.isFailure }
            // A hold that ended in the window does not explain the banner, but whoever held it may look for it here.
            let isDueToHold = hold.map { reachedDeadline($0, of: decision) } ?? false
            return [isDueToHold ? nil : unclaimed(decision), hold.map(Self.words), late(decision), shownByPublisher]
                .compactMap(\.self).joined(separator: " ")
        case .retracted where decision.lateness == nil:
            return "\(claimant) claimed it after it was sent to the notification server, which had not answered yet."
        case .retracted:
            let rest =
                decision.verdict == .recorded
                ? " No banner was closed for it: it was gone, or showed other events too." : ""
            return "It was shown, and \(claimant) claimed it afterwards.\(rest)"
        case .dismissed:
            guard let action = decision.action else { return "It was shown, and the user closed the banner." }
            return "It was shown, and the user pressed the button “\(action)”."
        case .silent:
            switch decision.cause.flatMap({ Silence(rawValue: $0) }) {
            case .publisher: return "Its publisher wanted no banner."
            case .newerValue: return "It came too late: its topic already had a newer value or removal."
            case .route, nil: return "Its route \(event.route) has no banner."
            }
        case .muted where decision.cause == nil && snooze != nil: return "It was shown, and \(snoozer) snoozed it."
        case .muted:
            let cause = decision.cause.flatMap { MuteCause($0) }
            let sentence = cause?.sentence(decided: decision.resolved) ?? "Its topic was muted."
            return cameBack ? "Its snooze was over, and banners were held back. \(sentence)" : sentence
        case .expired where event.expires.wall <= event.accepted:
            return "It came with no time to live, so it gets no banner."
        case .expired: return "Its time to live ended before it could be shown."
        case .withdrawn: return "\(shownBefore)\(claimant) withdrew it."
        case .replaced:
            let successor = decision.successor.map { "Event \($0)" } ?? "A later event"
            return "\(shownBefore)\(successor) with the same collapse took its place."
        }
    }

    /// The decision by a claim that was made on another device: `ClaimNamed`. A publisher that shows the banner itself
    /// says by it what the user does with that here.
    private func reasonElsewhere(_ decision: StoredDecision, passedOnBy claimant: String) -> String? {
        guard decision.form == .named else { return nil }
        let isHere = shownByPublisher != nil && decision.place == ClaimPlace()
        let place = isHere ? "" : " on \(decision.place.device ?? "another device")"
        let bearer = "\(claimant) \(isHere ? "said so" : "passed that on")"
        switch decision.outcome {
        case .claimed where decision.latency == 0: return "It was claimed\(place) before it came in; \(bearer)."
        case .claimed: return "It was claimed\(place); \(bearer) \(Self.moment(ofClaim: decision))."
        case .retracted where decision.lateness == nil:
            return "It was claimed\(place) after it was sent to the notification server, which had not answered yet; "
                + "\(bearer)."
        case .retracted: return "It was shown, and claimed\(place) afterwards; \(bearer)."
        case .dismissed: return "It was shown, and the user closed its banner\(place); \(bearer)."
        case .withdrawn: return "\(shownBefore)It was withdrawn\(place); \(bearer)."
        case .shown, .silent, .muted, .expired, .replaced: return nil
        }
    }

    private func readElsewhere(_ decision: StoredDecision) -> String? {
        guard decision.isRead, let device = decision.place.device else { return nil }
        return "It was marked as read on \(device)."
    }

    /// The pause or mute in spite of which it was shown.
    private func brokenThrough(_ decision: StoredDecision) -> String? {
        decision.brokenThrough.flatMap { MuteCause($0) }.map { quiet in
            let isCritical = quiet.cause == .desktop && event.urgency == .critical
            return quiet.sentence(decided: decision.resolved)
                + (isCritical ? " It is critical." : " Its route breaks through.")
        }
    }

    private var snoozed: String? {
        snoozeEnd.map {
            "It is snoozed: its banner comes back at \(LocalTime($0).text(on: LocalTime(event.accepted)))."
        }
    }

    /// Whether its banner was due again after a snooze. What happened before is not in the journal any more.
    private var cameBack: Bool { snoozeEnd == nil && snooze != nil }

    private func returned(_ decision: StoredDecision) -> String {
        // A shown event is muted by the snooze itself if its publisher shows it.
        let isMuted = decision.wasMuted && shownByPublisher == nil
        return "\(isMuted ? "It was muted" : "It was shown"), \(snoozer) snoozed it, and its banner came back."
    }

    private var snooze: ClaimRecord? { claims.last { $0.form == .snooze } }
    private var snoozer: String { snooze.map { Self.name($0.claimant, $0.program) } ?? "somebody" }

    /// How long after publishing a provisional claim that decided the event was confirmed; `nil` if the journal does
    /// not have it.
    private func confirmation(of decision: StoredDecision) -> Duration? {
        claims.last { $0.form == .completed && $0.claimant == decision.claimant }?.latency
    }

    private var shownBefore: String {
        event.decision?.banner == nil && event.decision?.lateness == nil ? "" : "It was shown. "
    }

    // MARK: Undecided

    private var undecided: String {
        switch state.progress {
        case nil: "notifyd has not announced it again since its restart."
        case .window: "Its window is open."
        case .held(let holder): "\(Self.name(holder, program(of: holder))) holds it and has not confirmed it yet."
        case .asked: "Nobody claimed it, and the notification server has been asked to show it."
        case .waiting(let delay): "Nobody claimed it, and its banner waits\(Self.waiting(for: delay))."
        }
    }

    private func program(of claimant: String) -> String? {
        claims.last { $0.claimant == claimant && $0.program != nil }?.program
    }

    private static func waiting(for delay: BannerDelay?) -> String {
        switch delay {
        case nil: ""
        case .absent: ": there is no notification server"
        case .resting, .failed: ": the notification server has failed several times and is left alone for a while"
        case .limited: ": there were too many banners in a second"
        case .busy: ": the notification server has not answered an earlier call"
        }
    }

    // MARK: Shown

    private var shownByPublisher: String? {
        Appearance.isOwnBanner(event.appearance) ? "Its publisher was told to show the banner." : nil
    }

    private func unclaimed(_ decision: StoredDecision) -> String {
        if isReplayed, let opened = decision.opened, let deadline = decision.deadline {
            let again = Duration.microseconds(deadline - opened)
            return "Nobody claimed it in the \(again.displayText) that it had after a restart of notifyd."
        }
        if event.window == 0 {
            return waitsForScreens
                ? "Its route waits for screens only, and no screen covered its topic."
                : "Its window was 0, so nobody was waited for."
        }
        return "Nobody claimed it within its window of \(Duration.microseconds(event.window).shortText)."
    }

    /// Why a banner was late.
    private func late(_ decision: StoredDecision) -> String? {
        guard let delay = decision.delay, let lateness = decision.lateness else { return nil }
        let time = Duration.microseconds(lateness).displayText
        let cause =
            switch delay {
            case .absent: "there was no notification server"
            case .resting: "the notification server had failed several times, and was left alone"
            case .failed: "the notification server had refused it or did not answer in time"
            case .limited: "there were too many in a second"
            case .busy: "the notification server had not answered an earlier call"
            }
        return "Its banner came \(time) later: \(cause)."
    }

    /// How a hold on an event failed.
    private static func words(about end: ClaimRecord) -> String {
        let claimant = name(end.claimant, end.program)
        switch end.form {
        case .released:
            guard let latency = end.latency else { return "\(claimant) held it and then released it." }
            return "\(claimant) held it until \(latency.displayText) after it was published, and then released it."
        case .ranOut: return "\(claimant) held it and did not confirm it in time."
        default: return "\(claimant) held it and left the bus."
        }
    }

    /// The tolerance for one moment that was read from two clocks, in microseconds. The wall clock may be slewed.
    private static let clockError: Int64 = 10_000

    /// Whether a hold ended when the banner was due, or later. A hold that ended before that changed nothing.
    private func reachedDeadline(_ end: ClaimRecord, of decision: StoredDecision) -> Bool {
        guard let deadline = decision.deadline else { return false }
        guard let latency = end.latency?.microseconds else { return true }
        // Durations of the monotonic clock come first. They decide unless another event opened the window.
        if !isReplayed, let opened = decision.opened, latency >= deadline - opened { return true }
        return event.accepted + latency >= deadline - Self.clockError
    }

    // MARK: Words

    private static func moment(ofClaim decision: StoredDecision) -> String {
        guard let latency = decision.latency else {
            return "after a restart of the machine, so that its latency is not known"
        }
        return latency == 0 ? "as it came in" : "\(Duration.microseconds(latency).displayText) after it was published"
    }

    private static func name(_ claimant: String, _ program: String?) -> String {
        program.map { "\($0) (\(claimant))" } ?? claimant
    }
}

extension ClaimForm {
    /// Whether it ends a provisional claim without a confirmation.
    fileprivate var isFailure: Bool { self == .released || self == .ranOut || self == .left }
}
