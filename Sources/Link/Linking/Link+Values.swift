import DequeModule
import NotifyText

/// Rule 7 of docs/link.md: at `v/` the broker keeps the current value of each topic for devices that come later. Its
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
        private var waiting = Deque<Digest>()
        private var isWaiting: Set<Digest> = []
        /// The value whose row is being read.
        var read: Digest?
        var inFlight: MessageToken?
        /// When the values are read again that notifyd had no room for.
        var readAgain: Uptime?
        var nextExpiry: Uptime?
        /// Whether `nextExpiry` is to be found again.
        var findNextExpiry = false

        mutating func enqueue(_ digest: Digest) {
            if isWaiting.insert(digest).inserted { waiting.append(digest) }
        }

        mutating func dequeue() -> Digest? {
            guard let digest = waiting.popFirst() else { return nil }
            isWaiting.remove(digest)
            return digest
        }

        /// The broker is still sending what it has.
        mutating func postponeCheck(at now: Now, _ limits: LinkLimits) {
            if check != nil { check = now.uptime + limits.valueCheckDelay }
        }
    }

    /// A value or removal in an entry, as its author keeps it; `nil` if the entry is neither.
    ///
    /// - Parameter wall: the end of a removal is counted from there.
    private func value(in content: StreamEntry.Content?, of number: UInt64, at wall: Int64) -> ValueRecord? {
        switch content {
        case .event(let event) where event.isRetained:
            ValueRecord(
                number: number, topic: event.topic, stamp: ValueStamp(published: event.published, name: event.name),
                expires: event.expires, isRemoval: false)
        case .removal(let removal):
            ValueRecord(
                number: number, topic: removal.topic,
                stamp: ValueStamp(published: removal.published, name: removal.name),
                expires: wall + limits.removalLifetime.microseconds, isRemoval: true)
        default: nil
        }
    }

    // MARK: Own values

    /// Writes a value that began here beside the stream.
    mutating func sendValue(
        _ content: StreamEntry.Content, of number: UInt64, fits: Bool, at now: Now
    ) -> MessageToken? {
        guard let value = value(in: content, of: number, at: now.wall) else { return nil }
        let digest = configuration.digest(value.topic.description)
        if let current = values.authored[digest] {
            // A row that is sent again may be older than what is current.
            guard current.stamp <= value.stamp else { return nil }
        } else {
            guard values.authored.count < min(limits.values, limits.valuesPerMember) else { return nil }
        }
        values.authored[digest] = value
        values.findNextExpiry = true
        unsaved.values.insert(digest)
        guard value.expires > now.wall, fits else { return nil }
        return sendValue(content, value, digest, at: now)
    }

    @discardableResult
    private mutating func sendValue(
        _ content: StreamEntry.Content, _ value: ValueRecord, _ digest: Digest, at now: Now
    ) -> MessageToken {
        let entry = StreamEntry(number: value.number, previous: value.number - 1, content: content)
        return send(.entry(entry), to: .value(digest), at: now)
    }

    /// A row that came in from elsewhere may have replaced an own value.
    mutating func dropReplacedValue(by change: Change) {
        guard !change.via.isEmpty, let value = value(in: change.content, of: change.number, at: 0) else { return }
        let digest = configuration.digest(value.topic.description)
        guard let own = values.authored[digest], own.stamp < value.stamp else { return }
        dropValue(digest)
    }

    private mutating func dropValue(_ digest: Digest) {
        values.authored[digest] = nil
        unsaved.values.insert(digest)
    }

    /// With another key, topics have other names on the broker. The messages at the former ones are
    /// cleared, and only then forgotten.
    mutating func renameValues() {
        for digest in values.authored.keys.sorted() {
            let value = values.authored[digest]!
            let name = configuration.digest(value.topic.description)
            guard name != digest else { continue }
            values.authored[digest] = nil
            values.formerNames.append(digest)
            if let other = values.authored[name], other.stamp >= value.stamp { continue }
            values.authored[name] = value
            unsaved.values.insert(name)
        }
    }

    mutating func sendValues(at now: Now) {
        guard connection.isUp else { return }
        if isDue(values.readAgain, at: now) {
            values.readAgain = nil
            effects.append(.subscribeAgain)
        }
        for digest in values.formerNames {
            clear(.value(digest))
            unsaved.values.insert(digest)
        }
        values.formerNames = []
        if isDue(values.check, at: now) {
            values.check = nil
            for digest in values.authored.keys.sorted() where !values.confirmed.contains(digest) {
                values.enqueue(digest)
            }
        }
        endExpiredValues(at: now)
        guard isDaemonThere else { return }
        while values.inFlight == nil, reads[.value] == nil, let digest = values.dequeue() {
            guard let value = values.authored[digest] else { continue }
            if value.isRemoval {
                let removal = SharedRemoval(
                    name: value.stamp.name, topic: value.topic, published: value.stamp.published)
                values.inFlight = sendValue(.removal(removal), value, digest, at: now)
            } else {
                values.read = digest
                readRows(for: .value, after: value.number - 1, limit: 1)
            }
        }
    }

    mutating func writeValue(from page: ChangesPage, at now: Now) {
        guard let digest = values.read, let value = values.authored[digest] else { return }
        values.read = nil
        guard let change = page.changes.first, change.number == value.number, let content = content(of: change) else {
            // Gone from the journal.
            return dropValue(digest)
        }
        if fitting(content) != .nothing { values.inFlight = sendValue(content, value, digest, at: now) }
    }

    mutating func forgetValueInFlight() {
        values.inFlight = nil
        values.read = nil
        reads[.value] = nil
    }

    /// Clears values that have expired.
    private mutating func endExpiredValues(at now: Now) {
        guard values.findNextExpiry || isDue(values.nextExpiry, at: now) else { return }
        values.findNextExpiry = false
        for digest in values.authored.keys.sorted() where values.authored[digest]!.expires <= now.wall {
            dropValue(digest)
            guard values.seen[digest].map({ $0.author == own }) ?? true else { continue }
            forgetValueOnBroker(digest)
            clear(.value(digest))
        }
        let next = values.authored.values.map(\.expires).min()
        // The wall clock may be set: it is looked at once an hour.
        values.nextExpiry = next.map { now.uptime + min(.microseconds(max(1, $0 - now.wall)), .seconds(3600)) }
    }

    // MARK: What is on the broker

    mutating func forgetValueOnBroker(_ digest: Digest) {
        guard let old = values.seen.removeValue(forKey: digest) else { return }
        peers[old.author]?.valueCount -= 1
    }

    mutating func valueEmptied(_ digest: Digest) {
        forgetValueOnBroker(digest)
        values.confirmed.remove(digest)
        if let value = values.authored[digest] { writeAgain(value, digest) }
    }

    /// Its author writes a value again when it sees an older one in its place, unless its row is sent soon anyway.
    private mutating func writeAgain(_ value: ValueRecord, _ digest: Digest) {
        if value.number <= cursor.sent { values.enqueue(digest) }
    }

    mutating func handleOwnValue(_ entry: StreamEntry, _ digest: Digest, _ delivery: Delivery, at now: Now) {
        guard let stamp = value(in: entry.content, of: entry.number, at: 0)?.stamp else { return }
        recordValueOnBroker(digest, stamp, own)
        guard let value = values.authored[digest], stamp <= value.stamp else {
            // Sent before a backup was restored: the journal has an older one or none, and the others have it. notifyd
            // knows its name otherwise.
            if delivery.isRetained, let item = pendingEntry(entry, .value(own, digest), at: now),
                !isPostponed(item, at: now)
            {
                appendToQueue(item)
            }
            return
        }
        if value.stamp == stamp { values.confirmed.insert(digest) } else { writeAgain(value, digest) }
    }

    mutating func receiveValue(_ entry: StreamEntry, _ digest: Digest, from device: Device, at now: Now) {
        guard let value = value(in: entry.content, of: entry.number, at: 0),
            configuration.digest(value.topic.description) == digest,
            let item = pendingEntry(entry, .value(device, digest), at: now)
        else { return }
        if let own = values.authored[digest] {
            if value.stamp < own.stamp { writeAgain(own, digest) } else { values.confirmed.remove(digest) }
        }
        if let seen = values.seen[digest], seen.stamp >= value.stamp, seen.author == device {
            statistics.duplicates += 1
            return
        }
        guard peers[device]!.valueCount < limits.valuesPerMember || values.seen[digest]?.author == device else {
            statistics.refused += 1
            return
        }
        keepPlace(of: device)
        guard !isPostponed(item, at: now) else {
            statistics.postponed += 1
            values.readAgain = values.readAgain ?? now.uptime + .seconds(60)
            return
        }
        recordValueOnBroker(digest, value.stamp, device)
        appendToQueue(item)
    }

    private mutating func recordValueOnBroker(_ digest: Digest, _ stamp: ValueStamp, _ author: Device) {
        if let old = values.seen[digest] {
            peers[old.author]?.valueCount -= 1
        } else if values.seen.count >= limits.values {
            return
        }
        values.seen[digest] = Values.Seen(stamp: stamp, author: author)
        peers[author]?.valueCount += 1
    }
}
