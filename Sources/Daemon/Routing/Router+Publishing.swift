import NotifyText

/// Accepts events: rules 1 and 2 of docs/design.md. The first event of a coalescing key opens a window; further ones
/// extend it.
extension Router {
    /// Counts an event that is refused before it reaches the router.
    public mutating func countRefusal() { output.statistics[.refused] += 1 }

    /// Takes in what decides about a publication: the event that it may repeat, the one in whose place it comes, and a
    /// claim that has come before it.
    mutating func load(for publication: Publication, at now: Now, _ reader: some EventReader) throws(Refusal) {
        let origin = publication.options.origin
        if origin.isGlobalID {
            try requireGivenName(origin)
            restoreNames(try reader.globalIDs(), at: now)
            if names.known(origin, at: now.uptime) == nil, let id = try stored(origin, reader) {
                names.record(origin, as: id, at: now.uptime, left: limits.deduplicationTime)
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
    mutating func publish(_ publication: Publication, at now: Now) throws(Refusal) -> EventID {
        let route = settings.routes.route(for: publication.topic)
        try check(publication, route: route)
        let options = publication.options
        if let first = names.original(of: options.origin, at: now.uptime) {
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
        names.record(options.origin, as: id, at: now.uptime)
        let expires = now.uptime + (options.lifetime ?? route.lifetime)
        if isRetained, let version {
            names.setValue(version, of: event.topic, bytes: event.memoryCost, until: expires, timers: &timers)
        }
        var isOver = false
        let awaited = names.awaitedClaim(of: id, options.origin)
        switch fate {
        case .silent(let silence):
            output.statistics.count(.silent)
            output.append(.announce(event, Announcement(window: nil, silence: silence, expires: expires)))
            if let awaited {
                output.append(.read(.event(id), by: awaited.claimant, from: awaited.place))
            } else if let screen = screens.claimant(of: event.topic) {
                output.append(.read(.event(id), by: screen.owner))
            }
        case .claimedBefore(let claim): announce(event, claimedBefore: claim, expires: expires)
        case .claimed(let claimant, let form): announce(event, claimed: (claimant, form), expires: expires)
        case .expired:
            output.statistics.count(.expired)
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

    /// What becomes of an event as it comes.
    private enum Fate {
        case silent(Silence)
        /// It was claimed before it came.
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
        output.statistics.count(outcome)
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
                    "the field '\(name)' has type \(field.value.signature); "
                        + "the route \(route.name) requires it as \(type.rawValue)")
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
