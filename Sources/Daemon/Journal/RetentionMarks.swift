/// The newest event at several ages of the journal. Ids grow in the order of arrival, so the age of an event lies
/// between those of two marks, whatever its time of acceptance says.
package struct RetentionMarks: Sendable, Equatable {
    package struct Mark: Sendable, Equatable {
        var id: Int64
        /// On a `RetentionClock`.
        var age: Int64
    }

    /// The distance between marks, in microseconds.
    static let spacing: Int64 = 3_600_000_000

    /// In ascending order of ids and of ages.
    private(set) var marks: [Mark]

    init(_ marks: [Mark] = []) {
        self.marks = []
        for mark in marks.sorted(by: { $0.id < $1.id }) { add(mark) }
    }

    func isDue(at age: Int64) -> Bool { marks.last.map { age - $0.age >= Self.spacing } ?? true }

    /// Leaves out marks that contradict earlier ones.
    mutating func add(_ mark: Mark) {
        if let last = marks.last, mark.id <= last.id || mark.age < last.age { return }
        marks.append(mark)
    }

    /// The newest id that certainly arrived at this age or before; 0 if there is none.
    func newestID(notAfter age: Int64) -> Int64 { marks.last { $0.age <= age }?.id ?? 0 }

    /// The latest age at which an event can have arrived; `nil` if it arrived after the last mark.
    func age(of id: Int64) -> Int64? { marks.first { $0.id >= id }?.age }

    /// Removes marks that are not needed once all events older than `age` are deleted.
    mutating func prune(notAfter age: Int64) {
        guard let last = marks.lastIndex(where: { $0.age <= age }) else { return }
        marks.removeFirst(last)
    }
}
