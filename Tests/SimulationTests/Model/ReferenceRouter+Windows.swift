import NotifyText

@testable import Routing

/// Publishing and windows: rules 1, 2, 5, 13 and 14 of docs/design.md.
extension ReferenceRouter {
    mutating func publish(_ publication: Publication) {
        let route = route(of: publication.topic)
        let options = publication.options
        if publication.title.utf8.count > limits.titleBytes { return refuse("TooLarge") }
        for required in route.required
        where !publication.fields.contains(where: { $0.name == required.name && required.type.admits($0.value) }) {
            return refuse("InvalidEvent")
        }

        remembered.removeAll { $0.until <= now.uptime }
        if options.origin.isGlobalID, let first = remembered.first(where: { $0.origin == options.origin }) {
            return out.append(.reply(.accepted(first.id)))
        }

        let isValue = (options.lifetime != .zero || options.ifNewer) && (options.retain ?? route.retain)
        let (version, isOutdated) = version(of: publication, isAboutValue: isValue || options.remove)
        if options.remove {
            let id = takeID()
            remember(options.origin, as: id)
            out.append(.reply(.accepted(id)))
            guard !isOutdated else {
                return out.append(
                    .remove(publication.topic.description, id, .publisher, leaving: nil, isNews: false))
            }
            return removeValue(at: publication.topic, id: id, .publisher, leaving: version)
        }

        let silence: Silence? =
            isOutdated ? .newerValue : !route.banner ? .route : options.banner == false ? .publisher : nil
        let awaited = awaitedClaim(of: nextID, options.origin)
        let early = silence == nil ? awaited : nil
        let claim = silence == nil && early == nil ? standingClaim(on: publication.topic) : nil
        if silence == nil, early == nil, claim == nil, options.lifetime != .zero {
            let open = items.filter(\.isOpen)
            if open.count >= limits.undecidedEvents { return refuse("LimitExceeded") }
            if share(of: publication.sender, in: .events) >= limits.undecidedEventsPerProgram {
                return refuse("LimitExceeded")
            }
        }

        let isRetained = isValue && !isOutdated
        if isRetained, options.lifetime != .zero, !values.contains(where: { $0.topic == publication.topic }),
            values.count >= limits.values
        {
            return refuse("LimitExceeded")
        }

        let earlier = (isOutdated ? nil : options.collapse).flatMap { collapse in
            items.filter { $0.topic == publication.topic && $0.collapse == collapse }.max { $0.id < $1.id }
        }
        let before = earlier.flatMap { banner($0.banner) }
        let id = takeID()
        remember(options.origin, as: id)
        out.append(.reply(.accepted(id)))
        let expires = now.uptime + (options.lifetime ?? route.lifetime)
        if isRetained {
            values.removeAll { $0.topic == publication.topic }
            values.append((publication.topic, id, expires, stamp(), version))
        }
        func announcement(_ window: Duration?, isClaimed: Bool = false) -> Observed {
            .announce(
                id, publication.topic.description, sender: publication.sender, retained: isRetained,
                published: version.published,
                Announcement(window: window, silence: silence, isClaimed: isClaimed, expires: expires))
        }

        func replace() {
            // It is over already.
            if isRetained, options.lifetime == .zero { endValue(at: publication.topic, .replaced) }
            if let earlier { self.replace(earlier, by: id, before) }
        }

        if silence != nil {
            out.append(announcement(nil))
            if let awaited {
                out.append(.read(id, by: awaited.claimant, awaited.place))
                endAwait(of: awaited, for: id)
            } else if let claim = standingClaim(on: publication.topic), claim.form == .screen {
                out.append(.read(id, by: claim.claimant, ClaimPlace()))
            }
            return replace()
        }
        if let early {
            out.append(announcement(nil, isClaimed: true))
            var resolution = Resolution(
                early.kind == .withdrawn ? .withdrawn : .claimed, claimant: early.claimant, latency: .zero)
            resolution.form = .named
            resolution.verdict = .suppressed
            resolution.place = early.place
            out.append(.resolve(id, publication.topic.description, resolution))
            endAwait(of: early, for: id)
            return replace()
        }
        if let claim {
            out.append(announcement(nil, isClaimed: true))
            var resolution = Resolution(.claimed, claimant: claim.claimant, latency: .zero)
            resolution.form = claim.form
            resolution.verdict = .suppressed
            out.append(.resolve(id, publication.topic.description, resolution))
            return replace()
        }

        if options.lifetime == .zero {
            out.append(announcement(nil))
            out.append(.resolve(id, publication.topic.description, Resolution(.expired)))
            return replace()
        }

        // The new event joins the window of the earlier one.
        let item = newItem(id, publication, route, replacing: earlier)
        items.removeAll { $0.id == earlier?.id }
        items.append(item)
        for index in items.indices where items[index].place == .window && items[index].key == item.key {
            items[index].windowEnds = item.windowEnds
            items[index].windowStamp = item.windowStamp
        }
        if isOverEarly(item.key) {
            out.append(announcement(.zero))
        } else {
            out.append(announcement(max(.zero, item.windowEnds - now.instant)))
        }
        replace()
        endIfOverEarly(item.key)
    }

    /// The oldest makes room.
    private mutating func remember(_ origin: Origin, as id: EventID) {
        guard origin.isGlobalID else { return }
        if remembered.count == limits.globalIDs { remembered.removeFirst() }
        remembered.append((origin, id, now.uptime + limits.deduplicationTime))
    }

    /// The journal does not have it any more.
    mutating func forget(_ id: EventID) {
        guard let item = item(id), !item.isOpen else { return }
        items.removeAll { $0.id == id }
        if item.place != .gone, item.place != .snoozed { closeIfEmpty(item.banner) }
    }

    /// What a value or a removal says of its age. Without `if-newer` it is later than what the topic had last.
    ///
    /// - Returns: also whether the topic has a newer value or removal.
    private mutating func version(
        of publication: Publication, isAboutValue: Bool
    ) -> (version: Version, isOutdated: Bool) {
        let options = publication.options
        var version = Version(
            published: options.published ?? publication.received,
            name: options.origin.isGlobalID
                ? [Array(options.origin.source!.utf8), Array(options.origin.eventID!.utf8)]
                : [Array("notifyd:".utf8), Array("\(nextID)".utf8)])
        guard isAboutValue else { return (version, false) }
        removals.removeAll { $0.until <= now.uptime }
        let value = values.first { $0.topic == publication.topic }?.version
        guard let last = value ?? removals.first(where: { $0.topic == publication.topic })?.version else {
            return (version, false)
        }
        if options.ifNewer { return (version, !(last < version)) }
        version.published = max(version.published, last.published + 1)
        return (version, false)
    }

    private mutating func removeValue(
        at topic: Topic, id: EventID, _ cause: ValueRemoval.Cause, leaving version: Version
    ) {
        let isNews = values.contains { $0.topic == topic }
        values.removeAll { $0.topic == topic }
        removals.removeAll { $0.topic == topic || $0.until <= now.uptime }
        if removals.count == limits.removals { removals.removeFirst() }
        removals.append((topic, version, now.uptime + limits.removalTime))
        out.append(.remove(topic.description, id, cause, leaving: version.published, isNews: isNews))
    }

    mutating func endValue(at topic: Topic, _ cause: ValueRemoval.Cause) {
        guard let value = values.first(where: { $0.topic == topic }) else { return }
        removeValue(at: topic, id: takeID(), cause, leaving: value.version)
    }

    /// The first event of a key opens a window; a further one extends it, but never beyond what was set at the opening.
    ///
    /// Inside choices: a further event with a shorter window of its own does not shorten what is there, unless it takes
    /// the place of the only one, and a first event that asks for more than its route's maximum gets it.
    private mutating func newItem(
        _ id: EventID, _ publication: Publication, _ route: Route, replacing earlier: Item?
    ) -> Item {
        let isOwnBanner = Appearance.isOwnBanner(publication.options.appearance)
        let key = Key(route, publication.topic, publication.options.collapse, id, isOwnBanner: isOwnBanner)
        let length = publication.options.window ?? route.window
        var ends = now.instant + length
        var opened = now.instant
        var limit = max(now.instant + route.maximumWindow, ends)
        var stamp = 0
        if let other = items.first(where: { $0.place == .window && $0.key == key }) {
            opened = other.windowOpened
            limit = other.windowLimit
            let isAlone = !items.contains { $0.place == .window && $0.key == key && $0.id != earlier?.id }
            ends = isAlone ? min(ends, limit) : max(other.windowEnds, min(ends, limit))
            stamp = ends == other.windowEnds ? other.windowStamp : self.stamp()
        } else {
            stamp = self.stamp()
        }
        return Item(
            id: id, topic: publication.topic, collapse: publication.options.collapse, sender: publication.sender,
            route: route, accepted: now.instant,
            expires: now.uptime + (publication.options.lifetime ?? route.lifetime), key: key, isOwnBanner: isOwnBanner,
            isCritical: (publication.options.urgency ?? route.appearance.urgency) == .critical, banner: key,
            windowEnds: ends, windowOpened: opened, windowLimit: limit, windowStamp: stamp,
            deadline: now.instant,
            asked: asking(about: publication.topic))
    }

    /// The pattern that names more segments wins; then, segment by segment from the left, a literal beats a capture,
    /// and the topic itself what is at or below it.
    private func route(of topic: Topic) -> Route {
        func named(_ route: Route) -> [Substring] {
            route.pattern!.description.split(separator: "/").filter { $0 != "**" }
        }
        var best: Route?
        for route in configuration.routes where route.pattern?.captures(of: topic) != nil {
            guard let other = best else {
                best = route
                continue
            }
            let (own, others) = (named(route), named(other))
            let difference = zip(own, others).first { $0.hasPrefix("{") != $1.hasPrefix("{") }
            if own.count != others.count {
                if own.count > others.count { best = route }
            } else if let difference {
                if !difference.0.hasPrefix("{") { best = route }
            } else if other.pattern!.description.hasSuffix("/**") {
                best = route
            }
        }
        return best ?? configuration.fallback
    }

    // MARK: Ends

    func isAwaited(_ item: Item) -> Bool { item.route.wait == .anyone || !item.asked.isEmpty }

    /// Inside choice: events of one window that wait for different screens are awaited together.
    func isOverEarly(_ key: Key) -> Bool {
        let unclaimed = items.filter { $0.place == .window && $0.key == key && $0.holds.isEmpty }
        return !unclaimed.isEmpty && !unclaimed.contains(where: isAwaited)
    }

    mutating func endIfOverEarly(_ key: Key) {
        if isOverEarly(key) { endWindow(key) }
    }

    mutating func endWindow(_ key: Key) {
        for id in ids({ $0.place == .window && $0.key == key }) {
            let isHeld = !item(id)!.holds.isEmpty
            let now = now.instant
            change(id) { item in
                item.deadline = min(item.windowEnds, now)
                item.asked = []
                item.place = .held
            }
            if !isHeld { showOrSettle(id) }
        }
        if banner(key)?.successor != nil { endSuccession(key) }
        closeIfEmpty(key)
    }

    /// Nobody claimed it in time: it becomes a banner, unless it is too late for one or none is wanted.
    mutating func showOrSettle(_ id: EventID) {
        let item = item(id)!
        if item.expires <= now.uptime {
            finish(id, Resolution(.expired))
        } else if let quiet = quiet(holding: item) {
            finish(id, muted(item, by: quiet))
        } else if item.isOwnBanner {
            leaveToPublisher(item)
        } else {
            wait(id, for: item.banner)
        }
    }
}
