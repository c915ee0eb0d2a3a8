/// Topic claims with a grace: they claim matching events on arrival until the grace ends.
struct Graces {
    /// Orders graces by when they began.
    struct ID: Hashable, Comparable {
        fileprivate let rawValue: UInt64

        static func < (left: ID, right: ID) -> Bool { left.rawValue < right.rawValue }
    }

    private var graces: [ID: (topic: TopicPrefix, claimant: String)] = [:]
    private(set) var index = PrefixIndex<ID>()
    private(set) var countByClaimant: [String: Int] = [:]
    private var lastID: UInt64 = 0

    var count: Int { graces.count }

    func contains(_ id: ID) -> Bool { graces[id] != nil }

    func count(of claimant: String) -> Int { countByClaimant[claimant] ?? 0 }

    /// Who claims an event with this topic: the claimant of the oldest grace.
    func claimant(of topic: Topic) -> String? {
        index.first(covering: topic).flatMap { graces[$0]?.claimant }
    }

    mutating func begin(_ topic: TopicPrefix, by claimant: String) -> ID {
        lastID += 1
        let id = ID(rawValue: lastID)
        graces[id] = (topic, claimant)
        index.insert(id, at: topic)
        countByClaimant[claimant, default: 0] += 1
        return id
    }

    mutating func end(_ id: ID) {
        guard let (topic, claimant) = graces.removeValue(forKey: id) else { return }
        index.remove(id, at: topic)
        let count = count(of: claimant)
        countByClaimant[claimant] = count > 1 ? count - 1 : nil
    }
}
