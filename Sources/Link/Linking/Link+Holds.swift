import NotifyText

/// Rules 15 and 16 of docs/link.md: screens elsewhere, and banners that wait for them or until the line has caught up.
extension Link {
    struct Holds {
        struct Hold {
            let until: Uptime
            /// The devices whose screens may claim it; empty: until the line has caught up.
            var devices: Set<Device>
            /// The screens that would cover it.
            var covering: Set<Digest> = []
        }

        private var holds: [EventID: Hold] = [:]
        /// Until then banners wait for what is missing; `nil` while nothing is.
        var catchUpBy: Uptime?
        /// Whether `catchUpBy` has passed and something is still missing.
        var hasWaitedEnough = false
        private(set) var nextExpiry: Uptime?

        var count: Int { holds.count }

        mutating func insert(_ id: EventID, _ hold: Hold) {
            holds[id] = hold
            nextExpiry = min(nextExpiry ?? hold.until, hold.until)
        }

        mutating func remove(_ id: EventID) { holds[id] = nil }

        /// notifyd ends holds by itself at their time.
        mutating func expire(at uptime: Uptime) {
            guard let next = nextExpiry, next <= uptime else { return }
            holds = holds.filter { $0.value.until > uptime }
            nextExpiry = holds.values.map(\.until).min()
        }

        /// A device has gone, or has only these screens left.
        ///
        /// - Returns: the events that wait for nobody any more.
        mutating func left(_ device: Device, attended: Set<Digest> = []) -> [EventID] {
            var released: [EventID] = []
            for (id, hold) in holds
            where hold.devices.contains(device) && hold.covering.isDisjoint(with: attended) {
                holds[id]!.devices.remove(device)
                if holds[id]!.devices.isEmpty { released.append(id) }
            }
            for id in released { holds[id] = nil }
            return released.sorted()
        }

        /// - Returns: the events that waited until the line has caught up.
        mutating func caughtUp() -> [EventID] {
            catchUpBy = nil
            let released = holds.filter(\.value.devices.isEmpty).keys.sorted()
            for id in released { holds[id] = nil }
            return released
        }

        /// A new connection: what has been waited for is another matter.
        mutating func beginCatchingUp() {
            catchUpBy = nil
            hasWaitedEnough = false
        }
    }

    /// Whether the broker may still have messages for this device, entries of a device that is online are missing here,
    /// or much waits for notifyd.
    var isCatchingUp: Bool {
        connection.isDraining || queue.count > limits.callsInFlight || peers.values.contains(where: \.isBehind)
    }

    /// Whether events are to be held, or are held: only then their signals matter.
    public var wantsAnnouncements: Bool {
        guard configuration.kind == .link else { return false }
        return holds.count > 0 || isCatchingUp || peers.values.contains { $0.isOnline && !$0.attended.isEmpty }
    }

    mutating func announced(_ event: AnnouncedEvent, at now: Now) {
        guard configuration.kind == .link, event.hasWindow, shares(event.name, event.topic)
        else { return }
        updateCatchingUp(at: now)
        guard holds.count < limits.holds else { return }
        var devices: Set<Device> = []
        var covering: Set<Digest> = []
        if configuration.isSealed {
            covering = Set(digests(covering: event.topic))
            for (device, peer) in peers where device != event.name.device && peer.isOnline {
                guard let heard = peer.lastHeard, heard + limits.screenFreshness >= now.uptime else { continue }
                if !peer.attended.isDisjoint(with: covering) { devices.insert(device) }
            }
        }
        let length: Duration
        if event.via == configuration.line, let by = holds.catchUpBy {
            length = .microseconds(by.microseconds - now.uptime.microseconds)
            devices = []
        } else if !devices.isEmpty {
            length = limits.screenHold
        } else {
            return
        }
        guard length > .zero else { return }
        statistics.holds += 1
        holds.insert(event.id, Holds.Hold(until: now.uptime + length, devices: devices, covering: covering))
        effects.append(.hold(event.id, length))
    }

    /// The window of an event that comes while the line is behind, in milliseconds: long enough for the hold to come in
    /// time, and short enough for the events at its topic, because nothing ends a window early. Beyond the limit of
    /// holds it is all there is.
    func windowWhileCatchingUp(at now: Now) -> UInt32? {
        guard isCatchingUp, let by = holds.catchUpBy else { return nil }
        let left = max(0, by.microseconds - now.uptime.microseconds)
        return UInt32(clamping: min(left, limits.catchingUpWindow.microseconds) / 1000)
    }

    mutating func updateCatchingUp(at now: Now) {
        if isCatchingUp, !holds.hasWaitedEnough {
            holds.catchUpBy = holds.catchUpBy ?? now.uptime + limits.catchingUpHold
        }
    }

    mutating func endCatchingUp(at now: Now) {
        let hasCaughtUp = !isCatchingUp && queue.isEmpty
        if hasCaughtUp { holds.hasWaitedEnough = false }
        guard holds.catchUpBy != nil, hasCaughtUp || isDue(holds.catchUpBy, at: now) else { return }
        // It does not begin again before the line has caught up.
        holds.hasWaitedEnough = !hasCaughtUp
        for id in holds.caughtUp() { effects.append(.release(id)) }
    }

    // MARK: Own screens

    mutating func screenChanged(_ topic: TopicPrefix, isAttended: Bool, at now: Now) {
        attended.removeAll { $0 == topic }
        // The newest are the likeliest; with too many, the oldest are not announced.
        if isAttended { attended.append(topic) }
        guard configuration.sharesScreens, connection.isUp else { return }
        connection.hasNews = true
        scheduleDescription(at: now)
    }

    /// The digests of shared topics only; a screen above a shared topic is announced as that.
    var attendedDigests: [Digest] {
        let shared = attended.suffix(4 * Description.maximumAttended).filter { prefix in
            guard let topic = try? Topic(prefix.description) else {
                return configuration.share.contains(.all)
            }
            return configuration.shares(topic)
        }
        return shared.suffix(Description.maximumAttended).map { configuration.digest($0.description) }.sorted()
    }

    /// The digests of all screens that would cover a topic.
    private func digests(covering topic: Topic) -> [Digest] {
        var text = ""
        var digests = [configuration.digest("/")]
        for segment in topic.segments {
            text += "/" + segment
            digests.append(configuration.digest(text))
        }
        return digests
    }
}
