import NotifyText

/// Rule 7 of docs/link.md: at `v/` the broker keeps the current value of each topic for those who come later. Its
/// author sees to it.
extension Link {
    struct Values {
        /// What is on the broker, as far as it was seen since the start; bounded by `LinkLimits.values`.
        struct Seen {
            var stamp: ValueStamp
            var author: Device
        }

        var seen: [Digest: Seen] = [:]
        /// Values that began on this device.
        var authored: [Digest: ValueRecord] = [:]
        /// Those that are on the broker, seen since connecting.
        var confirmed: Set<Digest> = []
        /// When those that are not are written.
        var check: Uptime?
        /// Names that topics had on the broker with another key.
        var formerNames: [Digest] = []
        /// To be written, from the journal, one at a time.
        private(set) var waiting: [Digest] = []
        private var isWaiting: Set<Digest> = []
        var reading: ReadToken?
        var read: Digest?
        var inFlight: MessageToken?
        /// When the values are read again that notifyd had no room for.
        var readAgain: Uptime?
        var nextExpiry: Uptime?
        /// Whether `nextExpiry` is to be found again.
        var findNextExpiry = false

        mutating func write(_ digest: Digest) {
            if isWaiting.insert(digest).inserted { waiting.append(digest) }
        }

        mutating func writeAll() {
            for digest in authored.keys.sorted() { write(digest) }
        }

        mutating func popWaiting() -> Digest? {
            guard !waiting.isEmpty else { return nil }
            let digest = waiting.removeFirst()
            isWaiting.remove(digest)
            return digest
        }

        /// The broker is still sending what it has.
        mutating func areComing(at now: Now, _ limits: LinkLimits) {
            if check != nil { check = now.uptime + limits.valueCheckDelay }
        }

        mutating func forgetInFlight() {
            inFlight = nil
            reading = nil
            read = nil
        }

        mutating func acknowledged(_ token: MessageToken) -> Bool {
            guard token == inFlight else { return false }
            inFlight = nil
            return true
        }

    }

    // MARK: Own values

    /// Writes a value that began here beside the stream.
    mutating func sayValue(_ number: UInt64, _ content: Said.Content, fits: Bool, at now: Now) -> MessageToken? {
        guard let (topic, stamp, expires, isRemoval) = value(of: content, at: now) else { return nil }
        let digest = configuration.digest(topic.description)
        // A row that is said again may be older than what is current.
        if let current = values.authored[digest], current.stamp > stamp { return nil }
        guard values.authored[digest] != nil || values.authored.count < limits.values else { return nil }
        guard
            !configuration.isChannel || values.authored[digest] != nil
                || values.authored.count < limits.valuesPerMember
        else { return nil }
        values.authored[digest] = ValueRecord(
            number: number, topic: topic, stamp: stamp, expires: expires, isRemoval: isRemoval)
        values.findNextExpiry = true
        disk.values.insert(digest)
        guard expires > now.wall, fits else { return nil }
        let said = Said(number: number, previous: number - 1, content: content)
        return say(.said(said), on: .value(digest), at: now)
    }

    private func value(
        of content: Said.Content, at now: Now
    ) -> (Topic, ValueStamp, expires: Int64, isRemoval: Bool)? {
        switch content {
        case .event(let event) where event.isRetained:
            (event.topic, ValueStamp(published: event.published, name: event.name), event.expires, false)
        case .removal(let removal):
            (
                removal.topic, ValueStamp(published: removal.published, name: removal.name),
                now.wall + limits.removalLifetime.microseconds, true
            )
        default: nil
        }
    }

    /// A row that came in from elsewhere may have taken the place of an own value.
    mutating func noteReplacement(by change: Change) {
        let content: Said.Content
        switch change.kind {
        case .event(let event) where event.isRetained: content = .event(event)
        case .removal(let removal): content = .removal(removal)
        default: return
        }
        guard !change.via.isEmpty, case .some(let (topic, stamp, _, _)) = value(of: content, at: Now.zero) else {
            return
        }
        let digest = configuration.digest(topic.description)
        guard let own = values.authored[digest], own.stamp < stamp else { return }
        values.authored[digest] = nil
        disk.values.insert(digest)
    }

    /// With another key, topics have other names on the broker. What stands at the former ones nobody reads any more;
    /// it is taken away, and only then forgotten.
    mutating func renameValues() {
        for digest in values.authored.keys.sorted() {
            let value = values.authored[digest]!
            let name = configuration.digest(value.topic.description)
            guard name != digest else { continue }
            values.authored[digest] = nil
            values.formerNames.append(digest)
            if let other = values.authored[name], other.stamp >= value.stamp { continue }
            values.authored[name] = value
            disk.values.insert(name)
        }
    }

    private mutating func emptyFormerNames() {
        for digest in values.formerNames {
            effects.append(.say(MessageToken(rawValue: token()), .value(digest), nil))
            disk.values.insert(digest)
        }
        values.formerNames = []
    }

    mutating func sayValues(at now: Now) {
        if isDue(values.readAgain, at: now), connection.isUp {
            values.readAgain = nil
            effects.append(.subscribeAgain)
        }
        guard connection.isUp else { return }
        emptyFormerNames()
        if isDue(values.check, at: now) {
            values.check = nil
            for digest in values.authored.keys.sorted() where !values.confirmed.contains(digest) {
                values.write(digest)
            }
        }
        endExpiredValues(at: now)
        guard isDaemonThere else { return }
        while values.inFlight == nil, values.reading == nil, let digest = values.popWaiting() {
            guard let value = values.authored[digest] else { continue }
            if value.isRemoval {
                let removal = SaidRemoval(name: value.stamp.name, topic: value.topic, published: value.stamp.published)
                write(
                    Said(number: value.number, previous: value.number - 1, content: .removal(removal)), digest, at: now)
            } else {
                let token = ReadToken(rawValue: token())
                values.reading = token
                values.read = digest
                effects.append(.readChanges(token, after: value.number - 1, limit: 1))
            }
        }
    }

    private mutating func write(_ said: Said, _ digest: Digest, at now: Now) {
        values.inFlight = say(.said(said), on: .value(digest), at: now)
    }

    mutating func tookValue(_ page: ChangesPage, at now: Now) {
        values.reading = nil
        guard let digest = values.read, let value = values.authored[digest] else { return }
        values.read = nil
        guard let change = page.changes.first, change.number == value.number, let content = content(of: change) else {
            // Gone from the journal.
            values.authored[digest] = nil
            disk.values.insert(digest)
            return
        }
        guard fits(content) else { return }
        write(Said(number: value.number, previous: value.number - 1, content: content), digest, at: now)
    }

    /// An empty message takes a value away that has expired.
    private mutating func endExpiredValues(at now: Now) {
        guard values.findNextExpiry || isDue(values.nextExpiry, at: now) else { return }
        values.findNextExpiry = false
        for digest in values.authored.keys.sorted() where values.authored[digest]!.expires <= now.wall {
            let isOnBroker = values.seen[digest].map { $0.author == own } ?? true
            values.authored[digest] = nil
            disk.values.insert(digest)
            guard isOnBroker else { continue }
            forgetSeen(digest)
            let token = MessageToken(rawValue: token())
            effects.append(.say(token, .value(digest), nil))
        }
        let next = values.authored.values.map(\.expires).min()
        // The wall clock may be set: it is looked at once an hour.
        values.nextExpiry = next.map { now.uptime + min(.microseconds(max(1, $0 - now.wall)), .seconds(3600)) }
    }

    // MARK: What is on the broker

    mutating func forgetSeen(_ digest: Digest) {
        guard let old = values.seen.removeValue(forKey: digest) else { return }
        peers[old.author]?.values -= 1
    }

    mutating func valueEmptied(_ digest: Digest) {
        forgetSeen(digest)
        values.confirmed.remove(digest)
        if let value = values.authored[digest], !isWritingSoon(value) { values.write(digest) }
    }

    private func isWritingSoon(_ value: ValueRecord) -> Bool { value.number > out.cursor.said }

    mutating func heardOwnValue(_ said: Said, _ digest: Digest, _ delivery: Delivery, at now: Now) {
        guard let (_, stamp, _, _) = value(of: said.content, at: now) else { return }
        noteSeen(digest, stamp, own)
        guard let value = values.authored[digest], stamp <= value.stamp else {
            // Said before a backup was restored: the journal has an older one or none, and the others have it. notifyd
            // knows its name otherwise.
            if delivery.isRetained, let calls = calls(for: said.content, from: own, at: now) {
                let item = Work(
                    id: WorkID(rawValue: token()), origin: .value(own, digest), said: said, calls: calls, delivery: nil,
                    cost: said.content.cost)
                if !isPostponed(item, at: now) { push(item) }
            }
            return
        }
        if value.stamp == stamp {
            values.confirmed.insert(digest)
        } else if stamp < value.stamp, !isWritingSoon(value) {
            values.write(digest)
        }
    }

    /// Its author writes a value again when it sees an older one in its place.
    mutating func takeValue(
        _ said: Said, _ digest: Digest, from device: Device, _ delivery: DeliveryToken, at now: Now
    ) -> Bool {
        guard let (topic, stamp, _, _) = value(of: said.content, at: now),
            configuration.digest(topic.description) == digest,
            let calls = calls(for: said.content, from: device, at: now)
        else { return false }
        if let value = values.authored[digest] {
            if stamp < value.stamp {
                if !isWritingSoon(value) { values.write(digest) }
            } else {
                values.confirmed.remove(digest)
            }
        }
        if let seen = values.seen[digest], seen.stamp >= stamp, seen.author == device {
            statistics.doubles += 1
            return false
        }
        guard peers[device]!.values < limits.valuesPerMember || values.seen[digest]?.author == device else {
            statistics.refused += 1
            return false
        }
        noteSaid(device)
        let item = Work(
            id: WorkID(rawValue: token()), origin: .value(device, digest), said: said, calls: calls,
            delivery: delivery, cost: said.content.cost)
        guard !isPostponed(item, at: now) else {
            statistics.postponed += 1
            values.readAgain = values.readAgain ?? now.uptime + .seconds(60)
            return false
        }
        noteSeen(digest, stamp, device)
        push(item)
        return true
    }

    private mutating func noteSeen(_ digest: Digest, _ stamp: ValueStamp, _ author: Device) {
        if let old = values.seen[digest] {
            peers[old.author]?.values -= 1
        } else if values.seen.count >= limits.values {
            return
        }
        values.seen[digest] = Values.Seen(stamp: stamp, author: author)
        peers[author]?.values += 1
    }
}

extension Link.Now {
    fileprivate static let zero = Link.Now(uptime: Uptime(microseconds: 0), wall: 0)
}
