import NotifyClient
import NotifyText

/// What nobody has seen, grouped by topic, and which event of it is selected.
///
/// It does no I/O and reads no clock.
struct InboxList: Sendable {
    struct Group: Sendable {
        let topic: String
        /// The newest first.
        fileprivate(set) var entries: [InboxEntry]
    }

    /// The most events in memory. Older ones are only counted.
    static let capacity = 2000
    private static let portion = 200
    /// Older events are loaded before the selection reaches the last one.
    private static let margin = 50

    /// The newest first.
    private(set) var entries: [InboxEntry] = []
    /// How many unread events there are; `nil` before the daemon has answered.
    private(set) var total: Int?
    /// How many events should be in memory.
    private(set) var wanted = portion
    /// Whether there are older events.
    private(set) var hasMore = false
    /// Whether the selection follows the last event until all are in memory that should be.
    private var isGoingToLast = false
    private(set) var selection: EventID?
    private(set) var expanded: Set<EventID> = []
    var filter = "" {
        didSet {
            // What it finds is told of all events.
            if !filter.isEmpty { wanted = Self.capacity }
            isGoingToLast = false
            restoreSelection()
        }
    }

    /// Where the selection is in the order of the groups. If its event leaves, the next one is selected.
    private var position = 0
    /// Events that were decided while a page was on its way.
    private var decided: Set<EventID> = []

    /// Whether older events should be loaded.
    var isShort: Bool { hasMore && entries.count < wanted }

    /// Whether there are events that no key and no filter reaches.
    var isCut: Bool { hasMore && entries.count >= Self.capacity }

    /// How many events the filter finds in memory.
    var matching: Int { entries.count(where: matches) }

    /// The topic with the newest event first.
    var groups: [Group] {
        var groups: [Group] = []
        var indices: [ByteString: Int] = [:]
        for entry in entries where matches(entry) {
            if let index = indices[entry.topic.bytes] {
                groups[index].entries.append(entry)
            } else {
                indices[entry.topic.bytes] = groups.count
                groups.append(Group(topic: entry.topic, entries: [entry]))
            }
        }
        return groups
    }

    private func matches(_ entry: InboxEntry) -> Bool {
        guard !filter.isEmpty else { return true }
        let wanted = filter.lowercased()
        return [entry.topic, entry.text.title, entry.text.body, entry.appearance.app ?? ""]
            .contains { $0.lowercased().contains(wanted) }
    }

    var selected: InboxEntry? { selection.flatMap { id in entries.first { $0.id == id } } }

    /// The events of the selected one's topic.
    var selectedGroup: Group? { selected.flatMap { entry in groups.first { $0.topic.bytes == entry.topic.bytes } } }

    // MARK: News

    /// A page was asked for: outcomes that come before its reply are newer than it.
    mutating func beginLoading() { decided = [] }

    /// - Parameters:
    ///   - page: unread events from the newest on.
    ///   - hasMore: whether there are older ones.
    ///   - total: how many unread events there are.
    mutating func take(_ page: [InboxEntry], hasMore: Bool, total: Int) {
        entries = page.prefix(Self.capacity).filter { !decided.contains($0.id) }
        self.hasMore = hasMore || page.count > Self.capacity
        self.total = total - (page.count { decided.contains($0.id) })
        expanded.formIntersection(entries.map(\.id))
        restoreSelection()
        if isGoingToLast { select(.max) }
        if !isShort { isGoingToLast = false }
    }

    /// - Returns: whether the event is unread and not in the list.
    @discardableResult
    mutating func receive(_ outcome: Outcome) -> Bool {
        let index = entries.firstIndex { $0.id == outcome.id }
        guard outcome.kind != .shown, outcome.kind != .muted, outcome.kind != .expired else {
            if let index { entries[index].outcome = outcome.kind }
            return index == nil
        }
        decided.insert(outcome.id)
        guard let index else { return false }
        entries.remove(at: index)
        total = total.map { $0 - 1 }
        expanded.remove(outcome.id)
        restoreSelection()
        return false
    }

    private mutating func restoreSelection() {
        let ids = groups.flatMap { $0.entries.map(\.id) }
        if let index = selection.flatMap({ ids.firstIndex(of: $0) }) {
            position = index
        } else {
            position = max(0, min(position, ids.count - 1))
            selection = ids.isEmpty ? nil : ids[position]
        }
    }

    // MARK: Moving

    mutating func move(by step: Int) {
        isGoingToLast = false
        select(position + step)
        let count = groups.reduce(0) { $0 + $1.entries.count }
        if hasMore, position + Self.margin > count { wanted = min(wanted + Self.portion, Self.capacity) }
    }

    mutating func moveToFirst() { move(by: -position) }

    /// Loads what is missing. Until then, the last event in memory is selected.
    mutating func moveToLast() {
        wanted = Self.capacity
        isGoingToLast = isShort
        select(.max)
    }

    private mutating func select(_ index: Int) {
        let ids = groups.flatMap { $0.entries.map(\.id) }
        guard !ids.isEmpty else { return }
        position = max(0, min(index, ids.count - 1))
        selection = ids[position]
    }

    mutating func toggle() {
        isGoingToLast = false
        guard let selection else { return }
        if expanded.remove(selection) == nil { expanded.insert(selection) }
    }

    mutating func expand() { if let selection { expanded.insert(selection) } }
}
