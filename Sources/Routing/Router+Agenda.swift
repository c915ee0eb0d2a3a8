/// What is due when. The tables say what still stands: each keeps the ticket of its entry.
extension Router {
    /// What there is to do at a moment of the windows' clock.
    enum Matter {
        case window(CoalescingKey)
        case hold(EventID)
        case grace(GraceID)
        case lease(ScreenID)
        case call(BannerCall)
        case headStart
        case serverRest
        case summary
        case closedBanner(BannerID)
        case serverStart
    }

    /// What there is to do at a moment of the lifetimes' clock.
    enum LifetimeMatter {
        case event(EventID)
        case value(Topic)
        case mute(TopicPrefix)
        case pause
    }

    typealias WindowClock = Agenda<Instant, Matter>
    typealias LifetimeClock = Agenda<Uptime, LifetimeMatter>
    /// Banners that want to be sent, by when they began to.
    typealias BannerQueue = Agenda<UInt64, CoalescingKey>

    /// A timer that is set too early costs one wake-up and is set again then; so only an earlier moment is worth a word.
    mutating func armTimers() {
        func isEarlier<Moment: Comparable>(_ moment: Moment?, than armed: Moment?) -> Bool {
            guard let moment else { return false }
            return armed.map { moment < $0 } ?? true
        }
        // What comes up no earlier than the timer need not be looked at, be it stale or not.
        if isEarlier(agenda.next?.moment, than: armed), let moment = nextOfAgenda()?.moment,
            isEarlier(moment, than: armed)
        {
            armed = moment
            effects.append(.armTimer(moment))
        }
        if isEarlier(lifetimes.next?.moment, than: armedLifetime), let moment = nextOfLifetimes()?.moment,
            isEarlier(moment, than: armedLifetime)
        {
            armedLifetime = moment
            effects.append(.armLifetimeTimer(moment))
        }
    }

    mutating func doWhatIsDue(at now: Now) {
        if let moment = armed, moment <= now.instant { armed = nil }
        if let moment = armedLifetime, moment <= now.uptime { armedLifetime = nil }
        while let entry = nextOfAgenda(), entry.moment <= now.instant {
            agenda.removeNext()
            switch entry.matter {
            case .window(let key): endWindow(key, at: now)
            case .hold(let id): holdFailed(id, .ranOut, at: now)
            case .grace(let id): graceEnded(id)
            case .lease(let id): closeScreen(id, at: now)
            case .call(let call): callOverdue(call, at: now)
            case .headStart:
                headStart = nil
                gate.headStartEnded()
            case .serverRest:
                serverRest = nil
                gate.restEnded()
            case .summary: summaryRestEnded()
            case .closedBanner(let id): settleClosedBanner(id)
            // It is looked at at the end of every input whether a server is wanted.
            case .serverStart: serverStartRetry = nil
            }
        }
        while let entry = nextOfLifetimes(), entry.moment <= now.uptime {
            lifetimes.removeNext()
            switch entry.matter {
            case .event(let id): expireWaiting(id)
            case .value(let topic): removeValue(at: topic)
            case .mute(let topic): muteEnded(topic)
            case .pause: pauseEnded()
            }
        }
        sendBanners(at: now)
    }

    // MARK: What stands

    private func stands(_ entry: WindowClock.Entry) -> Bool {
        switch entry.matter {
        case .window(let key): windows[key]?.ticket == entry.ticket
        case .hold(let id): provisional[id]?.ticket == entry.ticket
        case .grace(let id): graces[id] != nil
        case .lease(let id): screens[id]?.leaseTicket == entry.ticket
        case .call(let call): calls[call] != nil
        case .headStart: headStart == entry.ticket
        case .serverRest: serverRest == entry.ticket
        case .summary: summaryRest == entry.ticket
        case .closedBanner(let id): closedBanners[id]?.ticket == entry.ticket
        case .serverStart: serverStartRetry == entry.ticket
        }
    }

    private func stands(_ entry: LifetimeClock.Entry) -> Bool {
        switch entry.matter {
        case .event(let id): events[id]?.expiry == entry.ticket
        case .value(let topic): values[topic]?.ticket == entry.ticket
        case .mute(let topic): mutes[topic]?.ticket == entry.ticket
        case .pause: pause?.ticket == entry.ticket
        }
    }

    private func stands(_ entry: BannerQueue.Entry) -> Bool {
        banners[entry.matter]?.queued == entry.ticket
    }

    /// The next entry of the agenda that stands.
    private mutating func nextOfAgenda() -> WindowClock.Entry? {
        while let entry = agenda.next {
            if stands(entry) { return entry }
            agenda.removeNext()
        }
        return nil
    }

    /// The next entry of the lifetimes that stands.
    private mutating func nextOfLifetimes() -> LifetimeClock.Entry? {
        while let entry = lifetimes.next {
            if stands(entry) { return entry }
            lifetimes.removeNext()
        }
        return nil
    }

    /// Takes the next banner that wants to be sent.
    mutating func takeFromQueue() -> CoalescingKey? {
        while let entry = queue.next {
            defer { queue.removeNext() }
            if stands(entry) {
                banners[entry.matter]!.queued = nil
                return entry.matter
            }
        }
        return nil
    }

    /// Keeps what is stale from outgrowing what stands.
    mutating func sweepAgendas() {
        if agenda.isCrowded { agenda.sweep(leaving: agenda.entries.filter(stands)) }
        if lifetimes.isCrowded { lifetimes.sweep(leaving: lifetimes.entries.filter(stands)) }
        if queue.isCrowded { queue.sweep(leaving: queue.entries.filter(stands)) }
    }

    /// How many entries stand, in all three.
    var standingEntries: Int {
        agenda.entries.count(where: stands) + lifetimes.entries.count(where: stands)
            + queue.entries.count(where: stands)
    }
}
