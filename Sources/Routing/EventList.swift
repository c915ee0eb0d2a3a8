import DequeModule

/// Events in the order of their ids, each once.
///
/// Most lists hold one event, which needs no memory of its own. Ids grow, so that adding is nearly always appending; taking
/// one out is a search by halves and a short move, from whichever end is nearer.
struct EventList: RandomAccessCollection {
    private enum Storage {
        case one(EventID)
        /// None, or more than one.
        case several(Deque<EventID>)
    }

    private var storage = Storage.several([])

    var startIndex: Int { 0 }

    var endIndex: Int {
        switch storage {
        case .one: 1
        case .several(let ids): ids.count
        }
    }

    subscript(position: Int) -> EventID {
        switch storage {
        case .one(let id): id
        case .several(let ids): ids[position]
        }
    }

    mutating func insert(_ id: EventID) {
        switch storage {
        case .one(let other):
            guard id != other else { return }
            storage = .several(id < other ? [id, other] : [other, id])
        case .several(var ids):
            guard !ids.isEmpty else {
                storage = .one(id)
                return
            }
            // The list has the only reference while it changes.
            storage = .several([])
            let index = ids.last! < id ? ids.count : Self.position(of: id, in: ids)
            if index == ids.count || ids[index] != id { ids.insert(id, at: index) }
            storage = .several(ids)
        }
    }

    mutating func insert(contentsOf other: EventList) {
        for id in other { insert(id) }
    }

    mutating func remove(_ id: EventID) {
        switch storage {
        case .one(let other):
            if id == other { storage = .several([]) }
        case .several(var ids):
            let index = Self.position(of: id, in: ids)
            guard index < ids.count, ids[index] == id else { return }
            storage = .several([])
            ids.remove(at: index)
            storage = ids.count == 1 ? .one(ids[0]) : .several(ids)
        }
    }

    /// Empties the list and hands over what was in it.
    mutating func takeAll() -> EventList {
        defer { storage = .several([]) }
        return self
    }

    /// Where the id is, or where it would belong.
    private static func position(of id: EventID, in ids: Deque<EventID>) -> Int {
        var low = 0
        var high = ids.count
        while low < high {
            let middle = (low + high) / 2
            if ids[middle] < id { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
