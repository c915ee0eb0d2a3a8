internal import NotifyText

/// The current values of topics as one watcher knows them, made from snapshots and from what is announced between them.
///
/// A snapshot says what is, up to its cursor; an announcement counts only above that. So an announcement may come before,
/// after, twice or never: the next snapshot tells the difference that is left.
struct ValueTable: Sendable {
    private var values: [ByteString: Event] = [:]
    /// What has an id up to here is settled by the last snapshot.
    private var cursor: EventID = 0

    /// An event was announced.
    mutating func hear(_ event: Event) -> Change? {
        let key = event.topic.bytes
        guard event.isRetained, event.id > cursor else { return nil }
        if let known = values[key], known.id >= event.id { return nil }
        let kind: Change.Kind = values.updateValue(event, forKey: key) == nil ? .added : .modified
        return Change(kind, event)
    }

    /// A removal was announced.
    mutating func hear(_ removal: Removal) -> Change? {
        let key = removal.topic.bytes
        guard removal.id > cursor, let known = values[key], known.id < removal.id else { return nil }
        values[key] = nil
        return Change(.removed, known)
    }

    /// A snapshot was taken. Returns the difference: first what is gone, then what is new, each by ascending id.
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
