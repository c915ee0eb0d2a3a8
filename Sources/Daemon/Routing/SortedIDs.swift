import DequeModule
import NotifyText

/// A sorted set of event ids.
///
/// Most sets have one element, which is stored inline. Ids grow, so an insertion is nearly always an append. A removal
/// is a binary search and a short move from the nearer end.
struct SortedIDs: RandomAccessCollection {
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
            guard let last = ids.last else {
                storage = .one(id)
                return
            }
            // Keeps the deque uniquely referenced, so that it is changed in place.
            storage = .several([])
            let index = last < id ? ids.count : ids.position(of: id)
            if index == ids.count || ids[index] != id { ids.insert(id, at: index) }
            storage = .several(ids)
        }
    }

    mutating func remove(_ id: EventID) {
        switch storage {
        case .one(let other): if id == other { storage = .several([]) }
        case .several(var ids):
            let index = ids.position(of: id)
            guard index < ids.count, ids[index] == id else { return }
            storage = .several([])
            ids.remove(at: index)
            storage = ids.count == 1 ? .one(ids[0]) : .several(ids)
        }
    }

    /// Removes and returns all ids.
    mutating func take() -> SortedIDs {
        defer { storage = .several([]) }
        return self
    }
}

extension RandomAccessCollection where Element == EventID, Index == Int {
    /// The first index, of ids in their order, whose id is not below this one.
    package func position(of id: EventID) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < id { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
