extension TitlePattern {
    /// Finds the pattern anywhere in a title, and as far left as it is.
    ///
    /// - Returns: what each named capture has taken, unless it took no part; `nil` without a match.
    public func captures(in title: String) -> [String: String]? {
        let scalars = Array(title.unicodeScalars)
        var matcher = Matcher(pattern: self, scalars: scalars)
        guard let positions = matcher.run() else { return nil }
        var captures: [String: String] = [:]
        for (index, name) in captureNames.enumerated() {
            let (start, end) = (positions[2 * index], positions[2 * index + 1])
            guard start >= 0, end >= start else { continue }
            captures[name] = String(String.UnicodeScalarView(scalars[start..<end]))
        }
        return captures
    }
}

/// Follows all ways through the program at once, one scalar after the other: Pike's algorithm. No way is followed twice at a
/// position, which bounds the time.
private struct Matcher {
    /// Ways, the preferred ones first, each with the positions that it has saved.
    private struct Ways {
        var places: [Int] = []
        var positions: [Int] = []
        /// For each instruction the last position at which it was reached.
        var reachedAt: [Int]
    }

    let pattern: TitlePattern
    let scalars: [Unicode.Scalar]
    private let slots: Int
    private var stack: [(place: Int, restores: Int, position: Int)] = []

    init(pattern: TitlePattern, scalars: [Unicode.Scalar]) {
        self.pattern = pattern
        self.scalars = scalars
        slots = 2 * pattern.captureNames.count
    }

    /// - Returns: the saved positions, -1 for those that were not; `nil` without a match.
    mutating func run() -> [Int]? {
        let unreached = [Int](repeating: -1, count: pattern.program.count)
        var current = Ways(reachedAt: unreached)
        var next = Ways(reachedAt: unreached)
        var found: [Int]?
        let none = [Int](repeating: -1, count: slots)
        for position in 0...scalars.count {
            // A match that begins later is not as good as one that has begun.
            if found == nil { add(0, none, to: &current, at: position) }
            if current.places.isEmpty { break }
            next.places.removeAll(keepingCapacity: true)
            next.positions.removeAll(keepingCapacity: true)
            for (number, place) in current.places.enumerated() {
                let saved = current.positions[number * slots..<(number + 1) * slots]
                if pattern.program[place] == .match {
                    found = Array(saved)
                    // The ways behind it are not preferred to it.
                    break
                }
                if position < scalars.count, accepts(place, scalars[position]) {
                    add(place + 1, Array(saved), to: &next, at: position + 1)
                }
            }
            swap(&current, &next)
            if found != nil, current.places.isEmpty { break }
        }
        return found
    }

    private func accepts(_ place: Int, _ scalar: Unicode.Scalar) -> Bool {
        switch pattern.program[place] {
        case .scalar(let wanted): scalar == wanted || (pattern.ignoresCase && scalar.lowercase == wanted)
        case .set(let set): set.contains(scalar, ignoringCase: pattern.ignoresCase)
        case .any: true
        case .jump, .fork, .save, .assert, .match: false
        }
    }

    /// Adds all ways that lead from a place to one that takes a scalar, or to the end.
    private mutating func add(_ start: Int, _ saved: [Int], to ways: inout Ways, at position: Int) {
        var saved = saved
        stack.append((start, -1, 0))
        while let (place, restores, old) = stack.popLast() {
            if restores >= 0 {
                saved[restores] = old
                continue
            }
            guard ways.reachedAt[place] != position else { continue }
            ways.reachedAt[place] = position
            switch pattern.program[place] {
            case .jump(let target): stack.append((target, -1, 0))
            case .fork(let first, let second):
                stack.append((second, -1, 0))
                stack.append((first, -1, 0))
            case .save(let slot):
                // What is on the stack belongs to before it was saved.
                stack.append((0, slot, saved[slot]))
                saved[slot] = position
                stack.append((place + 1, -1, 0))
            case .assert(let assertion):
                if holds(assertion, at: position) { stack.append((place + 1, -1, 0)) }
            case .scalar, .set, .any, .match:
                ways.places.append(place)
                ways.positions += saved
            }
        }
    }

    private func holds(_ assertion: TitlePattern.Assertion, at position: Int) -> Bool {
        switch assertion {
        case .start: position == 0
        case .end: position == scalars.count
        case .wordBoundary: isWord(position - 1) != isWord(position)
        case .noWordBoundary: isWord(position - 1) == isWord(position)
        }
    }

    private func isWord(_ index: Int) -> Bool {
        scalars.indices.contains(index) && ScalarSet.Kind.word.contains(scalars[index])
    }
}
