@testable import Routing

/// A notification server that does what the script says.
extension ModelRunner {
    mutating func takeServer(_ step: Step) throws(Disagreement) {
        switch step {
        case .serverAppears:
            restartServer()
            try both(.server(.ready))
        case .serverVanishes:
            restartServer()
            try both(.server(.gone))
        case .serverIsPrompt(let flag): isPrompt = flag
        case .callsLeave(let flag): callsLeave = flag
        case .answer(let pick, let answer):
            if !calls.isEmpty { try self.answer(calls[pick % calls.count], answer) }
        case .answerStale(let pick, let answer):
            if !stale.isEmpty { try self.answer(stale[pick % stale.count], answer) }
        case .closeBanner(let pick, let reason):
            guard !up.isEmpty else { return }
            try both(.bannerClosed(up.remove(at: pick % up.count), reason))
        case .press(let pick):
            guard !up.isEmpty else { return }
            let number = up[pick % up.count]
            // Some servers close the banner as well, and report that first or last.
            let order = pick / 7 % 3
            if order == 1 { try close(number) }
            // Some servers report a click on any banner so.
            try both(.actionInvoked(number, action: pick % 5 == 0 ? "default" : "accept"))
            if order == 2 { try close(number) }
        default: preconditionFailure("not the server's step")
        }
    }

    private mutating func close(_ number: BannerID) throws(Disagreement) {
        up.removeAll { $0 == number }
        try both(.bannerClosed(number, .dismissed))
    }

    /// Calls leave, and a prompt server answers them.
    mutating func serve() throws(Disagreement) {
        if callsLeave { try send() }
        while isPrompt, let call = calls.first {
            try answer(call, .shown)
            if callsLeave { try send() }
        }
    }

    /// Calls leave at the end of the turn, if what they say is still true.
    private mutating func send() throws(Disagreement) {
        while !unsent.isEmpty {
            let (call, request) = unsent.removeFirst()
            guard router.isCurrent(request) else {
                try fail(call, .notAsked)
                continue
            }
            if let broken = ledger.checkSent(request, router) {
                throw Disagreement(step: step, description: "at \(now) µs: \(broken)")
            }
            try both(.banner(call.id, .sent), .banner(call.reference, .sent))
            calls.append(call)
        }
    }

    private mutating func restartServer() {
        stale += calls + unsent.map(\.call)
        calls = []
        unsent = []
        lastNumber = 0
        up = []
    }

    mutating func answer(_ call: Call, _ answer: Step.Answer) throws(Disagreement) {
        calls.removeAll { $0.id == call.id }
        stale.append(call)
        var number: BannerID?
        switch answer {
        case .shown: number = call.replaces ?? newNumber()
        case .renumbered: number = newNumber()
        case .taken(let pick): number = up.isEmpty ? newNumber() : up[pick % up.count]
        case .identical: break
        case .error: return try fail(call, .noAnswer)
        case .unknownBanner: return try fail(call, .unknownBanner)
        }
        if let number, !up.contains(number) { up.append(number) }
        try both(.banner(call.id, .shown(number)), .banner(call.reference, .shown(number)))
    }

    mutating func fail(_ call: Call, _ failure: BannerFailure) throws(Disagreement) {
        try both(.banner(call.id, .failed(failure)), .banner(call.reference, .failed(failure)))
    }

    private mutating func newNumber() -> BannerID {
        lastNumber += 1
        return BannerID(lastNumber)
    }
}

/// The clocks, and the timer as the router asked for it.
extension ModelRunner {
    var moment: Now {
        Now(instant: Instant(microseconds: now), uptime: Uptime(microseconds: now + slept))
    }

    /// When the router asked to be woken, on the clock of this runner.
    var nextArmed: Int64? {
        [armed?.microseconds, armedLifetime.map { $0.microseconds - slept }].compactMap { $0 }.min()
    }

    private var nextDueOfReference: Int64? {
        let due = reference.nextDue
        return [due.instant?.microseconds, due.uptime.map { $0.microseconds - slept }].compactMap { $0 }.min()
    }

    mutating func advance(by time: Int64) throws(Disagreement) {
        let end = now + time
        while let due = [nextArmed, nextDueOfReference].compactMap({ $0 }).min(), due <= end {
            now = max(now, due)
            try fire()
        }
        now = end
    }

    /// What the router did not ask to be woken for, it must not have to do.
    mutating func fire() throws(Disagreement) {
        if let due = nextDueOfReference, due <= now, nextArmed.map({ $0 > now }) ?? true {
            throw Disagreement(step: step, description: "something is due, and the router has not asked for its timer")
        }
        if let armed, armed <= moment.instant { self.armed = nil }
        if let armedLifetime, armedLifetime <= moment.uptime { self.armedLifetime = nil }
        try both(.timerFired)
        if let due = nextArmed, due <= now {
            throw Disagreement(step: step, description: "the timer was set to a moment that is over")
        }
        try serve()
    }
}
