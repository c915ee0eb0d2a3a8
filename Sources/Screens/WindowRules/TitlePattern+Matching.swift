extension TitlePattern {
    /// Finds the pattern anywhere in a title, and as far left as it is.
    ///
    /// - Returns: what each named capture has taken, unless it took no part; `nil` without a match.
    public func captures(in title: String) -> [String: String]? {
        let scalars = Array(title.unicodeScalars)
        let slots = 2 * captureNames.count
        let positions = Matcher.Memory.with(size: program.count, slots: slots, sets: sets.count) { memory in
            program.withUnsafeBufferPointer { program in
                var matcher = Matcher(pattern: self, program: program, scalars: scalars, memory: memory)
                return matcher.run()
            }
        }
        guard let positions else { return nil }
        var captures: [String: String] = [:]
        for (index, name) in captureNames.enumerated() {
            let (start, end) = (Int(positions[2 * index]), Int(positions[2 * index + 1]))
            guard start >= 0, end >= start else { continue }
            captures[name] = String(String.UnicodeScalarView(scalars[start..<end]))
        }
        return captures
    }
}

/// Follows all ways through the program at once, one scalar after the other: Pike's algorithm. No way is followed twice at a
/// position, which bounds the time.
private struct Matcher {
    /// Where it works: allocated once for a match, and reached without checks, because this is where the time goes.
    struct Memory {
        /// Ways, the preferred ones first, each with the positions that it has saved.
        struct Ways {
            let places: UnsafeMutablePointer<Int32>
            let positions: UnsafeMutablePointer<Int32>
            var count = 0
        }

        let ways: (Ways, Ways)
        /// For each instruction the last position at which it was reached.
        let reachedAt: UnsafeMutablePointer<Int32>
        /// What is still to be followed: a place, or a slot and what it was.
        let stack: UnsafeMutablePointer<(place: Int32, slot: Int32, position: Int32)>
        let saved: UnsafeMutablePointer<Int32>
        /// For each set twice the last position at which it was looked at, and 1 more if it has the scalar there.
        let members: UnsafeMutablePointer<Int32>
        /// The same for each assertion.
        let assertions: UnsafeMutablePointer<Int32>
        let slots: Int

        static func with<Result>(size: Int, slots: Int, sets: Int, _ body: (Memory) -> Result) -> Result {
            let words = UnsafeMutablePointer<Int32>.allocate(capacity: (3 + 2 * slots) * size + slots + sets + 4)
            // Each instruction is left for two others at most, and each way back restores one slot.
            let stack = UnsafeMutablePointer<(place: Int32, slot: Int32, position: Int32)>.allocate(
                capacity: 3 * size + 1)
            defer {
                words.deallocate()
                stack.deallocate()
            }
            let positions = words + 3 * size
            let saved = positions + 2 * slots * size
            let memory = Memory(
                ways: (
                    Ways(places: words, positions: positions),
                    Ways(places: words + size, positions: positions + slots * size)
                ),
                reachedAt: words + 2 * size, stack: stack, saved: saved, members: saved + slots,
                assertions: saved + slots + sets, slots: slots)
            memory.reachedAt.initialize(repeating: -1, count: size)
            memory.members.initialize(repeating: -1, count: sets + 4)
            return body(memory)
        }
    }

    let pattern: TitlePattern
    let program: UnsafeBufferPointer<TitlePattern.Instruction>
    let scalars: [Unicode.Scalar]
    let memory: Memory

    /// - Returns: the saved positions, -1 for those that were not; `nil` without a match.
    mutating func run() -> [Int32]? {
        var (current, next) = memory.ways
        var found: [Int32]?
        let slots = memory.slots
        for position in 0...scalars.count {
            // A match that begins later is not as good as one that has begun.
            if found == nil {
                memory.saved.update(repeating: -1, count: slots)
                add(0, to: &current, at: position)
            }
            if current.count == 0 { break }
            next.count = 0
            let scalar = position < scalars.count ? scalars[position] : nil
            let small = pattern.ignoresCase ? scalar?.lowercase : nil
            for number in 0..<current.count {
                let place = Int(current.places[number])
                let positions = current.positions + number * slots
                if program[place].kind == .match {
                    found = Array(UnsafeBufferPointer(start: positions, count: slots))
                    // The ways behind it are not preferred to it.
                    break
                }
                if let scalar, accepts(program[place], scalar, small, position) {
                    memory.saved.update(from: positions, count: slots)
                    add(place + 1, to: &next, at: position + 1)
                }
            }
            swap(&current, &next)
            if found != nil, current.count == 0 { break }
        }
        return found
    }

    private func accepts(
        _ instruction: TitlePattern.Instruction, _ scalar: Unicode.Scalar, _ small: Unicode.Scalar?, _ position: Int
    ) -> Bool {
        switch instruction.kind {
        case .scalar: return scalar.value == instruction.first || small?.value == instruction.first
        case .any: return true
        case .set:
            let set = Int(instruction.first)
            if Int(memory.members[set] >> 1) == position { return memory.members[set] & 1 == 1 }
            let isMember = pattern.sets[set].contains(scalar, ignoringCase: pattern.ignoresCase)
            memory.members[set] = Int32(position) << 1 | (isMember ? 1 : 0)
            return isMember
        default: return false
        }
    }

    /// Adds all ways that lead from a place to one that takes a scalar, or to the end. `memory.saved` has what was saved on the way
    /// to there.
    private func add(_ start: Int, to ways: inout Memory.Ways, at position: Int) {
        let (stack, saved, slots, here) = (memory.stack, memory.saved, memory.slots, Int32(position))
        var depth = 1
        stack[0] = (Int32(start), -1, 0)
        while depth > 0 {
            depth -= 1
            let (place, slot, old) = stack[depth]
            if slot >= 0 {
                saved[Int(slot)] = old
                continue
            }
            guard memory.reachedAt[Int(place)] != here else { continue }
            memory.reachedAt[Int(place)] = here
            let instruction = program[Int(place)]
            switch instruction.kind {
            case .jump:
                stack[depth] = (Int32(instruction.first), -1, 0)
                depth += 1
            case .fork:
                stack[depth] = (Int32(instruction.second), -1, 0)
                stack[depth + 1] = (Int32(instruction.first), -1, 0)
                depth += 2
            case .save:
                // What is on the stack belongs to before it was saved.
                let slot = Int(instruction.first)
                stack[depth] = (0, Int32(slot), saved[slot])
                stack[depth + 1] = (place + 1, -1, 0)
                saved[slot] = here
                depth += 2
            case .assert:
                let number = Int(instruction.first)
                if Int(memory.assertions[number] >> 1) != position {
                    let isTrue = holds(TitlePattern.Assertion(rawValue: instruction.first)!, at: position)
                    memory.assertions[number] = here << 1 | (isTrue ? 1 : 0)
                }
                if memory.assertions[number] & 1 == 1 {
                    stack[depth] = (place + 1, -1, 0)
                    depth += 1
                }
            case .scalar, .set, .any, .match:
                ways.places[ways.count] = place
                (ways.positions + ways.count * slots).update(from: saved, count: slots)
                ways.count += 1
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
