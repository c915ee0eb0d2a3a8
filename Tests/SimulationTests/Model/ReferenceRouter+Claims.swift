@testable import Routing

/// All the ways to claim: rules 3, 4, 6 and 8 to 10 of docs/design.md.
extension ReferenceRouter {
    mutating func claim(_ id: EventID, by peer: String) {
        guard isKnown(id) else { return refuse("UnknownEvent") }
        guard let item = item(id) else {
            out.append(.reply(.verdict(.recorded)))
            return note(.claim, of: id, by: peer, .recorded)
        }
        // The claimant hears of it before everybody else.
        let verdict = verdict(on: item)
        out.append(.reply(.verdict(verdict)))
        take(id, by: peer, as: .claim, latency: now.instant - item.accepted)
        endIfOverEarly(item.key)
    }

    func verdict(on item: Item) -> Verdict {
        switch item.place {
        case .window, .held, .waiting, .snoozed: .suppressed
        case .carried where isNotSent(item): .suppressed
        case .carried, .shown: behind(item.banner).count == 1 ? .retracted : .recorded
        // The publisher takes its banner down.
        case .gone: item.isOwnBanner ? .retracted : .recorded
        }
    }

    /// The outcome of a claimed event. It touches no other event; windows are looked at afterwards.
    mutating func take(
        _ id: EventID, by peer: String, as form: ClaimForm, latency: Duration, kind: NamedClaim.Kind = .claimed,
        place: ClaimPlace = ClaimPlace()
    ) {
        let item = item(id)!
        var resolution = Resolution(.retracted, claimant: peer, latency: latency)
        resolution.form = form
        resolution.verdict = verdict(on: item)
        switch item.place {
        case .window, .held, .waiting, .snoozed: resolution.outcome = .claimed
        case .carried: if isNotSent(item) { resolution.outcome = .claimed }
        case .shown, .gone:
            resolution.banner = item.number
            if kind == .dismissed { resolution.outcome = .dismissed }
        }
        resolution.place = place
        if kind == .withdrawn {
            resolution.outcome = .withdrawn
            outdate(item)
        }
        finish(id, resolution)
    }

    /// Everything that is open or shown at or below a topic, at one stroke.
    private mutating func takeAll(_ found: [EventID], by peer: String, as form: ClaimForm) {
        let keys = found.map { item($0)!.key }
        for id in found { take(id, by: peer, as: form, latency: now.instant - item(id)!.accepted) }
        for key in keys { endIfOverEarly(key) }
    }

    // MARK: Provisional claims

    mutating func hold(_ id: EventID, for time: Duration, by peer: String) {
        if time <= .zero || time > limits.maximumHold { return refuse("LimitExceeded") }
        guard isKnown(id) else { return refuse("UnknownEvent") }
        let item = item(id)
        let canBeHeld =
            item.map { item in
                !item.holds.contains { $0.claimant == peer }
                    && item.isOpen
                    && (item.place == .window || item.place == .waiting || isNotSent(item) || !item.holds.isEmpty)
            } ?? false
        if canBeHeld {
            let claimants = items.flatMap { $0.holds.map(\.claimant) }
            if item!.holds.count >= limits.holdersOfEvent || claimants.count >= limits.holds
                || share(of: peer, in: .holds) >= limits.holdsPerProgram
            {
                return refuse("LimitExceeded")
            }
        }
        let verdict = canBeHeld ? Verdict.suppressed : .recorded
        out.append(.reply(.verdict(verdict)))
        note(.provisional, of: id, by: peer, verdict)
        guard let item, canBeHeld else { return }
        let hold = Item.Hold(
            claimant: peer, latency: now.instant - item.accepted, ends: now.instant + time, stamp: stamp())
        change(id) { item in
            item.holds.append(hold)
            if item.place == .waiting || item.place == .carried { item.place = .held }
        }
        closeIfEmpty(item.banner)
        // The claimant's own screens have their answer; others are still asked, in case the claim comes to nothing.
        for screen in screens where screen.owner == peer { answered(screen.id, about: id) }
        if item.place == .window { endIfOverEarly(item.key) }
    }

    /// Every step that decides nothing is kept beside the event. How long after the event it came is not known here
    /// once the event is decided for good.
    mutating func note(_ step: ClaimForm, of id: EventID, by peer: String, _ verdict: Verdict) {
        let latency = item(id).map { now.instant - $0.accepted }
        out.append(.note(id, ClaimRecord(claimant: peer, latency: latency, form: step, verdict: verdict)))
    }

    mutating func complete(_ id: EventID, by peer: String) {
        guard isKnown(id) else { return refuse("UnknownEvent") }
        guard let item = item(id), let hold = item.holds.first(where: { $0.claimant == peer }) else {
            return refuse("NotClaimant")
        }
        out.append(.reply(.done))
        note(.completed, of: id, by: peer, .suppressed)
        take(id, by: peer, as: .provisional, latency: hold.latency)
        endIfOverEarly(item.key)
    }

    mutating func release(_ id: EventID, by peer: String) {
        guard isKnown(id) else { return refuse("UnknownEvent") }
        guard item(id)?.holds.contains(where: { $0.claimant == peer }) == true else { return refuse("NotClaimant") }
        out.append(.reply(.done))
        holdFailed(id, by: peer, .released)
    }

    /// When in doubt, show the banner: at once if the window is over, else at its deadline.
    ///
    /// Inside choice: lateness is counted from here.
    mutating func holdFailed(_ id: EventID, by peer: String, _ step: ClaimForm) {
        let now = now.instant
        note(step, of: id, by: peer, .recorded)
        change(id) { $0.holds.removeAll { $0.claimant == peer } }
        // Others still hold it.
        guard item(id)!.holds.isEmpty else { return }
        change(id) { item in
            if item.place == .held { item.deadline = now }
        }
        let item = item(id)!
        if item.place == .held { showOrSettle(id) } else { endIfOverEarly(item.key) }
    }

    // MARK: Topic claims

    mutating func claimTopic(_ topic: TopicPrefix, grace: Duration, by peer: String) {
        if grace > limits.maximumGrace { return refuse("LimitExceeded") }
        if grace > .zero, graces.count >= limits.graces { return refuse("LimitExceeded") }
        if grace > .zero, share(of: peer, in: .graces) >= limits.gracesPerProgram {
            return refuse("LimitExceeded")
        }
        let found = ids { topic.covers($0.topic) }
        out.append(.reply(.count(found.count)))
        takeAll(found, by: peer, as: .topic)
        out.append(.markRead(topic.description, lastID, by: peer, .topic))
        if grace > .zero {
            graces.append(Grace(topic: topic, claimant: peer, ends: now.instant + grace, stamp: stamp()))
        }
    }

    private var lastID: EventID { EventID(nextID.rawValue - 1) }

    /// What somebody has seen is claimed, up to an id.
    mutating func markRead(_ topic: TopicPrefix, upTo last: EventID, by peer: String) {
        let last = last == EventID(0) ? lastID : min(last, lastID)
        let found = ids { topic.covers($0.topic) && $0.id <= last }
        out.append(.reply(.count(found.count)))
        takeAll(found, by: peer, as: .read)
        out.append(.markRead(topic.description, last, by: peer, .read))
    }

    /// Inside choice: screens before topic claims, older before newer.
    func standingClaim(on topic: Topic) -> (claimant: String, form: ClaimForm)? {
        if let screen = screens.first(where: { $0.topic.covers(topic) && $0.mode == .auto && hasASay($0) }) {
            return (screen.owner, .screen)
        }
        return graces.first { $0.topic.covers(topic) }.map { ($0.claimant, .topic) }
    }

    // MARK: Screens

    func hasASay(_ screen: Standing) -> Bool {
        isWatched && configuration.screens.suppressingStates.contains(screen.state)
    }

    func asking(about topic: Topic) -> [ScreenID] {
        screens.filter { $0.topic.covers(topic) && $0.mode == .ask && hasASay($0) }.map(\.id)
    }

    /// Reports the topics that have got a screen with a say, and of those that have lost their last one.
    mutating func compareAttention() {
        let now = Set(screens.filter(hasASay).map(\.topic.description))
        for topic in now.symmetricDifference(attended).sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            out.append(.screensChanged(topic, now.contains(topic)))
        }
        attended = now
    }

    mutating func openScreen(_ topic: TopicPrefix, _ options: ScreenOptions, by peer: String) {
        if screens.count >= limits.screens { return refuse("LimitExceeded") }
        if screens.filter({ $0.owner == peer }).count >= limits.screensPerConnection { return refuse("LimitExceeded") }
        if share(of: peer, in: .screens) >= limits.screensPerProgram { return refuse("LimitExceeded") }
        let id = nextScreen
        nextScreen = ScreenID(id.rawValue + 1)
        screens.append(Standing(id: id, topic: topic, owner: peer))
        out.append(.reply(.screen(id)))
        change(id, options, claimedBefore: false)
    }

    mutating func updateScreen(_ id: ScreenID, _ options: ScreenOptions, by peer: String) {
        guard let screen = owned(id, by: peer) else { return }
        out.append(.reply(.done))
        change(id, options, claimedBefore: hasASay(screen) && screen.mode == .auto)
    }

    mutating func closeScreen(_ id: ScreenID, by peer: String) {
        guard owned(id, by: peer) != nil else { return }
        out.append(.reply(.done))
        endScreen(id)
    }

    private mutating func owned(_ id: ScreenID, by peer: String) -> Standing? {
        guard let screen = screens.first(where: { $0.id == id }) else {
            refuse("UnknownScreen")
            return nil
        }
        guard screen.owner == peer else {
            refuse("AccessDenied")
            return nil
        }
        return screen
    }

    private mutating func change(_ id: ScreenID, _ options: ScreenOptions, claimedBefore: Bool) {
        let index = screens.firstIndex { $0.id == id }!
        screens[index].mode = options.mode ?? screens[index].mode
        screens[index].state = options.state ?? screens[index].state
        screens[index].clears = options.clear ?? screens[index].clears
        if let lease = options.lease { screens[index].lease = lease == .zero ? nil : lease }
        screens[index].leaseEnds = screens[index].lease.map { now.instant + $0 }
        screens[index].leaseStamp = stamp()
        let screen = screens[index]
        let claims = hasASay(screen) && screen.mode == .auto
        // Inside choice: to renew a lease clears nothing, unless `clear` is asked for once more.
        if claims, screen.clears, !claimedBefore || options.clear == true {
            takeAll(ids { screen.topic.covers($0.topic) }, by: screen.owner, as: .screen)
            out.append(.markRead(screen.topic.description, lastID, by: screen.owner, .screen))
        }
        if !hasASay(screen) || screen.mode == .auto { passAll(id) }
    }

    /// A screen that ends counts as having passed.
    mutating func endScreen(_ id: ScreenID) {
        screens.removeAll { $0.id == id }
        passAll(id)
    }

    /// What takes the say from screens makes them pass.
    mutating func loseScreens(_ change: (inout ReferenceRouter) -> Void) {
        let before = screens.filter(hasASay).map(\.id)
        change(&self)
        for screen in screens where before.contains(screen.id) && !hasASay(screen) { passAll(screen.id) }
    }

    mutating func pass(_ id: EventID, by peer: String) {
        guard isKnown(id) else { return refuse("UnknownEvent") }
        out.append(.reply(.done))
        for screen in screens where screen.owner == peer { answered(screen.id, about: id) }
    }

    private mutating func passAll(_ screen: ScreenID) {
        for id in ids({ $0.asked.contains(screen) }) { answered(screen, about: id) }
    }

    mutating func answered(_ screen: ScreenID, about id: EventID) {
        guard let item = item(id), item.asked.contains(screen) else { return }
        change(id) { $0.asked.removeAll { $0 == screen } }
        if item.place == .window { endIfOverEarly(item.key) }
    }

    mutating func peerLeft(_ peer: String) {
        for screen in screens where screen.owner == peer { endScreen(screen.id) }
        for id in ids({ $0.holds.contains { $0.claimant == peer } }) { holdFailed(id, by: peer, .left) }
    }
}
