import Routing

@testable import Linking

/// What a notifyd has on disk: a value, so that a backup and a cloned disk are copies of it. It knows as much of
/// Router1 as a line uses: names over the whole journal, `Changes`, `ClaimNamed` with awaited names, `if-newer`, own
/// values after the last.
struct SimulatedJournal {
    struct Item {
        let id: UInt64
        var event: SharedEvent
        let via: String
        let number: UInt64
        /// By the clock of this device.
        let expires: Int64
        var outcome = ""
        var isRead = false
    }

    struct Current {
        let stamp: ValueStamp
        let isRemoval: Bool
        /// Whether its lifetime ends long before the simulation does.
        let isShort: Bool
    }

    private struct Row {
        let number: UInt64
        let via: String
        let kind: Kind

        enum Kind {
            case event(GlobalName)
            case claim(SharedClaim)
            case removal(SharedRemoval)
            case other
            case start(last: UInt64)
        }
    }

    struct Awaited {
        var claim: SharedClaim
        let via: String
        let expires: Int64
    }

    var device: Device
    private(set) var lastNumber: UInt64 = 0
    /// The highest number that was given out for something that has no row.
    private var lastHole: UInt64 = 0
    private var lastID: UInt64 = 0
    private var rows: [Row] = []
    private(set) var items: [GlobalName: Item] = [:]
    private(set) var names: [UInt64: GlobalName] = [:]
    private(set) var values: [String: Current] = [:]
    private var awaited: [GlobalName: [Awaited]] = [:]
    /// How often each name was taken as new; it outlives `Forget`.
    private(set) var arrivals: [GlobalName: Int] = [:]
    private var removals: Set<GlobalName> = []
    private(set) var forgotten: Set<GlobalName> = []

    init(device: Device) {
        self.device = device
    }

    mutating func start(wall: Int64) {
        let last = lastNumber
        lastNumber = max(lastNumber, UInt64(wall))
        lastID = max(lastID, UInt64(wall))
        append("", .start(last: last))
    }

    private mutating func append(_ via: String, _ kind: Row.Kind) {
        lastNumber += 1
        rows.append(Row(number: lastNumber, via: via, kind: kind))
    }

    func changes(after: UInt64, limit: Int) -> ChangesPage {
        var low = 0
        var high = rows.count
        while low < high {
            let middle = (low + high) / 2
            if rows[middle].number <= after { low = middle + 1 } else { high = middle }
        }
        // What was deleted has no row, and takes no place in a page.
        var changes: [Change] = []
        var end = low
        while end < rows.count, changes.count < limit {
            if let change = change(rows[end]) { changes.append(change) }
            end += 1
        }
        guard end == rows.count, changes.count < limit else { return ChangesPage(changes: changes, isLast: false) }
        // A number without a row is told only at the end.
        if lastHole > max(after, rows.last?.number ?? 0) {
            changes.append(Change(number: lastHole))
        }
        return ChangesPage(changes: changes, isLast: true)
    }

    private func change(_ row: Row) -> Change? {
        var change = Change(number: row.number, via: row.via)
        switch row.kind {
        case .event(let name):
            guard let item = items[name] else { return nil }
            var event = item.event
            event.outcome = item.outcome
            event.expires = item.expires
            change.content = .event(event)
        case .claim(let claim): change.content = .claim(claim)
        case .removal(let removal): change.content = .removal(removal)
        case .other: break
        case .start(let last): change.lastBeforeStart = last
        }
        return change
    }

    // MARK: Publishing

    /// Whether a name has come before. Names outlive Forget: a bridge that died before its cursor was on disk takes
    /// things again.
    private func isKnown(_ name: GlobalName) -> Bool {
        items[name] != nil || removals.contains(name) || forgotten.contains(name)
    }

    /// - Returns: whether the topic has no newer value.
    private mutating func setValue(_ topic: Topic, _ stamp: ValueStamp, isRemoval: Bool, isShort: Bool = false) -> Bool
    {
        guard values[topic.description].map({ $0.stamp < stamp }) ?? true else { return false }
        values[topic.description] = Current(stamp: stamp, isRemoval: isRemoval, isShort: isShort)
        return true
    }

    mutating func remove(_ removal: SharedRemoval, via: String) {
        guard !isKnown(removal.name) else { return }
        _ = setValue(removal.topic, ValueStamp(published: removal.published, name: removal.name), isRemoval: true)
        removals.insert(removal.name)
        append(via, .removal(removal))
    }

    /// - Returns: the event, if it is new.
    mutating func publish(_ event: SharedEvent, ttl: UInt32, via: String, wall: Int64) -> Item? {
        guard !isKnown(event.name) else { return nil }
        let stamp = ValueStamp(published: event.published, name: event.name)
        let isNewer = !event.isRetained || setValue(event.topic, stamp, isRemoval: false, isShort: ttl < 3600)
        lastID += 1
        let expires = wall + Int64(ttl) * 1_000_000
        var item = Item(id: lastID, event: event, via: via, number: lastNumber + 1, expires: expires)
        item.event.expires = expires
        item.event.urgency = nil
        item.event.outcome = ""
        append(via, .event(event.name))
        if ttl == 0 {
            item.outcome = "expired"
        } else if event.isSilent || !isNewer {
            item.outcome = "silent"
        }
        items[event.name] = item
        names[item.id] = event.name
        arrivals[event.name, default: 0] += 1
        for early in awaited.removeValue(forKey: event.name) ?? [] where early.expires >= wall {
            _ = claim(early.claim, via: early.via, wall: wall)
        }
        return items[event.name]
    }

    /// By a program on this device.
    mutating func publishHere(
        _ topic: Topic, title: String, name: GlobalName?, via: String, ttl: UInt32, retained: Bool, removal: Bool,
        published: Int64? = nil, wall: Int64
    ) -> (GlobalName, Item?) {
        var published = published ?? wall
        // A value that is over when it comes is none, unless it only has to be newer.
        let isRetained = retained && ttl > 0
        if isRetained || removal, let last = values[topic.description] {
            published = max(published, last.stamp.published + 1)
        }
        lastID += removal ? 1 : 0
        let name = name ?? GlobalName(device: device, id: removal ? lastID : lastID + 1)
        if removal {
            remove(SharedRemoval(name: name, topic: topic, published: published), via: via)
            return (name, nil)
        }
        let event = SharedEvent(
            name: name, topic: topic, title: title, body: "", published: published, expires: 0, isRetained: isRetained)
        return (name, publish(event, ttl: ttl, via: via, wall: wall))
    }

    // MARK: Claims

    /// - Returns: the id of the event, if that is not undecided any more.
    mutating func claim(_ claim: SharedClaim, via: String, wall: Int64) -> UInt64? {
        guard var item = items[claim.name] else {
            let expires = max(claim.expires ?? 0, wall + 24 * 3_600_000_000)
            if awaited[claim.name]?.contains(where: { $0.claim.form == claim.form }) != true {
                awaited[claim.name, default: []].append(Awaited(claim: claim, via: via, expires: expires))
                lastNumber += 1
                lastHole = lastNumber
            }
            return nil
        }
        let before = (item.outcome, item.isRead)
        switch (claim.form, item.outcome) {
        case (.claimed, ""), (.dismissed, ""), (.read, ""): item.outcome = "claimed"
        case (.claimed, "shown"), (.read, "shown"): item.outcome = "retracted"
        case (.dismissed, "shown"): item.outcome = "dismissed"
        case (.withdrawn, ""), (.withdrawn, "shown"): item.outcome = "withdrawn"
        default: break
        }
        item.isRead = true
        items[claim.name] = item
        guard before != (item.outcome, true) else { return nil }
        let form: SharedClaim.Form =
            before.0 == item.outcome ? .read : claim.form == .read ? .claimed : claim.form
        append(
            via,
            .claim(
                SharedClaim(
                    name: claim.name, topic: item.event.topic, form: form, place: claim.place, expires: item.expires)))
        return item.outcome.isEmpty ? nil : item.id
    }

    mutating func show(_ name: GlobalName) {
        guard items[name]?.outcome == "" else { return }
        items[name]!.outcome = "shown"
        append("", .other)
    }

    mutating func expire(_ name: GlobalName) {
        guard items[name]?.outcome == "" else { return }
        items[name]!.outcome = "expired"
        append("", .other)
    }

    /// Deletes what is decided, current values excepted.
    mutating func forget(_ topic: Topic) {
        for (name, item) in items
        where item.event.topic == topic && !item.outcome.isEmpty
            && values[topic.description]?.stamp.name != name
        {
            items[name] = nil
            names[item.id] = nil
            forgotten.insert(name)
        }
    }
}
