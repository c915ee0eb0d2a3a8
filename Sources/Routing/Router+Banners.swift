/// Banners and the server that shows them: sending what waits, taking in the answers, closing, forgetting.
extension Router {
    // MARK: Sending

    mutating func enqueue(_ key: CoalescingKey) {
        if key == .summary, summaryRestsUntil != nil { return }
        guard !queue.contains(key) else { return }
        lastSerial += 1
        queue.put(key, at: lastSerial)
    }

    /// Sends what waits, as far as the server may be called now.
    mutating func sendBanners(at now: Instant) {
        while gate.isOpen, let key = queue.takeDue(at: .max) {
            guard let banner = banners[key] else {
                preconditionFailure("a banner that is dropped is struck off the queue")
            }
            // With a call under way it is queued again when the answer is there.
            guard banner.call == nil, let newest = banner.waiting.newest else { continue }
            let isNew = banner.id == nil && key != .summary
            if isNew, !pace.admit(sender: sender(of: newest), limit: bannerSettings.maximumPerSecond, at: now) {
                fold(key)
                continue
            }
            send(key, at: now)
        }
    }

    private mutating func send(_ key: CoalescingKey, at now: Instant) {
        lastSerial += 1
        let call = BannerCall(lastSerial)
        let carried = banners[key]!.waiting.takeAll()
        for id in carried.ids {
            lifetimes.strike(id)
            events[id]!.place = .carried(key)
        }
        banners[key]!.carried = carried
        banners[key]!.call = (call, now)
        calls[call] = key
        gate.callBegan()
        statistics.bannerCalls += 1
        if key == .summary {
            let next = now + BannerPace.period
            summaryRestsUntil = next
            agenda.put(.summary, at: next)
        }
        let count = banners[key]!.count
        effects.append(
            .showBanner(
                BannerRequest(
                    call: call, replaces: banners[key]!.id, newest: events[carried.newest!]!.event, count: count,
                    isSummary: key == .summary && count > 1)))
    }

    /// Moves what a banner would have said into the summary.
    private mutating func fold(_ key: CoalescingKey) {
        statistics.bannersFolded += 1
        let waiting = banners[key]!.waiting.takeAll()
        dropIfEmpty(key)
        for id in waiting.ids { wait(id, for: .summary) }
    }

    mutating func summaryRestEnded() {
        summaryRestsUntil = nil
        if let summary = banners[.summary], !summary.waiting.isEmpty { enqueue(.summary) }
    }

    // MARK: Answers

    mutating func bannerShown(_ call: BannerCall, _ id: BannerID, at now: Now) {
        // The answer to a call of a server that has gone since: its banners are gone too.
        guard let key = calls.removeValue(forKey: call) else { return }
        gate.callSucceeded()
        let calledAt = banners[key]!.call!.at
        banners[key]!.call = nil
        rename(key, to: id)
        let carried = banners[key]!.carried.takeAll()
        banners[key]!.shown.insert(contentsOf: carried)
        let count = banners[key]!.shown.count
        for event in carried.ids {
            let lateness = calledAt - events[event]!.deadline
            decide(event, Resolution(.shown, banner: id, count: count, lateness: max(.zero, lateness)))
            events[event]!.place = .shown(key, id)
            remember(event)
        }
        if banners[key]!.count == 0 {
            close(id)
        } else if !banners[key]!.waiting.isEmpty {
            enqueue(key)
        }
        sendBanners(at: now.instant)
    }

    mutating func bannerFailed(_ call: BannerCall, at now: Now) {
        guard let key = calls.removeValue(forKey: call) else { return }
        statistics.bannerFailures += 1
        banners[key]!.call = nil
        let carried = banners[key]!.carried.takeAll()
        for id in carried.ids { wait(id, for: key) }
        if let id = banners[key]!.id, banners[key]!.count == 0 {
            close(id)
        } else {
            dropIfEmpty(key)
        }
        if let rest = gate.callFailed(at: now.instant) { agenda.put(.serverRest, at: rest) }
        sendBanners(at: now.instant)
    }

    /// Some servers answer an update with a new number.
    private mutating func rename(_ key: CoalescingKey, to id: BannerID) {
        if let old = banners[key]!.id, old != id {
            bannerKeys[old] = nil
            for event in banners[key]!.shown.ids { events[event]!.place = .shown(key, id) }
        }
        banners[key]!.id = id
        bannerKeys[id] = key
    }

    // MARK: Closing

    mutating func close(_ id: BannerID) {
        forget(id)
        statistics.bannersClosed += 1
        effects.append(.closeBanner(id))
    }

    mutating func bannerClosed(_ id: BannerID, _ reason: ClosingReason) {
        guard let key = bannerKeys[id] else { return }
        let shown = banners[key]!.shown.takeAll()
        for event in shown.ids {
            switch reason {
            case .dismissed:
                decide(event, Resolution(.dismissed, banner: id))
                events[event] = nil
            case .other:
                events[event]!.place = .gone(id)
            }
        }
        forget(id)
    }

    mutating func actionInvoked(_ id: BannerID, _ action: String) {
        guard let key = bannerKeys[id], let newest = banners[key]!.shown.newest else { return }
        effects.append(.relayAction(newest, events[newest]!.event.topic, action: action))
    }

    /// Takes the server's number off the banner, and drops the banner where that was all there was.
    private mutating func forget(_ id: BannerID) {
        guard let key = bannerKeys.removeValue(forKey: id) else { return }
        banners[key]!.id = nil
        dropIfEmpty(key)
    }

    mutating func dropIfEmpty(_ key: CoalescingKey) {
        guard let banner = banners[key], banner.count == 0, banner.id == nil, banner.call == nil else { return }
        banners[key] = nil
        queue.strike(key)
    }

    /// Keeps a shown event for a late claim, and lets the oldest go when there are too many.
    private mutating func remember(_ event: EventID) {
        retractable.append(event)
        guard retractable.count > limits.retractableEvents else { return }
        let oldest = retractable.removeFirst()
        guard let open = events.removeValue(forKey: oldest) else { return }
        statistics.forgotten += 1
        guard case .shown(let key, let id) = open.place else { return }
        banners[key]!.shown.remove(oldest)
        if banners[key]!.count == 0, banners[key]!.call == nil { forget(id) }
    }

    private func sender(of id: EventID) -> String {
        events[id]!.event.sender
    }

    // MARK: The server

    mutating func serverAppeared(at now: Now) {
        if gate.isServerThere { serverVanished() }
        gate.serverChanged(isThere: true)
        sendBanners(at: now.instant)
    }

    /// Everything the server knew is void: its numbers, its answers, what it showed. What was on its way waits again.
    mutating func serverVanished() {
        gate.serverChanged(isThere: false)
        agenda.strike(.serverRest)
        calls.removeAll()
        bannerKeys.removeAll()
        for key in banners.keys.sorted(by: { banners[$0]!.serial < banners[$1]!.serial }) {
            if let id = banners[key]!.id {
                for event in banners[key]!.shown.takeAll().ids { events[event]!.place = .gone(id) }
            }
            banners[key]!.id = nil
            banners[key]!.call = nil
            for event in banners[key]!.carried.takeAll().ids { wait(event, for: key) }
            dropIfEmpty(key)
        }
    }
}
