import NotifyText

/// Taking events in: rules 1 and 2. A window belongs to a coalescing key; the first event opens it, a further one of the
/// same key extends it.
extension Router {
    mutating func publish(_ publication: Publication, at now: Now) {
        let route = routes.route(for: publication.topic)
        if let refusal = check(publication, route: route) { return refuse(refusal) }
        let options = publication.options
        if let first = repeats.first(options.origin, at: now.uptime) {
            statistics.repeated += 1
            return effects.append(.reply(.accepted(first)))
        }
        if options.remove { return acceptRemoval(publication, at: now) }
        let silence: Silence? = !route.banner ? .route : options.banner == false ? .publisher : nil
        let claim = silence == nil ? standingClaim(on: publication.topic) : nil
        let isRetained = options.retain ?? route.retain
        let event = Event(
            id: nextID, topic: publication.topic, title: publication.title, body: publication.body,
            fields: publication.fields, published: options.published ?? publication.received,
            sender: publication.sender, origin: options.origin, urgency: options.urgency,
            retained: isRetained, route: route)
        if silence == nil, claim == nil, let refusal = checkRoom(for: event) { return refuse(refusal) }
        if isRetained, let refusal = checkRoom(forValue: event) { return refuse(refusal) }

        let id = takeID()
        statistics.published += 1
        repeats.remember(options.origin, as: id, at: now.uptime)
        let expires = now.uptime + (options.lifetime ?? route.lifetime)
        effects.append(.reply(.accepted(id)))
        if isRetained { keepValue(id, of: event.topic, bytes: event.footprint, until: expires) }
        if let silence {
            statistics.count(.silent)
            effects.append(.announce(event, Announcement(window: nil, silence: silence, expires: expires)))
        } else if let claim {
            announce(event, claimed: claim, expires: expires)
        } else {
            open(event, length: options.window ?? route.window, expires: expires, at: now)
        }
    }

    mutating func takeID() -> EventID {
        defer { nextID = EventID(nextID.rawValue + 1) }
        return nextID
    }

    /// Tells of an event that somebody claims on arrival.
    mutating func announce(
        _ event: Event, claimed claim: (claimant: String, form: ClaimForm), expires: Uptime, isReplayed: Bool = false
    ) {
        statistics.count(.claimed)
        effects.append(.announce(event, Announcement(window: nil, isReplayed: isReplayed, expires: expires)))
        var resolution = Resolution(.claimed, claimant: claim.claimant, latency: .zero)
        resolution.form = claim.form
        resolution.isReplayed = isReplayed
        effects.append(.resolve(event.id, event.topic, resolution))
    }

    /// Lets claims for an event be awaited, as long as there is somebody to wait for.
    mutating func open(_ event: Event, length: Duration, expires: Uptime, isReplayed: Bool = false, at now: Now) {
        let key = event.route.key(topic: event.topic, event: event.id)
        let asked = ask(about: event)
        let isAwaited = OpenEvent.isAwaited(event, asked: asked)
        let window = join(
            event, key: key, length: length, isAwaited: isAwaited, isReplayed: isReplayed, at: now.instant)
        let deadline = window.deadline
        let isOver = window.isOverEarly
        let open = OpenEvent(
            event: event, accepted: now.instant, expires: expires, place: .window(key),
            opened: window.opened, deadline: deadline, asked: asked, isReplayed: isReplayed)
        events[event.id] = open
        noteUndecided(open)
        effects.append(
            .announce(
                event,
                Announcement(window: isOver ? .zero : deadline - now.instant, isReplayed: isReplayed, expires: expires))
        )
        if isOver {
            endWindow(key, at: now)
            sendBanners(at: now)
        }
    }

    /// Puts the event into its key's window, which is opened for it where there is none.
    private mutating func join(
        _ event: Event, key: CoalescingKey, length: Duration, isAwaited: Bool, isReplayed: Bool, at now: Instant
    ) -> Window {
        var window = windows[key] ?? Window(length: length, maximum: event.route.maximumWindow, at: now)
        let before = window.ticket == nil ? nil : window.deadline
        window.add(event.id, length: length, isAwaited: isAwaited, at: now)
        // What comes late of an earlier run's events is no stream of new ones: it gets its whole window.
        if isReplayed { window.keepOpen(until: now + length) }
        if window.deadline != before { window.ticket = agenda.put(.window(key), at: window.deadline) }
        windows[key] = window
        return window
    }

    mutating func refuse(_ refusal: Refusal) {
        statistics.refused += 1
        effects.append(.reply(.refused(refusal)))
    }

    private func check(_ publication: Publication, route: Route) -> Refusal? {
        if publication.title.utf8.count > limits.titleBytes {
            return .tooLarge("the title has \(publication.title.utf8.count) bytes, \(limits.titleBytes) are allowed")
        }
        if publication.body.utf8.count > limits.bodyBytes {
            return .tooLarge("the body has \(publication.body.utf8.count) bytes, \(limits.bodyBytes) are allowed")
        }
        if publication.size > limits.messageBytes {
            return .tooLarge("the message has \(publication.size) bytes, \(limits.messageBytes) are allowed")
        }
        for (name, type) in route.required {
            guard let field = publication.fields.first(where: { $0.name.bytes == name.bytes }) else {
                let advice = publication.method == .send ? "; Send cannot give fields, use Publish" : ""
                return .invalidEvent("the route \(route.name) requires the field '\(name)' (\(type.rawValue))\(advice)")
            }
            guard type.admits(field.value) else {
                return .invalidEvent(
                    "the field '\(name)' has type \(field.value.signature); "
                        + "the route \(route.name) requires it as \(type.rawValue)")
            }
        }
        return nil
    }

    private func checkRoom(for event: Event) -> Refusal? {
        if pending >= limits.openEvents {
            return .limitExceeded(
                "undecided events: there are \(limits.openEvents) already; try again when some have been claimed or shown"
            )
        }
        let charge = undecidedBySender[event.sender] ?? Charge()
        if charge.events >= limits.openEventsPerSender {
            return .limitExceeded(
                "undecided events of one sender: there are \(charge.events) of yours already; "
                    + "try again when some have been claimed or shown")
        }
        if undecidedBytes + event.footprint > limits.openBytes {
            return .limitExceeded(
                "bytes of undecided events: with this event it would be more than \(limits.openBytes); "
                    + "try again when some have been claimed or shown")
        }
        if charge.bytes + event.footprint > limits.openBytesPerSender {
            return .limitExceeded(
                "bytes of undecided events of one sender: with this event yours would be more than "
                    + "\(limits.openBytesPerSender); try again when some have been claimed or shown")
        }
        if screens.questions >= limits.questions, !screens.asked(about: event.topic).isEmpty {
            return .limitExceeded(
                "questions to screens: \(limits.questions) answers are awaited already; "
                    + "try again when screens have claimed or passed")
        }
        return nil
    }
}
