/// Banners and the server that shows them: sending what waits, taking in the answers.
extension Router {
    // MARK: Sending

    mutating func enqueue(_ key: CoalescingKey) {
        if key == .summary, summaryRest != nil { return }
        guard banners[key]!.queued == nil else { return }
        lastSerial += 1
        banners[key]!.queued = queue.put(key, at: lastSerial)
    }

    /// Sends what waits, as far as the server may be called now.
    mutating func sendBanners(at now: Now) {
        while gate.isOpen, let key = takeFromQueue() {
            // With a call under way it is queued again when the answer is there.
            guard banners[key]!.call == nil else { continue }
            settleUnwanted(in: key, at: now)
            guard let newest = banners[key]!.waiting.last else {
                if let banner = bannerWithNothingBehind(key) { close(banner) }
                dropIfEmpty(key)
                continue
            }
            let isNew = banners[key]!.id == nil && key != .summary
            if isNew, !pace.admit(sender: sender(of: newest), limit: bannerSettings.maximumPerSecond, at: now.instant) {
                fold(key)
                continue
            }
            send(key, at: now.instant)
        }
    }

    private mutating func send(_ key: CoalescingKey, at now: Instant) {
        lastSerial += 1
        let call = BannerCall(lastSerial)
        let carried = banners[key]!.waiting.takeAll()
        for id in carried {
            events[id]!.expiry = nil
            events[id]!.place = .carried(key)
        }
        banners[key]!.carried = carried
        banners[key]!.call = (call, now, carried.first!)
        calls[call] = key
        _ = agenda.put(.call(call), at: now + ServerGate.patience)
        let hasHeadStart = bannerSettings.maximumPerSecond > 0
        gate.callBegan(call, hasHeadStart: hasHeadStart)
        headStart = hasHeadStart ? agenda.put(.headStart, at: now + ServerGate.headStart) : nil
        statistics.bannerCalls += 1
        if key == .summary {
            summaryRest = agenda.put(.summary, at: now + BannerPace.period)
        }
        let count = banners[key]!.count
        effects.append(
            .showBanner(
                BannerRequest(
                    call: call, replaces: banners[key]!.id, newest: events[carried.last!]!.event,
                    others: others(behind: banners[key]!), count: count, isSummary: key == .summary && count > 1)))
    }

    /// The newest events behind a banner but the one it speaks of, newest first.
    private func others(behind banner: Banner) -> [Event] {
        let newest = Array(banner.carried.suffix(BannerRequest.namedEvents))
        let others = newest.dropLast() + Array(banner.shown.suffix(BannerRequest.namedEvents - 1))
        return others.sorted(by: >).prefix(BannerRequest.namedEvents - 1).map { events[$0]!.event }
    }

    /// Whether a banner that was asked for, and that the server has not been asked for yet, still says what there is to say.
    /// It does not when it was given up in the meantime, or when something that it speaks of was claimed.
    public func stillWants(_ request: BannerRequest) -> Bool {
        guard let key = calls[request.call], let banner = banners[key] else { return false }
        return banner.count == request.count && banner.carried.last == request.newest.id
    }

    /// Moves what a banner would have said into the summary.
    private mutating func fold(_ key: CoalescingKey) {
        statistics.bannersFolded += 1
        let waiting = banners[key]!.waiting.takeAll()
        dropIfEmpty(key)
        for id in waiting { wait(id, for: .summary) }
    }

    mutating func summaryRestEnded() {
        summaryRest = nil
        if let summary = banners[.summary], !summary.waiting.isEmpty { enqueue(.summary) }
    }

    // MARK: Answers

    /// - Parameter answer: the server's number, or `nil` where it says that this very banner is on screen already.
    mutating func bannerShown(_ call: BannerCall, _ answer: BannerID?, at now: Now) {
        guard let key = end(call) else { return answeredLate(call, answer, at: now) }
        gate.callSucceeded()
        serverStart = ServerStart()
        serverStartRetry = nil
        let (_, calledAt, first) = banners[key]!.call!
        banners[key]!.call = nil
        let id = answer ?? banners[key]!.id
        if let id { rename(key, to: id, first: first) }
        show(banners[key]!.carried.takeAll(), in: key, as: id, calledAt: calledAt)
        if let id, banners[key]!.count == 0 {
            close(id)
        } else if !banners[key]!.waiting.isEmpty {
            enqueue(key)
        } else {
            dropIfEmpty(key)
        }
        sendBanners(at: now)
    }

    /// Nothing is awaited of a call any longer.
    ///
    /// - Returns: whose banner it was for, if it was under way.
    private mutating func end(_ call: BannerCall) -> CoalescingKey? {
        guard let key = calls.removeValue(forKey: call) else { return nil }
        if gate.callEnded(call) { headStart = nil }
        return key
    }

    /// Gives events that are on screen now their outcome.
    private mutating func show(_ ids: EventList, in key: CoalescingKey, as banner: BannerID?, calledAt: Instant) {
        let count = banners[key]!.shown.count + ids.count
        for id in ids {
            let lateness = calledAt - events[id]!.deadline
            var resolution = Resolution(.shown, banner: banner, count: count, lateness: max(.zero, lateness))
            resolution.shownWith = banners[key]!.first
            decide(events[id]!, resolution)
            if let banner {
                banners[key]!.shown.insert(id)
                events[id]!.place = .shown(key, banner)
            } else {
                events[id]!.place = .gone(nil)
            }
            remember(id)
        }
    }

    mutating func bannerFailed(_ call: BannerCall, _ failure: BannerFailure, at now: Now) {
        overdue[call] = nil
        guard let key = end(call) else { return }
        takeBack(key)
        switch failure {
        case .notAsked:
            if let banner = bannerWithNothingBehind(key) { close(banner) }
        case .unknownBanner:
            // What we took for ours is gone; the next call makes a new one. The server is well.
            statistics.bannerFailures += 1
            gate.callSucceeded()
            if let id = banners[key]!.id { lose(id) }
        case .noAnswer:
            callFailed(key, at: now)
        }
        dropIfEmpty(key)
        sendBanners(at: now)
    }

    /// What a call carried waits again.
    private mutating func takeBack(_ key: CoalescingKey) {
        banners[key]!.call = nil
        for id in banners[key]!.carried.takeAll() { wait(id, for: key) }
        // What came up during the call waits as well, even if all that the call carried is claimed.
        if !banners[key]!.waiting.isEmpty { enqueue(key) }
    }

    private mutating func callFailed(_ key: CoalescingKey, at now: Now) {
        statistics.bannerFailures += 1
        if let rest = gate.callFailed(at: now.instant) { serverRest = agenda.put(.serverRest, at: rest) }
        if let id = banners[key]?.id, banners[key]!.count == 0 { close(id) }
    }

    // MARK: Late answers

    /// The server is not waited for any longer, but what it was asked for may still appear.
    mutating func callOverdue(_ call: BannerCall, at now: Now) {
        guard let key = end(call) else { return }
        let carried = banners[key]!.carried
        overdue[call] = OverdueCall(key: key, at: banners[key]!.call!.at, carried: carried)
        if overdue.count > limits.overdueCalls, let oldest = overdue.keys.min(by: { $0.rawValue < $1.rawValue }) {
            overdue[oldest] = nil
        }
        takeBack(key)
        callFailed(key, at: now)
        dropIfEmpty(key)
    }

    /// The banner is there after all. It is kept where its events still wait for one, and closed where they were claimed in
    /// the meantime or stand in another banner.
    private mutating func answeredLate(_ call: BannerCall, _ answer: BannerID?, at now: Now) {
        guard let late = overdue.removeValue(forKey: call), let id = answer else { return }
        if let end = gate.recovered(at: now.instant) { serverRest = agenda.put(.serverRest, at: end) }
        let key = late.key
        var waiting = EventList()
        for id in late.carried {
            if case .waiting(let place) = events[id]?.place, place == key { waiting.insert(id) }
        }
        if let banner = banners[key], banner.call == nil, banner.id == nil || banner.id == id, !waiting.isEmpty {
            for id in waiting {
                banners[key]!.waiting.remove(id)
                events[id]!.expiry = nil
            }
            rename(key, to: id, first: waiting.first!)
            show(waiting, in: key, as: id, calledAt: late.at)
        } else if bannerKeys[id] != key {
            // The number was another banner's until now.
            lose(id)
            close(id)
        }
        sendBanners(at: now)
    }

    /// Some servers answer an update with a new number. A number stands for one banner: another that had it is gone.
    ///
    /// - Parameter first: the first event of the banner, where it was not up before.
    private mutating func rename(_ key: CoalescingKey, to id: BannerID, first: EventID) {
        if let other = bannerKeys[id], other != key { lose(id) }
        guard banners[key]!.id != id else { return }
        if let old = banners[key]!.id {
            bannerKeys[old] = nil
            effects.append(.forgetBanner(old))
            for event in banners[key]!.shown { events[event]!.place = .shown(key, id) }
        }
        let first = banners[key]!.first ?? first
        banners[key]!.id = id
        banners[key]!.first = first
        bannerKeys[id] = key
        effects.append(.keepBanner(id, first: first, isSummary: key == .summary))
    }

    private func sender(of id: EventID) -> String {
        events[id]!.event.sender
    }

    // MARK: The server

    mutating func serverAppeared(at now: Now) {
        if gate.isServerThere { serverVanished() }
        gate.serverChanged(isThere: true)
        sendBanners(at: now)
    }

    /// Everything the server knew is void: its numbers, its answers, what it showed. What was on its way waits again.
    mutating func serverVanished() {
        gate.serverChanged(isThere: false)
        for id in closedBanners.keys.sorted(by: { $0.rawValue < $1.rawValue }) { settleClosedBanner(id) }
        serverRest = nil
        headStart = nil
        calls.removeAll()
        overdue.removeAll()
        bannerKeys.removeAll()
        hasUnknownBanners = false
        effects.append(.forgetAllBanners)
        for key in banners.keys.sorted(by: { banners[$0]!.serial < banners[$1]!.serial }) {
            if let id = banners[key]!.id {
                for event in banners[key]!.shown.takeAll() { events[event]!.place = .gone(id) }
            }
            banners[key]!.id = nil
            banners[key]!.first = nil
            banners[key]!.call = nil
            for event in banners[key]!.carried.takeAll() { wait(event, for: key) }
            if !banners[key]!.waiting.isEmpty { enqueue(key) }
            dropIfEmpty(key)
        }
    }
}
