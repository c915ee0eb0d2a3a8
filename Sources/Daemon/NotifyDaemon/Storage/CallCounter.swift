/// How many calls of each program are under way.
struct CallCounter {
    private var counts: [String: Int] = [:]

    var isEmpty: Bool { counts.isEmpty }

    subscript(caller: String) -> Int { counts[caller] ?? 0 }

    mutating func add(_ caller: String) {
        counts[caller, default: 0] += 1
    }

    /// Removes a call that was added.
    mutating func remove(_ caller: String) {
        guard let count = counts[caller] else { preconditionFailure("a call that ends has begun") }
        counts[caller] = count > 1 ? count - 1 : nil
    }
}
