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
        let isSilent = !route.banner || options.banner == false
        if !isSilent, let refusal = checkRoom(for: publication.sender) { return refuse(refusal) }

        let id = nextID
        nextID = EventID(id.rawValue + 1)
        statistics.published += 1
        repeats.remember(options.origin, as: id, at: now.uptime)
        let event = Event(
            id: id, topic: publication.topic, title: publication.title, body: publication.body,
            fields: publication.fields, published: options.published ?? publication.received,
            sender: publication.sender, origin: options.origin, urgency: options.urgency,
            retained: options.retain ?? route.retain, route: route)
        effects.append(.reply(.accepted(id)))
        if isSilent {
            statistics.count(.silent)
            effects.append(.announce(event, Announcement(window: nil)))
        } else {
            let key = route.key(topic: event.topic, event: id)
            let deadline = join(event, key: key, length: options.window ?? route.window, at: now.instant)
            events[id] = OpenEvent(
                event: event, accepted: now.instant, expires: now.uptime + (options.lifetime ?? route.lifetime),
                place: .window(key), deadline: deadline)
            undecided += 1
            undecidedBySender[event.sender, default: 0] += 1
            effects.append(.announce(event, Announcement(window: deadline - now.instant)))
        }
    }

    /// Puts the event into its key's window, and says when that ends.
    private mutating func join(_ event: Event, key: CoalescingKey, length: Duration, at now: Instant) -> Instant {
        if let before = windows[key]?.deadline {
            windows[key]!.add(event.id, length: length, at: now)
            let deadline = windows[key]!.deadline
            if deadline != before { agenda.put(.window(key), at: deadline) }
            return deadline
        }
        let window = Window(openedBy: event.id, length: length, maximum: event.route.maximumWindow, at: now)
        windows[key] = window
        agenda.put(.window(key), at: window.deadline)
        return window.deadline
    }

    private mutating func refuse(_ refusal: Refusal) {
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
            guard let field = publication.fields.first(where: { $0.name == name }) else {
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

    private func checkRoom(for sender: String) -> Refusal? {
        if undecided >= limits.openEvents {
            return .limitExceeded(
                "open events: \(limits.openEvents) are undecided already; try again when some have been claimed or shown"
            )
        }
        if let count = undecidedBySender[sender], count >= limits.openEventsPerSender {
            return .limitExceeded(
                "open events of one sender: \(count) of yours are undecided already; "
                    + "try again when some have been claimed or shown")
        }
        return nil
    }
}
