import Routing

@testable import Journal
@testable import NotifyDaemon

/// A journal in memory that does what `Journal` does, on a disk that may fail.
final class SimulatedStore: EventStore {
    private let disk: SimulatedDisk
    private(set) var isOpen: Bool
    private(set) var isReadable = true
    var canDelete: Bool { isOpen }
    /// What was there before a frame that was refused. It may be on the disk until the next one takes its place.
    private var visible: SimulatedDisk.Contents?
    let damagedRows: UInt64 = 0
    let setAside: Journal.SetAside? = nil
    var indexFailure: JournalError? { disk.hasRoomForEvents ? nil : .diskFull }
    let isInPlace = true
    let logState = Journal.LogState(syncTime: nil, waiting: 0, written: nil)
    static let journalSeed = "5eed5eed5eed5eed5eed5eed5eed5eed"
    let seed: String? = SimulatedStore.journalSeed

    /// The number of the last change.
    private var lastChange: UInt64
    /// The highest number on the disk when it was opened.
    private var lastChangeBefore: UInt64
    private var isStartDue = true

    init(disk: SimulatedDisk, isOpen: Bool = true) {
        self.disk = disk
        self.isOpen = isOpen
        lastChangeBefore = disk.contents.changes.last?.number ?? 0
        lastChange = max(lastChangeBefore, UInt64(disk.wall()))
    }

    private var contents: SimulatedDisk.Contents { visible ?? disk.contents }
    var count: Int { contents.ids.count }

    // MARK: Writing

    func commit(_ entries: [Record]) throws(JournalError) {
        guard !entries.isEmpty else { return }
        disk.trace?("commit \(entries.map(\.summary).joined(separator: ", "))")
        try write(cost: entries.count) { contents in
            let before = entries.map { entry -> Outcome? in
                guard case .decided(let id, _) = entry else { return nil }
                return contents.events[id]?.decision?.outcome
            }
            for entry in entries { self.apply(entry, to: &contents) }
            for (entry, old) in zip(entries, before) {
                guard case .decided(let id, _) = entry else { continue }
                // A snoozed event comes back.
                if contents.claims[id]?.contains(where: { $0.form == .snooze }) == true { continue }
                self.check(id, old, contents.events[id]?.decision?.outcome)
            }
        }
    }

    private func note(_ change: SimulatedDisk.Change, in contents: inout SimulatedDisk.Contents) {
        lastChange += 1
        contents.changes.append((lastChange, change))
    }

    private func apply(_ entry: Record, to contents: inout SimulatedDisk.Contents) {
        switch entry {
        case .accepted(let event):
            if contents.events[event.id] != nil { disk.onFault("event \(event.id) is written twice") }
            contents.events[event.id] = event
            contents.ids.append(event.id)
            if contents.ids.count > 1, contents.ids[contents.ids.count - 2] > event.id { contents.ids.sort() }
            if event.retained { contents.values[event.topic] = event.id }
            note(.accepted(event.id), in: &contents)
            for earlier in contents.earlier(than: event) {
                guard let marked = earlier.decision?.markedRead else { continue }
                contents.events[earlier.id]?.decision = marked
                note(
                    .read(earlier.id, by: event.sender, at: event.accepted, from: ClaimPlace()), in: &contents)
            }
        case .decided(let id, let decision):
            // A mark as read that waits for its commit may come after the deletion, and changes nothing.
            if contents.forgotten.contains(id) { return }
            if contents.events[id] == nil { disk.onFault("event \(id) is decided, and is not there") }
            var decision = decision
            if let first = contents.events[id]?.decision, decision.opened == nil {
                decision = decision.following(first)
            }
            let comesRead = decision.isRead
            let isOutcome = !comesRead || contents.events[id]?.decision == nil
            if let marked = decision.markedRead, contents.readMarks.contains(id) { decision = marked }
            contents.events[id]?.decision = decision
            if isOutcome {
                note(.decided(id), in: &contents)
                contents.decided[id] = lastChange
                if comesRead { note(.read(id, by: "", at: decision.resolved, from: ClaimPlace()), in: &contents) }
            }
            if let digest = decision.cause.flatMap({ MuteCause($0) })?.digest {
                disk.heldBack.insert(SimulatedDisk.HeldBack(event: id, digest: digest))
            }
        case .claimed(let id, let claim):
            // A removal has a name as well.
            if contents.forgotten.contains(id) || contents.removals.contains(where: { $0.id == id }) { return }
            if contents.events[id] == nil { disk.onFault("event \(id) is claimed, and is not there") }
            contents.claims[id, default: []].append(claim)
        case .named: disk.onFault("a claimant is named, and nobody has asked")
        case .quietReplaced(let quiet): contents.quiet = quiet
        case .snoozesReplaced(let snoozes): contents.snoozes = snoozes
        case .digestsReplaced(let digests): contents.digests = digests
        case .bannerUp(let banner): contents.banners[banner.number] = banner
        case .bannerGone(let number): contents.banners[number] = nil
        case .allBannersGone: contents.banners = [:]
        case .read(let id, let peer, let moment, let place):
            note(.read(id, by: peer, at: moment, from: place), in: &contents)
            contents.readMarks.insert(id)
            if var marked = contents.events[id]?.decision?.markedRead {
                marked.place = place
                contents.events[id]?.decision = marked
            }
        case .awaited(let awaited): contents.awaited[awaited.origin] = awaited
        case .awaitedGone(let origin): contents.awaited[origin] = nil
        case .allAwaitedGone: contents.awaited = [:]
        case .start: disk.onFault("the daemon writes no start")
        case .removed(let removal, let version):
            note(.removed(removal), in: &contents)
            contents.lastRemoval = removal.id
            if removal.origin.isGlobalID {
                contents.removals.append(NamedPush(origin: removal.origin, id: removal.id))
            }
            guard let version else { return }
            contents.values[removal.topic] = nil
            contents.tombstones[removal.topic] = Tombstone(
                topic: removal.topic, version: version, removal: removal.id)
        case .tombstone(let tombstone):
            if contents.tombstones[tombstone.topic]?.removal ?? EventID(0) < tombstone.removal {
                contents.tombstones[tombstone.topic] = tombstone
            }
        case .late, .event, .globalID, .seed, .retention, .counter: disk.onFault("the daemon writes no \(entry)")
        }
    }

    /// An outcome is final, but for what was shown.
    private func check(_ id: EventID, _ old: Outcome?, _ new: Outcome?) {
        guard let old, let new, old != new else { return }
        if old == .shown, [.retracted, .dismissed, .withdrawn, .replaced].contains(new) { return }
        disk.onFault("event \(id) was \(old) and is \(new)")
    }

    func reopen() throws(JournalError) -> Bool {
        isOpen = false
        if case .broken = disk.condition { throw .inputOutput }
        isOpen = true
        return false
    }

    var acceptsEvents: Bool { isOpen && disk.hasRoomForEvents }

    /// Nobody deletes a simulated disk.
    func abandon() {}
    func work() -> Duration? { nil }

    func stopWriting() { isOpen = false }

    func releaseMemory() {}

    func close() {
        isOpen = false
        isReadable = false
    }

    // Nothing gets large in a simulation.
    let isChecked = true
    func beginIntegrityCheck() throws(JournalError) -> String { "" }
    func endIntegrityCheck(_ result: IntegrityCheck) throws(JournalError) {}

    func probe() throws(JournalError) {
        let isStartDue = isStartDue
        try write(cost: 3) { contents in
            if isStartDue { self.note(.start(last: self.lastChangeBefore), in: &contents) }
        }
        self.isStartDue = false
    }

    /// Nothing gets old enough in a simulation.
    func expire(
        olderThan span: Duration, keeping count: Int, step: Int
    ) throws(JournalError) -> (count: Int, isOver: Bool) { (0, true) }
    func advance(to reading: ClockReading) {}
    let isRetentionDue = false

    func forget(
        _ topic: TopicPrefix, after position: Journal.UnreadPosition, upTo last: EventID, limit: Int
    ) throws(JournalError) -> (ids: [EventID], position: Journal.UnreadPosition?) {
        let limit = min(limit, disk.forgetPortion)
        let found = Array(
            try all.lazy.filter { $0.decision != nil && $0.id <= last && topic.covers($0.topic) }
                .filter { self.contents.values[$0.topic] != $0.id }.prefix(limit))
        if !found.isEmpty {
            disk.trace?("forget \(found.map(\.id))")
            try write(cost: found.count, isFrame: false) { contents in
                for event in found {
                    contents.events[event.id] = nil
                    contents.claims[event.id] = nil
                    if event.origin.isGlobalID {
                        contents.removals.append(NamedPush(origin: event.origin, id: event.id))
                    }
                    contents.lastRemoval = max(contents.lastRemoval, event.id)
                }
                let gone = Set(found.map(\.id))
                contents.ids.removeAll { gone.contains($0) }
                contents.forgotten.formUnion(gone)
                contents.removals.sort { $0.id < $1.id }
            }
        }
        // What is deleted is not found again, so every portion begins at the beginning.
        return (found.map(\.id), found.count == limit ? position : nil)
    }

    var canScrub: Bool { isOpen }
    /// Nothing is left of what is deleted here.
    func scrub() throws(JournalError) -> Bool { true }
    func age(of id: EventID) -> Duration { .zero }

    private func write(
        cost: Int, isFrame: Bool = true, _ transaction: (inout SimulatedDisk.Contents) -> Void
    ) throws(JournalError) {
        guard isOpen else { throw .other("the journal is closed") }
        let before = visible ?? (disk.isWell ? nil : disk.contents)
        let refused = visible
        do throws(JournalError) {
            try disk.write(cost: cost) { contents in
                if let refused { contents = refused }
                transaction(&contents)
            }
            visible = nil
        } catch {
            disk.trace?("a commit fails: \(error)")
            // The index shows whatever its transaction has left.
            if isFrame { (isOpen, visible) = (false, before) }
            throw error
        }
    }

    // MARK: Reading

    private func requireReadable() throws(JournalError) {
        guard isReadable else { throw .other("the journal is closed") }
        disk.onRead()
        if case .broken = disk.condition { throw .inputOutput }
    }

    private var all: [StoredEvent] {
        get throws(JournalError) {
            try requireReadable()
            return contents.ids.compactMap { contents.events[$0] }
        }
    }

    func history(_ topic: TopicPrefix, after: EventID, limit: Int) throws(JournalError) -> [StoredEvent] {
        Array(try all.lazy.filter { $0.id > after && topic.covers($0.topic) }.prefix(limit))
    }

    func valueList(_ topic: TopicPrefix) throws(JournalError) -> [Journal.ValueEntry] {
        try values(topic).map { Journal.ValueEntry(topic: $0.topic.description, id: $0.id) }
    }

    func values(
        _ entries: ArraySlice<Journal.ValueEntry>, bytes: Int
    ) throws(JournalError) -> (events: [StoredEvent], count: Int) {
        try requireReadable()
        return (entries.compactMap { contents.events[$0.id] }, entries.count)
    }

    func values(_ topic: TopicPrefix) throws(JournalError) -> [StoredEvent] {
        try all.filter { contents.values[$0.topic] == $0.id && topic.covers($0.topic) }
    }

    func unread(
        _ topic: TopicPrefix, after position: Journal.UnreadPosition, limit: Int
    ) throws(JournalError) -> (count: Int, position: Journal.UnreadPosition?) {
        (try all.filter { topic.covers($0.topic) && $0.isUnread }.count, nil)
    }

    func unreadIDs(
        _ topic: TopicPrefix, after position: Journal.UnreadIDPosition, limit: Int
    ) throws(JournalError) -> (ids: [EventID], position: Journal.UnreadIDPosition?) {
        (try all.filter { topic.covers($0.topic) && $0.isUnread }.map(\.id), nil)
    }

    func unseen(
        _ topic: TopicPrefix, after position: Journal.UnreadPosition, upTo last: EventID, limit: Int
    ) throws(JournalError) -> (events: [StoredEvent], position: Journal.UnreadPosition?) {
        func place(_ event: StoredEvent) -> [UInt8] {
            event.topic.description.utf8 + [0] + withUnsafeBytes(of: event.id.rawValue.bigEndian) { Array($0) }
        }
        let start = position.topic.utf8 + [0] + withUnsafeBytes(of: position.id.rawValue.bigEndian) { Array($0) }
        let found = try all.filter { $0.decision != nil && $0.isUnread && $0.id <= last && topic.covers($0.topic) }
            .filter { start.lexicographicallyPrecedes(place($0)) }
            .sorted { place($0).lexicographicallyPrecedes(place($1)) }.prefix(limit)
        guard let end = found.last, found.count == limit else { return (Array(found), nil) }
        return (Array(found), Journal.UnreadPosition(end.topic.description, end.id))
    }

    func holds(_ id: EventID) throws(JournalError) -> Bool { try event(id) != nil }

    func event(_ id: EventID) throws(JournalError) -> StoredEvent? {
        try requireReadable()
        return contents.events[id]
    }

    func claims(on id: EventID) throws(JournalError) -> [ClaimRecord] { contents.claims[id] ?? [] }

    func banners() throws(JournalError) -> [StoredBanner] {
        try requireReadable()
        return contents.banners.values.sorted { $0.first > $1.first }
    }

    func banner(startingWith first: EventID) throws(JournalError) -> StoredBanner? {
        try banners().first { $0.first == first }
    }

    func shown(in banner: StoredBanner, limit: Int) throws(JournalError) -> [StoredEvent] {
        let snoozed = Set(contents.snoozes.map(\.event))
        return try all.filter {
            $0.decision?.outcome == .shown && $0.decision?.shownWith == banner.first && !snoozed.contains($0.id)
        }.suffix(limit)
    }

    func replaceable(_ key: CollapseKey) throws(JournalError) -> StoredEvent? {
        try all.last {
            $0.topic == key.topic && $0.collapse == key.text && ($0.decision == nil || $0.decision?.outcome == .shown)
        }
    }

    func undecided(_ topic: TopicPrefix) throws(JournalError) -> [StoredEvent] {
        try all.filter { $0.decision == nil && topic.covers($0.topic) }
    }

    func undecided(_ ids: some Sequence<EventID>) throws(JournalError) -> [StoredEvent] {
        try requireReadable()
        return ids.compactMap { contents.events[$0] }.filter { $0.decision == nil }
    }

    func undecidedIDs() throws(JournalError) -> [EventID] { try undecided(.all).map(\.id) }

    func firstName(last limit: Int) throws(JournalError) -> EventID {
        let named = try all.filter(\.origin.isGlobalID).map(\.id)
        return named.count > limit ? named[named.count - limit - 1] : EventID(0)
    }

    func named(after id: EventID, limit: Int) throws(JournalError) -> [NamedPush] {
        let events = try all.filter(\.origin.isGlobalID).map { NamedPush(origin: $0.origin, id: $0.id) }
        let named = (events + contents.removals).filter { $0.id > id }
        return Array(named.sorted { $0.id < $1.id }.prefix(limit))
    }

    var oldestChange: UInt64 { 0 }
    var newestChange: UInt64 { 0 }

    func changes(
        after position: Journal.ChangePosition, limit: Int, bytes: Int
    ) throws(JournalError) -> (changes: [StoredChange], position: Journal.ChangePosition?) {
        try requireReadable()
        let contents = contents
        var listed: [StoredChange] = []
        for (number, change) in contents.changes[contents.changes.firstIndex(after: UInt64(position.number))...] {
            if listed.count == limit { return (listed, Journal.ChangePosition(after: listed.last?.number ?? 0)) }
            let event = change.id.flatMap { contents.events[$0] }
            let content: StoredChange.Content? =
                switch change {
                case .accepted: event.map { .event($0) }
                case .decided(let id): contents.decided[id] == number ? event.map { .outcome($0) } : nil
                case .read(_, let peer, let moment, let place):
                    event.map { .read($0, by: peer, at: moment, from: place) }
                case .removed(let removal): .removed(removal)
                case .start(let last): .start(last: last)
                }
            if let content { listed.append(StoredChange(Int64(number), content)) }
        }
        return (listed, nil)
    }

    func isMarkedRead(_ id: EventID) throws(JournalError) -> Bool {
        try requireReadable()
        return contents.readMarks.contains(id)
    }

    func event(named origin: Origin) throws(JournalError) -> EventID? {
        try all.first { $0.origin.isGlobalID && $0.origin == origin }?.id
    }

    func quiet() throws(JournalError) -> [StoredQuiet] {
        try requireReadable()
        return contents.quiet
    }

    func snoozes() throws(JournalError) -> [StoredSnooze] {
        try requireReadable()
        return contents.snoozes
    }

    func digests() throws(JournalError) -> [OwedDigest] {
        try requireReadable()
        return contents.digests
    }

    func tombstones() throws(JournalError) -> [Tombstone] {
        try requireReadable()
        return contents.tombstones.values.sorted { $0.removal < $1.removal }
    }

    func awaited() throws(JournalError) -> [StoredAwaited] {
        try requireReadable()
        return contents.awaited.values.sorted { $0.origin.eventID! < $1.origin.eventID! }
    }

    func newest(below id: EventID, limit: Int) throws(JournalError) -> [StoredEvent] {
        Array(try all.filter { $0.id < id }.suffix(limit).reversed())
    }

    func muted(
        after id: EventID, limit: Int
    ) throws(JournalError) -> (events: [StoredEvent], position: EventID?) {
        let next = try all.filter { $0.id > id }.prefix(limit)
        let events = next.filter { $0.decision?.outcome == .muted && $0.isUnread }
        return (events, next.count == limit ? next.last?.id : nil)
    }

    func lastID() throws(JournalError) -> EventID {
        let shown = try all.filter { $0.decision?.outcome == .shown }.compactMap { $0.decision?.shownWith }
        let banners = contents.banners.values.map(\.first)
        return ([try all.last?.id ?? EventID(0), contents.lastRemoval] + shown + banners).max()!
    }
}

extension [(number: UInt64, change: SimulatedDisk.Change)] {
    /// The index of the first change with a higher number.
    fileprivate func firstIndex(after number: UInt64) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].number <= number { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension SimulatedDisk.Contents {
    /// The earlier events with the same collapse at the same topic.
    func earlier(than event: StoredEvent) -> [StoredEvent] {
        guard let collapse = event.collapse else { return [] }
        return ids.prefix { $0 < event.id }.compactMap { events[$0] }
            .filter { $0.topic == event.topic && $0.collapse == collapse }
    }
}

extension StoredEvent {
    /// Whether nobody has seen it.
    var isUnread: Bool {
        guard let decision else { return true }
        return decision.outcome == .shown || decision.markedRead != nil
    }
}

extension Record {
    fileprivate var summary: String {
        switch self {
        case .accepted(let event): "\(event.id)"
        case .decided(let id, let decision): "\(id) \(decision.outcome)"
        case .claimed(let id, let claim): "\(id) \(claim.verdict) by \(claim.claimant)"
        case .named(let claimant, let program, _): "\(claimant) is \(program)"
        case .quietReplaced(let quiet): "quiet \(quiet.map(\.topic))"
        case .digestsReplaced(let digests): "owed digests \(digests.map(\.period))"
        case .snoozesReplaced(let snoozes): "snoozed \(snoozes.map(\.event))"
        case .bannerUp(let banner): "banner \(banner.number) of \(banner.first)"
        case .bannerGone(let number): "no banner \(number)"
        case .allBannersGone: "no banners"
        case .read(let id, let peer, _, _): "\(id) read by \(peer)"
        case .awaited(let awaited): "await \(awaited.origin.eventID ?? "")"
        case .awaitedGone(let origin): "no await \(origin.eventID ?? "")"
        case .allAwaitedGone: "awaits nothing"
        case .start: "start"
        case .removed(let removal, let version):
            "\(removal.id) removal of \(removal.topic)\(version == nil ? ", too late" : "")"
        case .tombstone(let tombstone): "the removal of \(tombstone.topic)"
        case .late, .event, .globalID, .seed, .retention, .counter: "\(self)"
        }
    }
}

extension StoredEvent {
    /// Its source and event-id, if it has both.
    var globalName: Origin? {
        origin.isGlobalID ? Origin(source: origin.source, eventID: origin.eventID) : nil
    }
}

extension SimulatedDisk {
    /// The name of an event without source and event-id.
    func ownName(of id: EventID) -> Origin { Origin(source: "notifyd:\(SimulatedStore.journalSeed)", eventID: "\(id)") }
}
