/// Which event was the newest one at which age of the journal. Ids grow in the order in which events come in, so the age of
/// every event lies between those of two marks, whatever time it says it was accepted.
struct RetentionMarks: Sendable, Equatable {
    struct Mark: Sendable, Equatable {
        var id: Int64
        /// On a `RetentionClock`.
        var age: Int64
    }

    /// How far marks are apart, in microseconds.
    static let spacing: Int64 = 3_600_000_000

    /// In ascending order of ids and of ages.
    private(set) var marks: [Mark]

    init(_ marks: [Mark] = []) {
        self.marks = []
        for mark in marks.sorted(by: { $0.id < $1.id }) { add(mark) }
    }

    func isDue(at age: Int64) -> Bool { marks.last.map { age - $0.age >= Self.spacing } ?? true }

    /// A mark that contradicts an earlier one is left out.
    mutating func add(_ mark: Mark) {
        if let last = marks.last, mark.id <= last.id || mark.age < last.age { return }
        marks.append(mark)
    }

    /// The newest id of which it is certain that it came in at this age or before; 0 where none is.
    func newestID(notAfter age: Int64) -> Int64 { marks.last { $0.age <= age }?.id ?? 0 }

    /// The latest age at which an event can have come in; `nil` where it came after the last mark.
    func age(of id: Int64) -> Int64? { marks.first { $0.id >= id }?.age }

    /// Forgets marks that say nothing beyond what a later one says, too, once everything older than `age` is gone.
    mutating func prune(notAfter age: Int64) {
        guard let last = marks.lastIndex(where: { $0.age <= age }) else { return }
        marks.removeFirst(last)
    }
}
