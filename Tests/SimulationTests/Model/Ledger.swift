@testable import Routing

/// What was promised about each event, kept apart from both routers.
struct Ledger {
    private struct Account {
        let topic: Topic
        let accepted: Instant
        /// The end of the event's window, as far as it was announced.
        var windowEnds: Instant?
        var outcomes: [Outcome] = []
        var successor: EventID?
        /// Whether it was snoozed and has not come back. Before that its outcomes are not final.
        var isSnoozed = false
    }

    private var accounts: [EventID: Account] = [:]
    private var order: [EventID] = []
    private var publishing: Publication?

    /// - Returns: the promise that was broken, if one was.
    mutating func note(_ input: ModelRunner.Input, _ observed: [Observed], _ router: Router, at now: Now) -> String? {
        for effect in observed {
            switch effect {
            case .announce(let id, let topic, _, _, _, let announcement):
                let window = announcement.window
                if accounts[id] != nil { return "event \(id) was announced twice" }
                if let last = order.last, last >= id { return "the ids do not grow" }
                accounts[id] = Account(
                    topic: try! Topic(topic), accepted: now.instant, windowEnds: window.map { now.instant + $0 })
                order.append(id)
                if announcement.silence != nil {
                    accounts[id]!.outcomes.append(.silent)
                }
            case .resolve(let id, _, let resolution):
                guard accounts[id] != nil else { return "the outcome of event \(id) came before the event" }
                if accounts[id]!.isSnoozed, [.shown, .muted].contains(accounts[id]!.outcomes.last) {
                    accounts[id]!.outcomes.removeLast()
                }
                if resolution.outcome == .shown { accounts[id]!.isSnoozed = false }
                accounts[id]!.outcomes.append(resolution.outcome)
                accounts[id]!.successor = resolution.successor
                if let broken = checkClaim(input, id, resolution) { return broken }
                if !Self.allowed.contains(accounts[id]!.outcomes) {
                    return "event \(id) has the outcomes \(accounts[id]!.outcomes)"
                }
            case .show(let newest, _, _, let replaced, _):
                if let broken = checkBanner(newest, isUpdate: replaced != nil) { return broken }
            case .note(let id, let step):
                if step.form == .snooze { accounts[id]!.isSnoozed = true }
            case .reply, .refused, .close, .relay, .remove, .read, .keepAwaited, .dropAwaited, .screensChanged,
                .quietChanged, .countDigests, .markRead:
                break
            }
        }
        return observed.contains(where: \.isShow) ? checkCarried(router, at: now) : nil
    }

    private static let allowed: [[Outcome]] = [
        [.silent], [.claimed], [.muted], [.expired], [.shown], [.shown, .retracted], [.shown, .dismissed], [.retracted],
        [.withdrawn], [.replaced], [.shown, .withdrawn], [.shown, .replaced],
    ]

    /// A claim touches the event it names, and no other.
    private func checkClaim(_ input: ModelRunner.Input, _ id: EventID, _ resolution: Resolution) -> String? {
        switch (resolution.outcome, input) {
        case (.claimed, _), (.retracted, _): break
        case (.withdrawn, .call(.claimedNamed(let claim, let named))),
            (.dismissed, .call(.claimedNamed(let claim, let named))):
            return isMeant(id, named) ? nil : "a claim of \(claim.name) touched \(id)"
        // It was withdrawn before it came.
        case (.withdrawn, .call(.published)), (.withdrawn, .call(.digestsCounted)):
            return accounts[id]!.outcomes == [.withdrawn] ? nil : "event \(id) was withdrawn by another event"
        case (.withdrawn, .call(.withdrawn(let named, _))):
            return named == id ? nil : "a withdrawal of \(named) touched \(id)"
        case (.replaced, .call(.published(let publication))):
            let isMeant = publication.options.collapse != nil && publication.topic == accounts[id]!.topic
            return isMeant ? nil : "event \(id) was replaced by another topic's event"
        case (.replaced, .call(.digestsCounted(let count))):
            guard case .found(let publication) = count.result, publication.topic == accounts[id]!.topic else {
                return "event \(id) was replaced by no digest"
            }
            return nil
        case (.withdrawn, _), (.replaced, _): return "event \(id) was \(resolution.outcome) by nobody's doing"
        default: return nil
        }
        switch input {
        case .call(.claimed(let named, _, _)), .call(.answered(let named, .completed, _)):
            return named == id ? nil : "a claim of \(named) touched \(id)"
        case .call(.claimedNamed(let claim, let named)):
            return isMeant(id, named) ? nil : "a claim of \(claim.name) touched \(id)"
        case .call(.topicClaimed(let topic, .grace, _)), .call(.screenOpened(let topic, _, _)):
            return topic.covers(accounts[id]!.topic) ? nil : "a claim of \(topic) touched \(accounts[id]!.topic)"
        case .call(.topicClaimed(let topic, .read(let last), _)):
            let isMeant = topic.covers(accounts[id]!.topic) && (last == EventID(0) || id <= last)
            return isMeant ? nil : "marking \(topic) up to \(last) touched \(id)"
        case .call(.published), .call(.digestsCounted), .call(.screenChanged(_, .some, _)):
            return nil
        case .happening(.timerFired) where accounts[id]!.isSnoozed:
            return nil
        default:
            return "event \(id) was claimed by nobody's doing"
        }
    }

    /// Whether a claim by name is about an event. Its source and event-id are not known here.
    private func isMeant(_ id: EventID, _ named: EventID?) -> Bool {
        named == nil || named == id
    }

    /// - Parameter isUpdate: such a banner may have shown all of its events before.
    private func checkBanner(_ newest: EventID, isUpdate: Bool) -> String? {
        guard let account = accounts[newest] else { return "a banner for an event that was never announced" }
        if isUpdate || account.isSnoozed, account.outcomes == [.shown] { return nil }
        if account.isSnoozed, account.outcomes == [.muted] { return nil }
        return account.outcomes.isEmpty ? nil : "a banner for event \(newest), which is \(account.outcomes)"
    }

    /// A call leaves for the server: nothing it says is of an event that is claimed.
    func checkSent(_ request: BannerRequest, _ router: Router) -> String? {
        ([request.newest] + request.others).map(\.id).first { router.events[$0] == nil }.map {
            "a banner reports event \($0), which is decided"
        }
    }

    private func checkCarried(_ router: Router, at now: Now) -> String? {
        for id in order {
            guard let open = router.events[id], case .inFlight = open.place, let account = accounts[id] else {
                continue
            }
            if !account.outcomes.isEmpty, !account.isSnoozed {
                return "a call carries event \(id), which is \(account.outcomes)"
            }
            if open.event.route.wait == .anyone, let ends = account.windowEnds, now.instant < ends {
                return "a call carries event \(id) before its window's end"
            }
        }
        return nil
    }

    /// Nobody was told about the event: it has never been.
    mutating func drop(_ id: EventID) {
        accounts[id] = nil
        order.removeAll { $0 == id }
        // And what it replaced has not been replaced.
        for earlier in order where accounts[earlier]!.successor == id {
            accounts[earlier]!.successor = nil
            accounts[earlier]!.outcomes.removeLast()
        }
    }

    func whatIsUnfinished(_ router: Router) -> String? {
        for id in order where !Self.allowed.contains(accounts[id]!.outcomes) {
            return "event \(id) has the outcomes \(accounts[id]!.outcomes)"
        }
        return nil
    }
}

extension Observed {
    var isShow: Bool {
        if case .show = self { true } else { false }
    }
}
