/// Topic claims with a grace: they claim matching events on arrival until the grace ends.
struct Graces {
    /// Orders graces by when they began.
    struct ID: Hashable, Comparable {
        fileprivate let rawValue: UInt64

        static func < (left: ID, right: ID) -> Bool { left.rawValue < right.rawValue }
    }

    private var graces: [ID: (topic: TopicPrefix, claimant: String)] = [:]
    private(set) var index = PrefixIndex<ID>()
    private var lastID: UInt64 = 0

    var count: Int { graces.count }

    func contains(_ id: ID) -> Bool { graces[id] != nil }

    /// Who claims an event with this topic: the claimant of the oldest grace.
    func claimant(of topic: Topic) -> String? {
        index.first(covering: topic).flatMap { graces[$0]?.claimant }
    }

    mutating func begin(_ topic: TopicPrefix, by claimant: String, in owners: inout Owners) -> ID {
        lastID += 1
        let id = ID(rawValue: lastID)
        graces[id] = (topic, claimant)
        index.insert(id, at: topic)
        owners.add(Owners.Share(graces: 1), of: .connection(claimant))
        return id
    }

    mutating func end(_ id: ID, in owners: inout Owners) {
        guard let (topic, claimant) = graces.removeValue(forKey: id) else { return }
        index.remove(id, at: topic)
        owners.remove(Owners.Share(graces: 1), of: .connection(claimant))
    }
}
