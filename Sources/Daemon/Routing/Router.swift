// Topics, ids and times are those of clients, and whoever uses the rules needs them.
@_exported public import NotifyText

/// Decides what becomes of every event: whether a claim is in time, when a banner is due, and which events it stands
/// for.
///
/// The router is a plain value: a call or a happening and the time go in, a list of effects comes out, and the answer
/// to a call. An event is in one place at a time:
///
///     published ─▶ window ─▶ waiting ─▶ in flight ─▶ shown ─▶ gone
///                    │          │           │          │        │
///                 claimed    claimed    retracted  retracted retracted
///
/// It starts in the window of its coalescing key. When the window ends, it waits for the notification server, is in
/// flight in a call to it, and is shown. A claim removes it from wherever it is. After its banner has disappeared it is
/// kept for a while, so that a late claim still finds it.
///
/// The rules of docs/design.md: this file, for what is published (1 and 2), `Router+Claims` (3, 4 and 6), `Window` (5).
/// `Events` has the events in memory and their windows, and alone changes their places; `Names` finds events by global
/// name and `collapse` key, and has the current value of each topic. `EventReader` loads events that are only in the
/// journal ("cold" ones), and `Router+Removing` takes events out of memory.
/// `Router+Banners` and `Router+BannerEnds` talk to the server. `Router+Holds`, `ScreenRegistry` and `AwaitedClaims`
/// are the other ways to claim; `QuietPeriods` holds banners back, `Digests` counts those for one banner afterwards,
/// `Router+Snoozing` lets them come back later. `Router+Replacing` ends events for their successors. Each of these
/// parts keeps its own state; only an extension of `Router` sees two of them.
public struct Router {
    var settings: Settings
    var events: Events
    var screens: ScreenRegistry
    var quietPeriods = QuietPeriods()
    var names: Names
    var banners = Banners()
    var timers = Timers()
    var output = Output()

    /// What the shell is to do, and what was counted.
    struct Output {
        /// Most inputs have few effects, and an array that grows moves its elements.
        private static let usualEffects = 4

        private var effects: [Effect] = []
        var statistics = Statistics()

        mutating func begin() { effects.reserveCapacity(Self.usualEffects) }
        mutating func append(_ effect: Effect) { effects.append(effect) }

        mutating func takeEffects() -> [Effect] {
            defer { effects = [] }
            return effects
        }
    }

    /// - Parameters:
    ///   - routes: the rules for topics.
    ///   - banners: the settings that apply to all banners.
    ///   - screenSettings: the settings that apply to all screens.
    ///   - limits: how far clients can make things grow.
    ///   - firstID: the id of the first event; above every id of earlier runs.
    ///   - oldestID: the smallest id that claims may name; `nil`: `firstID`.
    public init(
        routes: RouteTable, banners: BannerSettings = BannerSettings(),
        screens screenSettings: ScreenSettings = ScreenSettings(), limits: Limits = Limits(), firstID: EventID,
        oldestID: EventID? = nil
    ) {
        settings = Settings(routes: routes, banners: banners, limits: limits)
        events = Events(firstID: firstID, oldestID: oldestID ?? firstID)
        screens = ScreenRegistry(settings: screenSettings, firstID: ScreenID(firstID.rawValue))
        names = Names(limits: limits)
    }

    /// The configuration, which a reload replaces, and the limits.
    struct Settings {
        var routes: RouteTable
        var banners: BannerSettings
        let limits: Limits
    }

    var limits: Limits { settings.limits }

    /// Handles a call. What is not in memory is asked of the reader.
    ///
    /// - Returns: the answer, which leaves before what follows from it, and what the shell must do, in order. A call
    ///   that is refused may have effects too, such as arming a timer.
    public mutating func handle(
        _ call: Call, at now: Now, reading reader: some EventReader = NoEvents()
    ) -> (reply: Result<Reply, Refusal>, effects: [Effect]) {
        output.begin()
        let reply: Result<Reply, Refusal>
        do throws(Refusal) {
            reply = .success(try answer(call, at: now, reader))
        } catch {
            output.statistics[.refused] += 1
            reply = .failure(error)
        }
        return (reply, takeEffects(at: now))
    }

    private mutating func answer(_ call: Call, at now: Now, _ reader: some EventReader) throws(Refusal) -> Reply {
        switch call {
        case .published(let publication): return .accepted(try publish(publication, at: now, reader))
        case .claimed(let id, let claimant, let action):
            let age = try loadToDecide(id, by: claimant, at: now, reader)
            return .verdict(try claim(id, by: claimant, pressing: action, age: age, at: now))
        case .claimedNamed(let claim, let id): return .verdict(try claimNamed(claim, event: id, at: now, reader))
        case .claimedCold(let event, let claimant, let form):
            recall(event, at: now)
            guard remembers(event.event.id) else { return .verdict(.recorded) }
            let verdict = applyClaim(event.event.id, by: claimant, as: form, at: now)
            sendBanners(at: now)
            return .verdict(verdict)
        case .claimedProvisionally(let id, let duration, let claimant):
            let age = try cold(id, at: now, reader)?.age
            return .verdict(try hold(id, for: duration, by: claimant, age: age, at: now))
        case .answered(let id, let answer, let caller):
            _ = try cold(id, at: now, reader)
            try self.answer(id, answer, by: caller, at: now)
        case .withdrawn(let id, let publisher):
            _ = try loadToDecide(id, by: publisher, at: now, reader)
            try withdraw(id, by: publisher, at: now)
        case .topicClaimed(let topic, let claim, let claimant):
            try load(topic, at: now, reader)
            let count =
                switch claim {
                case .grace(let time): try claimTopic(topic, grace: time, by: claimant, at: now)
                case .read(let last): claimAll(atOrBelow: topic, upTo: last, by: claimant, as: .read, at: now)
                }
            sendBanners(at: now)
            return .count(count)
        case .screenOpened(let topic, let options, let owner):
            try restoreBanners(at: now, reader)
            return .screen(try openScreen(topic, options, by: owner, at: now))
        case .screenChanged(let id, let options, let caller):
            if options != nil { try restoreBanners(at: now, reader) }
            try changeScreen(id, options, by: caller, at: now)
        case .quieted(nil, let duration): quietPeriods.pause(for: duration, at: now.uptime, timers: &timers)
        case .quieted(let topic?, let duration):
            try quietPeriods.mute(topic, for: duration, limit: limits.mutes, at: now.uptime, timers: &timers)
        case .snoozed(let id, let duration, let caller): try snooze(id, for: duration, by: caller, at: now, reader)
        case .digestsCounted(let count):
            return try digestsCounted(count, at: now, reader).map { .accepted($0) } ?? .done
        }
        return .done
    }

    /// Handles what happens without a call.
    ///
    /// - Returns: what the shell must do, in order.
    public mutating func handle(_ happening: Happening, at now: Now) -> [Effect] {
        output.begin()
        switch happening {
        case .restored(let events): restore(events, at: now)
        case .stored(let unstored): stored(except: unstored, at: now)
        case .forgotten(let ids, let awaited): forget(ids, awaited: awaited, at: now)
        case .peer(let name, let news): learn(news, of: name, at: now)
        case .attentionChanged(let isWatched): attentionChanged(isWatched: isWatched, at: now)
        case .scheduled(let active): quietPeriods.setSchedules(active)
        case .desktopQuiet(let isQuiet):
            quietPeriods.setDesktop(isQuiet, isFollowed: settings.banners.followsDesktop)
        case .timerFired: fireTimers(at: now)
        case .server(.found): banners.server.serverFound(at: now.instant)
        case .server(.ready): serverAppeared(at: now)
        case .server(.gone): serverVanished(at: now)
        case .banner(let call, .sent): banners.callSent(call)
        case .banner(let call, .shown(let id)): bannerShown(call, id, at: now)
        case .banner(let call, .failed(let failure)): bannerFailed(call, failure, at: now)
        case .bannerClosed(let id, let reason): bannerClosed(id, reason, at: now)
        case .actionInvoked(let id, let action): actionInvoked(id, action)
        case .reconfigured(let routes, let banners, let screens): reconfigure(routes, banners, screens, at: now)
        }
        return takeEffects(at: now)
    }

    /// Ends an input.
    private mutating func takeEffects(at now: Now) -> [Effect] {
        for (topic, isAttended) in screens.takeAttentionChanges() {
            output.append(.screensChanged(topic, isAttended: isAttended))
        }
        if quietPeriods.beginCount(pauses: settings.banners.digestsPauses) { output.append(.countDigests) }
        let tables = quietPeriods.takeChanges()
        if !tables.isEmpty { output.append(.changed(tables)) }
        startServer(at: now)
        compactQueues()
        armTimers()
        return output.takeEffects()
    }

    /// When a connection leaves the bus, its screens close, and its provisional claims come to nothing.
    private mutating func learn(_ news: PeerNews, of name: String, at now: Now) {
        if case .left = news {
            closeScreens(of: name, at: now)
            for id in screens.holds.events(heldBy: name) { cancelHold(id, by: name, .left, at: now) }
            sendBanners(at: now)
        }
        events.learn(news, of: name)
        screens.learn(news, of: name)
        names.awaited.learn(news, of: name)
    }

    private mutating func reconfigure(
        _ routes: RouteTable, _ banners: BannerSettings, _ screenSettings: ScreenSettings, at now: Now
    ) {
        (settings.routes, settings.banners) = (routes, banners)
        quietPeriods.setDesktop(isFollowed: banners.followsDesktop)
        quietPeriods.digests.checkLater()
        for screen in screens.apply(settings: screenSettings) { pass(on: screen, at: now) }
        sendBanners(at: now)
    }

    // MARK: Events

    /// Gives an event its outcome and announces it.
    mutating func decide(_ tracked: TrackedEvent, _ resolution: Resolution) {
        var resolution = resolution
        // The first outcome says this; an event that was shown has had one.
        if tracked.isUndecided {
            resolution.opened = tracked.opened
            resolution.deadline = tracked.deadline
            resolution.isReplayed = tracked.isReplayed
            resolution.isOfEarlierBoot = tracked.isOfEarlierBoot
        }
        output.statistics[resolution.outcome] += 1
        output.append(.resolve(tracked.event.id, tracked.event.topic, resolution))
    }
}

/// Accepts events: rules 1 and 2 of docs/design.md. The first event of a coalescing key opens a window; further ones
/// extend it.
extension Router {
    /// Loads what a publication depends on: the event that it may repeat, the one that it replaces, and a named claim
    /// that came before it.
    private mutating func load(
        for publication: Publication, at now: Now, _ reader: some EventReader
    ) throws(Refusal) {
        let origin = publication.options.origin
        if origin.isGlobalID {
            try requireGivenName(origin)
            restoreNames(try reader.globalIDs(), at: now)
            if names.deduplicator.known(origin, at: now.uptime) == nil, let id = try stored(origin, reader) {
                names.deduplicator.record(origin, as: id, at: now.uptime, left: limits.deduplicationTime)
            }
        }
        if let key = publication.options.collapse.map({ CollapseKey(topic: publication.topic, text: $0) }),
            names.collapsing[key] == nil
        {
            try restoreBanners(at: now, reader)
            if names.collapsing[key] == nil, let earlier = try reader.event(replacedBy: key) {
                if case .undecided(let restoration) = earlier.state {
                    restore(restoration, at: now)
                } else {
                    recall(earlier, at: now)
                    keepRetractable(earlier.event)
                }
            }
        }
        if let claim = names.awaitedClaim(of: events.nextID, origin), !reader.permits(claim, at: publication.topic) {
            names.dropAwaited(claim.name, output: &output)
        }
    }

    /// - Returns: the id of the event, or of the first one with the same global id.
    mutating func publish(
        _ publication: Publication, at now: Now, _ reader: some EventReader
    ) throws(Refusal) -> EventID {
        try load(for: publication, at: now, reader)
        let route = settings.routes.route(for: publication.topic)
        try check(publication, route: route)
        let options = publication.options
        if let first = names.deduplicator.original(of: options.origin, at: now.uptime) {
            output.statistics[.repeated] += 1
            return first
        }
        if options.remove { return acceptRemoval(publication, at: now) }
        // The value of an event without a lifetime would be removed at once. With `if-newer` that matters: an older
        // value ends.
        let isValue = (options.lifetime != .zero || options.ifNewer) && (options.retain ?? route.retain)
        let (version, isOutdated) =
            isValue ? names.version(of: publication, as: events.nextID, at: now.uptime) : (nil, false)
        let isRetained = isValue && !isOutdated
        let fate = fate(of: publication, route, isOutdated: isOutdated)
        let event = Event(
            id: events.nextID, topic: publication.topic, title: publication.title, body: publication.body,
            fields: publication.fields, published: version?.published ?? options.published ?? publication.received,
            sender: publication.sender, origin: options.origin, urgency: options.urgency,
            // What is outdated takes nobody's place.
            collapse: isOutdated ? nil : options.collapse, retained: isRetained,
            appearanceOptions: options.appearance, route: route)
        if case .window = fate { try checkRoom(for: event) }
        if isRetained, options.lifetime != .zero {
            try names.values.checkRoom(for: event.topic, bytes: event.memoryCost, limits: limits)
        }

        let id = events.takeID()
        let earlier = event.collapse.flatMap { takeEarlier($0, for: id) }
        output.statistics[.published] += 1
        names.deduplicator.record(options.origin, as: id, at: now.uptime)
        let expires = now.uptime + (options.lifetime ?? route.lifetime)
        if isRetained, let version {
            names.setValue(version, of: event.topic, bytes: event.memoryCost, until: expires, timers: &timers)
        }
        var isOver = false
        let awaited = names.awaitedClaim(of: id, options.origin)
        switch fate {
        case .silent(let silence):
            output.statistics[.silent] += 1
            output.append(.announce(event, Announcement(window: nil, silence: silence, expires: expires)))
            if let awaited {
                output.append(.read(.event(id), by: awaited.claimant, from: awaited.place))
            } else if let screen = screens.claimant(of: event.topic) {
                output.append(.read(.event(id), by: screen.owner))
            }
        case .claimedBefore(let claim): announce(event, claimedBefore: claim, expires: expires)
        case .claimed(let claimant, let form): announce(event, claimed: (claimant, form), expires: expires)
        case .expired:
            output.statistics[.expired] += 1
            output.append(.announce(event, Announcement(window: nil, expires: expires)))
            output.append(.resolve(id, event.topic, Resolution(.expired)))
        case .window: isOver = openWindow(for: event, length: options.window ?? route.window, expires: expires, at: now)
        }
        if let awaited { names.endAwait(of: awaited, for: id, output: &output) }
        if isRetained, options.lifetime == .zero { endValue(of: event.topic, .replaced, at: now) }
        if let earlier { replace(earlier, by: event, at: now) }
        if isOver { closeWindowIfDone(event.key, at: now) }
        if isOver || earlier != nil { sendBanners(at: now) }
        return id
    }

    /// What is decided about an event on arrival.
    private enum Fate {
        case silent(Silence)
        /// A named claim came before it.
        case claimedBefore(NamedClaim)
        /// By a screen, or a topic claim with a grace.
        case claimed(by: String, ClaimForm)
        /// It has no lifetime.
        case expired
        /// Claims are awaited.
        case window
    }

    /// - Parameter isOutdated: whether its topic has a newer value.
    private func fate(of publication: Publication, _ route: Route, isOutdated: Bool) -> Fate {
        let options = publication.options
        if isOutdated { return .silent(.newerValue) }
        if !route.banner { return .silent(.route) }
        if options.banner == false { return .silent(.publisher) }
        if let claim = names.awaitedClaim(of: events.nextID, options.origin) { return .claimedBefore(claim) }
        if let claim = screens.standingClaim(on: publication.topic) { return .claimed(by: claim.claimant, claim.form) }
        return options.lifetime == .zero ? .expired : .window
    }

    /// Announces an event that is claimed on arrival.
    ///
    /// - Parameter age: how long ago it was accepted; `nil` for an event of an earlier boot.
    mutating func announce(
        _ event: Event, claimed claim: (claimant: String, form: ClaimForm), as outcome: Outcome = .claimed,
        from place: ClaimPlace = ClaimPlace(), expires: Uptime, age: Duration? = .zero, isReplayed: Bool = false
    ) {
        output.statistics[outcome] += 1
        output.append(
            .announce(event, Announcement(window: nil, isClaimed: true, isReplayed: isReplayed, expires: expires)))
        var resolution = Resolution(outcome, claimant: claim.claimant, latency: age)
        resolution.form = claim.form
        resolution.place = place
        resolution.verdict = .suppressed
        resolution.isReplayed = isReplayed
        resolution.isOfEarlierBoot = age == nil
        output.append(.resolve(event.id, event.topic, resolution))
    }

    /// Announces an event and awaits claims in its window.
    ///
    /// - Parameter age: how long ago it was accepted; `nil` for an event of an earlier boot.
    /// - Returns: whether the window is to be ended at once.
    mutating func openWindow(
        for event: Event, length: Duration, expires: Uptime, age: Duration? = .zero, isReplayed: Bool = false,
        at now: Now
    ) -> Bool {
        let asked = ask(about: event)
        let isAwaited = TrackedEvent.isAwaited(event, asked: asked, isReplayed: isReplayed)
        // Most events are claimed or shown soon. Of very many, most wait.
        let kept = events.undecided.total.count < limits.unpackedEvents ? event : Event(packing: event)
        let window = events.addToWindow(
            kept, length: length, isAwaited: isAwaited, isReplayed: isReplayed, at: now.instant, timers: &timers)
        let deadline = window.deadline
        let isOver = window.canEndEarly
        keep(
            TrackedEvent(
                kept, in: .window(kept.key), age: age, expires: expires, opened: window.opened, deadline: deadline,
                asked: asked, isReplayed: isReplayed, at: now))
        output.append(
            .announce(
                event,
                Announcement(window: isOver ? .zero : deadline - now.instant, isReplayed: isReplayed, expires: expires))
        )
        return isOver
    }

    private func check(_ publication: Publication, route: Route) throws(Refusal) {
        if publication.title.utf8.count > limits.titleBytes {
            throw .tooLarge("the title has \(publication.title.utf8.count) bytes, \(limits.titleBytes) are allowed")
        }
        if publication.body.utf8.count > limits.bodyBytes {
            throw .tooLarge("the body has \(publication.body.utf8.count) bytes, \(limits.bodyBytes) are allowed")
        }
        if publication.size > limits.messageBytes {
            throw .tooLarge("the message has \(publication.size) bytes, \(limits.messageBytes) are allowed")
        }
        for (name, type) in route.required {
            guard let field = publication.fields.first(where: { $0.name.bytes == name.bytes }) else {
                let advice = publication.method == .send ? "; Send cannot give fields, use Publish" : ""
                throw .invalidEvent("the route \(route.name) requires the field '\(name)' (\(type.rawValue))\(advice)")
            }
            guard type.admits(field.value) else {
                throw .invalidEvent(
                    "the route \(route.name) requires the field '\(name)' as \(type.rawValue); "
                        + "it has type \(field.value.signature)")
            }
        }
    }

    private func checkRoom(for event: Event) throws(Refusal) {
        try events.checkRoom(for: event, limits: limits)
        if screens.questions >= limits.questions, !screens.asked(about: event.topic).isEmpty {
            throw .limitExceeded(
                "questions to screens: \(limits.questions) answers are awaited already; "
                    + "try again when screens have claimed or passed")
        }
    }
}
