/// Makes a program of a pattern.
struct TitlePatternCompiler {
    /// Instructions. With titles of 512 scalars, a match then takes a few milliseconds at worst.
    private static let longest = 1000

    private(set) var program: [TitlePattern.Instruction] = []
    private(set) var sets: [ScalarSet] = []
    /// Parts that were compiled: an empty one adds no instruction, however often it is repeated.
    private var parts = 0

    mutating func compile(_ node: PatternNode) throws(TitlePatternError) {
        parts += 1
        guard parts < 10 * Self.longest else { throw Self.tooLong }
        switch node {
        case .scalar(let scalar): try add(.scalar, scalar.value)
        case .set(let set): try add(.set, number(of: set))
        case .any: try add(.any)
        case .assertion(let assertion): try add(.assert, assertion.rawValue)
        case .sequence(let nodes): for node in nodes { try compile(node) }
        case .choice(let nodes): try choice(nodes[...])
        case .repetition(let node, let least, let most, let isLazy):
            for _ in 0..<least { try compile(node) }
            if let most { try optional(node, most - least, isLazy) } else { try loop(node, isLazy) }
        case .capture(let number, let node):
            try add(.save, UInt32(2 * number))
            try compile(node)
            try add(.save, UInt32(2 * number + 1))
        }
    }

    private static let tooLong = TitlePatternError(
        reason: "the pattern is too long, as each repetition is written out; shorten it or its numbers", position: 1)

    private mutating func add(
        _ kind: TitlePattern.Instruction.Kind, _ first: UInt32 = 0
    ) throws(TitlePatternError) {
        guard program.count < Self.longest else { throw Self.tooLong }
        program.append(TitlePattern.Instruction(kind: kind, first: first))
    }

    /// A repetition has its sets many times.
    private mutating func number(of set: ScalarSet) -> UInt32 {
        if let number = sets.firstIndex(of: set) { return UInt32(number) }
        sets.append(set)
        return UInt32(sets.count - 1)
    }

    private mutating func choice(_ nodes: ArraySlice<PatternNode>) throws(TitlePatternError) {
        guard let first = nodes.first, nodes.count > 1 else {
            if let node = nodes.first { try compile(node) }
            return
        }
        let fork = program.count
        try add(.fork)
        try compile(first)
        let jump = program.count
        try add(.jump)
        program[fork] = Self.fork(fork + 1, program.count, false)
        try choice(nodes.dropFirst())
        program[jump].first = UInt32(program.count)
    }

    /// Any number of times.
    private mutating func loop(_ node: PatternNode, _ isLazy: Bool) throws(TitlePatternError) {
        let fork = program.count
        try add(.fork)
        try compile(node)
        try add(.jump, UInt32(fork))
        program[fork] = Self.fork(fork + 1, program.count, isLazy)
    }

    /// Up to a number of times.
    private mutating func optional(_ node: PatternNode, _ count: Int, _ isLazy: Bool) throws(TitlePatternError) {
        var forks: [Int] = []
        for _ in 0..<count {
            forks.append(program.count)
            try add(.fork)
            try compile(node)
        }
        for fork in forks { program[fork] = Self.fork(fork + 1, program.count, isLazy) }
    }

    private static func fork(_ body: Int, _ end: Int, _ isLazy: Bool) -> TitlePattern.Instruction {
        let (first, second) = isLazy ? (end, body) : (body, end)
        return TitlePattern.Instruction(kind: .fork, first: UInt32(first), second: UInt32(second))
    }
}
