import NotifyText

/// Sends banners to the notification server and handles its answers.
extension Router {
    // MARK: Sending

    /// Sends queued banners while the server may be called.
    mutating func sendBanners(at now: Now) {
        while banners.server.allowsCall, let key = banners.dequeue() {
            // It is queued again when the call in flight ends.
            guard banners[existing: key].call == nil else { continue }
            discardUnwanted(in: key, at: now)
            guard banners[existing: key].needsCall,
                let newest = banners[existing: key].waiting.last ?? banners[existing: key].shown.last
            else {
                if let banner = banners.emptyBanner(key) { close(banner) }
                banners.removeIfUnused(key)
                continue
            }
            let isNew = banners[existing: key].id == nil && key != .summary
            let sender = events[existing: newest].event.sender
            if isNew, !banners.limiter.admit(sender: sender, limit: settings.banners.maximumPerSecond, at: now.instant)
            {
                fold(key)
                continue
            }
            send(key, newest: newest, at: now.instant)
        }
    }

    /// - Parameter newest: the newest event that waits. Where none does, the newest that is shown: what the server
    ///   shows is outdated.
    private mutating func send(_ key: CoalescingKey, newest: EventID, at now: Instant) {
        // Without a banner limit, exclusive calls would allow only one banner for each write to the disk.
        let isExclusive = settings.banners.maximumPerSecond > 0
        let first = name(of: key, startingWith: banners[existing: key].waiting.first ?? newest)
        let call = banners.begin(key, first: first, isExclusive: isExclusive, at: now, timers: &timers)
        for id in banners[existing: key].inFlight {
            move(id, to: .inFlight(key))
        }
        output.statistics[.bannerCalls] += 1
        let count = banners[existing: key].count
        output.append(
            .showBanner(
                BannerRequest(
                    call: call, replaces: banners[existing: key].id, newest: events[existing: newest].event,
                    others: others(behind: banners[existing: key], except: newest),
                    urgency: .some(urgency(of: banners[existing: key], newest: newest)), count: count,
                    isSummary: key == .summary && count > 1)))
    }

    /// The newest events behind a banner except the one it speaks of, newest first.
    private func others(behind banner: Banner, except newest: EventID) -> [Event] {
        let found =
            Array(banner.inFlight.suffix(BannerRequest.namedEvents))
            + Array(banner.shown.suffix(BannerRequest.namedEvents))
        return found.filter { $0 != newest }.sorted(by: >).prefix(BannerRequest.namedEvents - 1).map {
            events[existing: $0].event
        }
    }

    /// So many events behind a banner are looked at for its urgency, the newest ones: the others are not read again for
    /// each update.
    private static let ratedEvents = 1000

    /// The highest urgency among the events behind a banner: a newer event does not make a critical one less urgent.
    private func urgency(of banner: Banner, newest: EventID) -> Urgency? {
        var highest = events[existing: newest].event.shownUrgency
        for ids in [banner.inFlight, banner.shown] {
            for id in ids.suffix(Self.ratedEvents) {
                if highest == .critical { return highest }
                let urgency = events[existing: id].event.shownUrgency
                if (urgency ?? .normal).rawValue > (highest ?? .normal).rawValue { highest = urgency }
            }
        }
        return highest
    }

    /// Whether a request that has not left for the server is still correct: the call was not given up, none of its
    /// events was claimed, withdrawn or replaced, no newer one waits for the banner, and nothing holds it back since.
    public func isCurrent(_ request: BannerRequest) -> Bool {
        guard let banner = banners.banner(of: request.call) else { return false }
        let newest = banner.inFlight.last ?? banner.shown.last
        guard !banner.inFlight.contains(where: { quietHolding(events[existing: $0].event) != nil }) else {
            return false
        }
        return banner.count == request.count && newest == request.newest.id && !banner.isCallOutdated
    }

    /// Moves the events of a banner into the summary.
    private mutating func fold(_ key: CoalescingKey) {
        output.statistics[.bannersFolded] += 1
        let waiting = banners.takeWaiting(key)
        banners.removeIfUnused(key)
        for id in waiting { enqueue(id, in: .summary) }
    }

    // MARK: Answers

    /// - Parameter answer: the server's number; `nil` where it says that the same banner is on screen already.
    mutating func bannerShown(_ call: BannerCall, _ answer: BannerID?, at now: Now) {
        guard let (key, answered, isOutdated) = banners.end(call, nil, at: now.instant, timers: &timers) else {
            return bannerShownLate(call, answer, at: now)
        }
        let id = answer ?? banners[existing: key].id
        if let id { assignNumber(id, to: key, first: answered.first) }
        show(banners.takeInFlight(key), in: key, as: id, by: answered)
        banners.setShown(key, isOutdated: isOutdated)
        if let empty = banners.emptyBanner(key) {
            close(empty)
        } else {
            banners.enqueueIfNeeded(key)
            banners.removeIfUnused(key)
        }
        sendBanners(at: now)
    }

    /// Gives events that are on screen their outcome.
    private mutating func show(_ ids: SortedIDs, in key: CoalescingKey, as banner: BannerID?, by call: Banner.Call) {
        let count = banners[existing: key].shown.count + ids.count
        for id in ids {
            let deadline = events[existing: id].deadline
            let lateness = call.at - deadline
            var resolution = Resolution(.shown, banner: banner, count: count, lateness: max(.zero, lateness))
            resolution.shownWith = banners[existing: key].first
            resolution.delay = call.delays.delay(since: deadline, isSummary: key == .summary)
            resolution.quiet = quietBroken(by: events[existing: id].event)
            decide(events[existing: id], resolution)
            if let banner {
                banners.show(id, in: key)
                move(id, to: .shown(key, banner))
            } else {
                move(id, to: .gone(nil))
            }
            keepRetractable(events[existing: id].event)
        }
    }

    mutating func bannerFailed(_ call: BannerCall, _ failure: BannerFailure, at now: Now) {
        guard let key = banners.end(call, failure, at: now.instant, timers: &timers)?.key else {
            _ = banners.server.answeredLate(call, isShown: false, at: now.instant, timers: &timers)
            return
        }
        requeue(key, failure)
        sendBanners(at: now)
    }

    /// Events that were in flight wait again.
    private mutating func requeue(_ key: CoalescingKey, _ failure: BannerFailure) {
        for id in banners.takeInFlight(key) { enqueue(id, in: key) }
        // Events may have been added during the call, also when all that were in flight are claimed.
        banners.enqueueIfNeeded(key)
        if failure != .notAsked { output.statistics[.bannerFailures] += 1 }
        if failure == .unknownBanner {
            if let id = banners[existing: key].id { bannerDisappeared(id) }
        } else if let banner = banners.emptyBanner(key) {
            close(banner)
        }
        banners.removeIfUnused(key)
    }

    // MARK: Late answers

    mutating func callTimedOut(_ call: BannerCall, at now: Now) {
        let key = banners.timeOut(call, limit: limits.timedOutCalls, at: now.instant, timers: &timers)
        if let key { requeue(key, .noAnswer) }
    }

    /// The server shows the banner of a timed-out call after all. The banner is kept if its events still wait; it is
    /// closed if they were claimed since or are in another banner.
    private mutating func bannerShownLate(_ call: BannerCall, _ answer: BannerID?, at now: Now) {
        let late = banners.server.answeredLate(call, isShown: answer != nil, at: now.instant, timers: &timers)
        guard let late, let id = answer else { return }
        let key = late.key
        var waiting = SortedIDs()
        for id in late.inFlight {
            if case .waiting(let place) = events[id]?.place, place == key { waiting.insert(id) }
        }
        if let banner = banners[key], banner.call == nil, banner.id == nil || banner.id == id, let first = waiting.first
        {
            for id in waiting { banners.stopWaiting(id, in: key) }
            assignNumber(id, to: key, first: name(of: key, startingWith: first))
            show(waiting, in: key, as: id, by: late.call)
            banners.setShown(key, isOutdated: late.isOutdated)
            banners.enqueueIfNeeded(key)
        } else if banners.keys[id] != key {
            // The number belonged to another banner until now.
            bannerDisappeared(id)
            close(id)
        } else if late.isOutdated, banners[existing: key].call == nil {
            banners.setShown(key, isOutdated: true)
            banners.enqueueIfNeeded(key)
        }
        sendBanners(at: now)
    }

    /// What identifies a new banner in the journal: its first event, or an id of its own where this event was the first
    /// of an earlier banner before it was snoozed. Others that were shown there may still refer to that one.
    private mutating func name(of key: CoalescingKey, startingWith first: EventID) -> EventID {
        banners[existing: key].id == nil && events[existing: first].isSnoozed ? events.takeID() : first
    }

    /// Some servers answer an update with a new number. A number belongs to one banner; another that had it is gone.
    ///
    /// - Parameter first: the first event of the banner, where it was not up before.
    private mutating func assignNumber(_ id: BannerID, to key: CoalescingKey, first: EventID) {
        if let other = banners.keys[id], other != key { bannerDisappeared(id) }
        guard banners[existing: key].id != id else { return }
        if let old = banners[existing: key].id {
            output.append(.keepBanner(.gone(old)))
            for event in banners[existing: key].shown { move(event, to: .shown(key, id)) }
        }
        banners.setNumber(id, of: key, first: first)
        output.append(.keepBanner(.up(id, first: banners[existing: key].first ?? first, isSummary: key == .summary)))
    }

    // MARK: The server

    /// Starts a server if there is none and a banner is due.
    mutating func startServer(at now: Now) {
        guard settings.banners.startsServer else { return }
        if banners.startServer(at: now.instant, timers: &timers) { output.append(.startServer) }
    }

    mutating func serverAppeared(at now: Now) {
        if banners.server.isServerThere { serverVanished(at: now) }
        banners.server.serverAppeared(at: now.instant)
        sendBanners(at: now)
    }

    /// Nothing that the server knew is valid any more: numbers, answers, banners on screen. Events in flight wait
    /// again.
    mutating func serverVanished(at now: Now) {
        for id in banners.serverVanished(at: now.instant) { endActionWait(id) }
        output.append(.keepBanner(.allGone))
        for key in banners.orderedKeys {
            let (id, shown, inFlight) = banners.reset(key)
            for event in shown { move(event, to: .gone(id)) }
            for event in inFlight { enqueue(event, in: key) }
            if !banners[existing: key].waiting.isEmpty { banners.enqueue(key) }
            banners.removeIfUnused(key)
        }
    }
}
