/// Events in the order of their ids, each once.
///
/// Ids grow, so that adding is nearly always appending; taking one out is a search by halves and a short move.
struct EventList {
    private(set) var ids: [EventID] = []

    var isEmpty: Bool { ids.isEmpty }
    var count: Int { ids.count }
    var newest: EventID? { ids.last }

    mutating func insert(_ id: EventID) {
        if let last = ids.last, last >= id {
            let index = position(of: id)
            if ids[index] != id { ids.insert(id, at: index) }
        } else {
            ids.append(id)
        }
    }

    mutating func insert(contentsOf other: EventList) {
        for id in other.ids { insert(id) }
    }

    mutating func remove(_ id: EventID) {
        let index = position(of: id)
        if index < ids.count, ids[index] == id { ids.remove(at: index) }
    }

    /// Empties the list and hands over what was in it.
    mutating func takeAll() -> EventList {
        defer { ids = [] }
        return self
    }

    /// Where the id is, or where it would belong.
    private func position(of id: EventID) -> Int {
        var low = 0
        var high = ids.count
        while low < high {
            let middle = (low + high) / 2
            if ids[middle] < id { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
