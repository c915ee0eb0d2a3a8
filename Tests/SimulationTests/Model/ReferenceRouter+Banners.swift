@testable import Routing

/// Banners and the server that shows them: rule 19 of docs/design.md.
extension ReferenceRouter {
    /// Every event behind a banner that nobody has claimed.
    func behind(_ key: Key) -> [Item] {
        items.filter { $0.banner == key && [.waiting, .carried, .shown].contains($0.place) }
    }

    mutating func wait(_ id: EventID, for key: Key) {
        let stamp = stamp()
        change(id) { item in
            item.place = .waiting
            item.banner = key
            item.waitingStamp = stamp
        }
        if banner(key) == nil { banners.append(Up(key: key)) }
        lineUp(key)
    }

    /// - Parameter leaving: an event that is behind the banner still, and not in a moment.
    mutating func lineUp(_ key: Key, without leaving: EventID? = nil) {
        if hasSomethingToSay(key, without: leaving), key != .summary || summaryRest == nil, !line.contains(key) {
            line.append(key)
        }
    }

    /// There is news, or what the server shows is no longer true; the latter can wait for a successor.
    private func hasSomethingToSay(_ key: Key, without leaving: EventID? = nil) -> Bool {
        let behind = behind(key).filter { $0.id != leaving }
        if behind.contains(where: { $0.place == .waiting }) { return true }
        guard let banner = banner(key), banner.isOutdated, banner.number != nil else { return false }
        return banner.successor == nil && behind.contains { $0.place == .shown }
    }

    /// A banner with no unclaimed event behind it and no successor is closed; while a call for it is under way, that
    /// waits for the answer.
    mutating func closeIfEmpty(_ key: Key) {
        guard let banner = banner(key), banner.call == nil, behind(key).isEmpty else { return }
        if let number = banner.number {
            if banner.successor != nil { return }
            out.append(.close(number))
        }
        forget(key)
    }

    private mutating func forget(_ key: Key) {
        change(key) { banner in
            banner.number = nil
            banner.isOutdated = false
        }
        guard let banner = banner(key), banner.call == nil, behind(key).isEmpty else { return }
        banners.removeAll { $0.key == key }
        line.removeAll { $0 == key }
    }

    // MARK: Asking for banners

    /// Four calls at once, where banners are limited each with a head start of a tenth of a second; after three
    /// failures in a row none for 30 s, and then one to see whether the server is well.
    private var mayCall: Bool {
        serverIsThere && serverRest == nil && ahead == nil
            && banners.filter { $0.call != nil }.count < (failures >= 3 ? 1 : 4)
    }

    mutating func sendBanners() {
        while mayCall, !line.isEmpty {
            let key = line.removeFirst()
            // It lines up again when the answer is there.
            if banner(key)?.call != nil { continue }
            // What has been waiting is looked at once more.
            for id in waiting(key) {
                if item(id)!.expires <= now.uptime {
                    finish(id, Resolution(.expired))
                } else if let quiet = quiet(holding: item(id)!) {
                    finish(id, muted(item(id)!, by: quiet))
                }
            }
            guard hasSomethingToSay(key), let banner = banner(key) else { continue }
            let newest = waiting(key).last ?? shown(key).last!
            if banner.number == nil, key != .summary, !admit(item(newest)!.sender) {
                for id in waiting(key) { wait(id, for: .summary) }
                forget(key)
            } else {
                send(key, newest)
            }
        }
    }

    private func waiting(_ key: Key) -> [EventID] { ids { $0.place == .waiting && $0.banner == key } }

    private func shown(_ key: Key) -> [EventID] { ids { $0.place == .shown && $0.banner == key } }

    /// Inside choice: so many new banners appear within a second, whoever sent their newest event. One in five, and one
    /// at least where there are two, is kept for senders of whom nothing has appeared in that second. An update in
    /// place is not a new banner.
    private mutating func admit(_ sender: String) -> Bool {
        let limit = configuration.banners.maximumPerSecond
        if limit == 0 { return true }
        let appeared = recent.filter { now.instant < $0.at + .seconds(1) }
        let isQuiet = !appeared.contains { $0.sender == sender }
        let kept = limit == 1 ? 0 : limit < 10 ? 1 : limit / 5
        if appeared.count >= (isQuiet ? limit : limit - kept) { return false }
        recent.append((now.instant, sender))
        return true
    }

    private mutating func send(_ key: Key, _ newest: EventID) {
        lastCall += 1
        name(banner(key)!, startingWith: waiting(key).first)
        let call = Up.Call(id: BannerCall(lastCall), at: now.instant, stamp: stamp(), obstacles: obstacles.count)
        for id in waiting(key) { change(id) { $0.place = .carried } }
        change(key) { $0.call = call }
        let isLimited = configuration.banners.maximumPerSecond > 0
        ahead = isLimited ? (call.id, Moment(at: now.instant + .milliseconds(100), stamp: stamp())) : nil
        // Inside choice: the summary is updated at most once a second.
        if key == .summary { summaryRest = Moment(at: now.instant + .seconds(1), stamp: stamp()) }
        let count = behind(key).count
        let others = behind(key).map(\.id).filter { $0 != newest }.sorted(by: >).prefix(2)
        newCalls.append(call.id)
        out.append(
            .show(
                newest: newest, others: Array(others), count: count, replaces: banner(key)!.number,
                isSummary: key == .summary && count > 1))
    }

    /// Inside choice: a banner that begins with a snoozed event takes an id, because it cannot be named after the
    /// event.
    private mutating func name(_ banner: Up, startingWith first: EventID?) {
        if let first, banner.number == nil, item(first)!.snooze != nil { _ = takeID() }
    }

    mutating func summaryRestEnded() {
        ended(.limited, since: summaryRest!.at.before(by: .seconds(1)))
        summaryRest = nil
        lineUp(.summary)
    }

    mutating func bannerSent(_ call: BannerCall) {
        if let key = banners.first(where: { $0.call?.id == call })?.key { change(key) { $0.call?.isSent = true } }
    }

    /// Whether the server cannot have been asked for the event's banner yet.
    func isNotSent(_ item: Item) -> Bool { item.place == .carried && banner(item.banner)?.call?.isSent == false }

    // MARK: Answers

    mutating func bannerShown(_ call: BannerCall, _ answer: BannerID?) {
        guard let banner = banners.first(where: { $0.call?.id == call }) else { return answeredLate(call, answer) }
        let key = banner.key
        serverIsWell()
        callEnded(key, .busy)
        if let answer { number(key, answer) }
        show(ids { $0.banner == key && $0.place == .carried }, in: key, by: banner.call!)
        change(key) { $0.isOutdated = banner.call!.isOutdated }
        closeIfEmpty(key)
        lineUp(key)
    }

    /// A number stands for one banner: another that had it is gone.
    private mutating func number(_ key: Key, _ number: BannerID) {
        for other in banners where other.number == number && other.key != key { lose(other.key) }
        change(key) { $0.number = number }
        for id in ids({ $0.banner == key && $0.place == .shown }) { change(id) { $0.number = number } }
    }

    private mutating func show(_ shown: [EventID], in key: Key, by call: Up.Call) {
        let number = banner(key)!.number
        let count = items.filter { $0.banner == key && $0.place == .shown }.count + shown.count
        for id in shown {
            let lateness = max(.zero, call.at - item(id)!.deadline)
            var resolution = Resolution(.shown, banner: number, count: count, lateness: lateness)
            resolution.delay = delay(of: item(id)!, in: key, by: call)
            resolution.quiet = quietBroken(by: item(id)!)
            resolve(item(id)!, resolution)
            change(id) { item in
                item.place = number == nil ? .gone : .shown
                item.number = number
                item.snooze = nil
            }
            remember(id)
        }
    }

    /// The publisher hears that it is shown, and the server nothing.
    mutating func leaveToPublisher(_ item: Item) {
        var resolution = Resolution(.shown, count: 1, lateness: max(.zero, now.instant - item.deadline))
        resolution.quiet = quietBroken(by: item)
        resolve(item, resolution)
        change(item.id) { item in
            item.place = .gone
            item.snooze = nil
        }
        remember(item.id)
    }

    /// What a banner waited for longest between the end of the window and the call.
    ///
    /// Inside choice: only the last stretch of each thing counts, and of two that are as long the one that says more is
    /// named. Only the summary waits because of the limit.
    private func delay(of item: Item, in key: Key, by call: Up.Call) -> BannerDelay? {
        var answer: (what: BannerDelay, length: Int64)?
        for what in [BannerDelay.absent, .resting, .failed, .limited, .busy] where what != .limited || key == .summary {
            var began = Int64.min
            var ended = Int64.min
            for obstacle in obstacles.prefix(call.obstacles) where obstacle.what == what {
                let isNew = obstacle.began.microseconds > ended
                began = isNew ? obstacle.began.microseconds : min(began, obstacle.began.microseconds)
                ended = obstacle.ended.microseconds
            }
            let first = max(began, item.deadline.microseconds)
            if ended > first, ended - first > answer?.length ?? 0 { answer = (what, ended - first) }
        }
        return answer?.what
    }

    /// Inside choice: the oldest shown event is forgotten when there are too many, claimed or not. Its banner stays up.
    private mutating func remember(_ id: EventID) {
        shownOrder.append(id)
        guard shownOrder.count > limits.retractableEvents else { return }
        let oldest = shownOrder.removeFirst()
        guard let item = item(oldest) else { return }
        items.removeAll { $0.id == oldest }
        guard item.place == .shown, behind(item.banner).isEmpty, let banner = banner(item.banner) else { return }
        if banner.call == nil, banner.successor == nil { forget(item.banner) }
    }

    mutating func bannerFailed(_ call: BannerCall, _ failure: BannerFailure) {
        overdue.removeAll { $0.call.id == call }
        guard let banner = banners.first(where: { $0.call?.id == call }) else { return }
        waitAgain(banner.key, failure == .noAnswer ? .failed : .busy)
        switch failure {
        case .notAsked:
            closeIfEmpty(banner.key)
        case .unknownBanner:
            serverIsWell()
            lose(banner.key)
        case .noAnswer:
            serverFailed()
            closeIfEmpty(banner.key)
        }
    }

    /// An answer is awaited for five seconds. What comes later is still understood.
    mutating func callOverdue(_ call: BannerCall) {
        let banner = banners.first { $0.call?.id == call }!
        let carried = ids { $0.banner == banner.key && $0.place == .carried }
        overdue.append(Overdue(call: banner.call!, key: banner.key, carried: carried))
        if overdue.count > limits.timedOutCalls { overdue.remove(at: oldestOverdue) }
        waitAgain(banner.key, .failed)
        serverFailed()
        closeIfEmpty(banner.key)
    }

    private var oldestOverdue: Int {
        overdue.indices.min { overdue[$0].call.id.rawValue < overdue[$1].call.id.rawValue }!
    }

    private mutating func callEnded(_ key: Key, _ obstacle: BannerDelay) {
        guard let call = banner(key)?.call else { return }
        if call.id == ahead?.call { ahead = nil }
        change(key) { $0.call = nil }
        ended(obstacle, since: call.at)
    }

    mutating func headStartEnded() {
        ended(.busy, since: banners.first { $0.call?.id == ahead!.call }!.call!.at)
        ahead = nil
    }

    private mutating func waitAgain(_ key: Key, _ obstacle: BannerDelay) {
        callEnded(key, obstacle)
        for id in ids({ $0.banner == key && $0.place == .carried }) { wait(id, for: key) }
        lineUp(key)
    }

    private mutating func serverFailed() {
        failures += 1
        if failures < 3 { return }
        serverRest = Moment(at: now.instant + .seconds(30), stamp: stamp())
        if firstRest == nil { firstRest = now.instant }
    }

    private mutating func serverIsWell() {
        failures = 0
        if serverRest == nil { firstRest = nil }
    }

    /// One rest after the other is a single one, until the server has been well.
    mutating func serverRestEnded() {
        ended(.resting, since: firstRest!)
        serverRest = nil
        if failures == 0 { firstRest = nil }
    }

    /// The banner is there after all: it is kept where its events still wait for one, else closed. The server is well,
    /// and has a tenth of a second for its other late answers.
    private mutating func answeredLate(_ call: BannerCall, _ answer: BannerID?) {
        guard let late = overdue.first(where: { $0.call.id == call }) else { return }
        overdue.removeAll { $0.call.id == call }
        guard let answer else { return }
        serverIsWell()
        if let rest = serverRest {
            serverRest = Moment(at: min(rest.at, now.instant + .milliseconds(100)), stamp: stamp())
        }
        let waiting = waiting(late.key).filter { late.carried.contains($0) }
        if let banner = banner(late.key), banner.call == nil, banner.number == nil || banner.number == answer,
            !waiting.isEmpty
        {
            name(banner, startingWith: waiting.first)
            number(late.key, answer)
            show(waiting, in: late.key, by: late.call)
            change(late.key) { $0.isOutdated = late.call.isOutdated }
            lineUp(late.key)
        } else if banner(late.key)?.number != answer {
            if let other = banners.first(where: { $0.number == answer }) { lose(other.key) }
            out.append(.close(answer))
        } else if late.call.isOutdated, banner(late.key)?.call == nil {
            change(late.key) { $0.isOutdated = true }
            lineUp(late.key)
        }
    }

    // MARK: Closing

    mutating func bannerClosed(_ number: BannerID, _ reason: ClosingReason) {
        guard let banner = banners.first(where: { $0.number == number }) else { return }
        let shown = ids { $0.banner == banner.key && $0.place == .shown }
        if shown.contains(where: { item($0)!.hasButtons }) {
            lose(banner.key)
            settle(number)
            let until = Moment(at: now.instant + .milliseconds(100), stamp: stamp())
            return closed.append((number, shown, banner.key == .summary, reason == .dismissed, until))
        }
        guard reason == .dismissed else { return lose(banner.key) }
        dismiss(shown, number)
        forget(banner.key)
    }

    private mutating func dismiss(
        _ ids: [EventID], _ number: BannerID, _ action: String? = nil, of pressed: EventID? = nil
    ) {
        for id in ids {
            var resolution = Resolution(.dismissed, banner: number)
            resolution.action = id == pressed ? action : nil
            resolve(item(id)!, resolution)
            items.removeAll { $0.id == id }
        }
    }

    /// A banner with buttons was closed, and in a tenth of a second no button was reported.
    mutating func settle(_ number: BannerID) {
        let settled = closed.filter { $0.number == number && $0.isDismissed }
        closed.removeAll { $0.number == number }
        for closed in settled { dismiss(closed.events.filter { isGone($0, number) }, number) }
    }

    private func isGone(_ id: EventID, _ number: BannerID) -> Bool {
        item(id)?.place == .gone && item(id)?.number == number
    }

    /// The banner went away by itself: a late claim still finds its events.
    private mutating func lose(_ key: Key) {
        for id in ids({ $0.banner == key && $0.place == .shown }) { change(id) { $0.place = .gone } }
        forget(key)
    }

    /// The user pressed a button, which closes the banner unless it is resident.
    mutating func actionInvoked(_ number: BannerID, _ action: String) {
        if let banner = banners.first(where: { $0.number == number }) {
            let shown = ids { $0.banner == banner.key && $0.place == .shown }
            guard let pressed = shown.last(where: { item($0)!.offers(action) }),
                banner.key != .summary || shown.count == 1
            else { return }
            out.append(.relay(pressed, action: action))
            if item(pressed)!.isResident { return }
            dismiss(shown, number, action, of: pressed)
            guard banner.call == nil else { return }
            out.append(.close(number))
            forget(banner.key)
        } else if let index = closed.firstIndex(where: { $0.number == number }) {
            let gone = closed[index].events.filter { isGone($0, number) }
            guard let pressed = gone.last(where: { item($0)!.offers(action) }),
                !closed[index].isSummary || gone.count == 1
            else { return }
            closed.remove(at: index)
            out.append(.relay(pressed, action: action))
            dismiss(gone, number, action, of: pressed)
        }
    }

    // MARK: The server

    mutating func serverAppeared() {
        if serverIsThere { serverVanished() }
        serverIsThere = true
        ended(.absent, since: serverLeft)
    }

    /// Its banners are gone, its numbers void, its answers lost: what was on its way waits again.
    mutating func serverVanished() {
        serverIsThere = false
        for number in closed.map(\.number).sorted(by: { $0.rawValue < $1.rawValue }) { settle(number) }
        if serverRest != nil { serverRestEnded() }
        ahead = nil
        failures = 0
        firstRest = nil
        serverLeft = now.instant
        overdue = []
        // What was asked for longest ago kept back all others.
        let calls = banners.compactMap(\.call)
        for call in calls.sorted(by: { $0.at < $1.at }) { ended(.busy, since: call.at) }
        for key in banners.map(\.key) {
            change(key) {
                $0.call = nil
                $0.successor = nil
            }
            waitAgain(key, .busy)
            lose(key)
        }
    }
}
