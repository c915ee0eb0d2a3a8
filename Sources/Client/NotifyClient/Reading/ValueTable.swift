internal import NotifyText

/// The current values of topics for one watcher, from snapshots and the signals between them.
///
/// A snapshot is authoritative up to its cursor, and a signal counts only above that. So signals may arrive before or
/// after a snapshot, twice or never: the next snapshot corrects the difference.
struct ValueTable: Sendable {
    private var values: [ByteString: Event] = [:]
    /// The cursor of the last snapshot.
    private var cursor: EventID = 0

    /// An event was announced.
    mutating func receive(_ event: Event) -> Change? {
        let key = event.topic.bytes
        guard event.isRetained, event.id > cursor else { return nil }
        if let known = values[key], known.id >= event.id { return nil }
        let kind: Change.Kind = values.updateValue(event, forKey: key) == nil ? .added : .modified
        return Change(kind, event)
    }

    /// A removal was announced.
    mutating func receive(_ removal: Removal) -> Change? {
        let key = removal.topic.bytes
        guard removal.id > cursor, let known = values[key], known.id < removal.id else { return nil }
        values[key] = nil
        return Change(.removed, known)
    }

    /// Applies a snapshot. Returns the removed values, then the new ones, each by ascending id.
    mutating func take(_ snapshot: Snapshot) -> [Change] {
        cursor = snapshot.cursor
        let former = values
        values = [:]
        var news: [Change] = []
        for event in snapshot.values.map(\.event) {
            let key = event.topic.bytes
            values[key] = event
            guard let known = former[key] else {
                news.append(Change(.added, event))
                continue
            }
            if known.id == event.id { values[key] = known } else { news.append(Change(.modified, event)) }
        }
        let gone = former.filter { values[$0.key] == nil }.map { Change(.removed, $0.value) }
        return gone.sorted { $0.value.id < $1.value.id } + news.sorted { $0.value.id < $1.value.id }
    }
}
