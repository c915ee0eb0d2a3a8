/// A pattern as a tree.
indirect enum PatternNode {
    case scalar(Unicode.Scalar)
    case set(ScalarSet)
    case any
    case assertion(TitlePattern.Assertion)
    case sequence([PatternNode])
    /// The earlier ones are preferred.
    case choice([PatternNode])
    /// - Parameter most: `nil` for any number.
    case repetition(PatternNode, least: Int, most: Int?, isLazy: Bool)
    /// A capture, by its number.
    case capture(Int, PatternNode)
}

/// Reads the text of a pattern.
struct TitlePatternParser {
    private static let deepest = 32
    private static let mostRepetitions = 255
    private static let mostCaptures = 16

    private let text: [Unicode.Scalar]
    private var index = 0
    private(set) var names: [String] = []
    private(set) var ignoresCase = false

    init(_ text: String) {
        self.text = Array(text.unicodeScalars)
    }

    mutating func parse() throws(TitlePatternError) -> PatternNode {
        ignoresCase = take("(?i)")
        let node = try choice(depth: 0)
        guard index == text.count else { throw error("this ')' closes nothing; as itself it is written \\)") }
        return node
    }

    // MARK: Text

    private func error(_ reason: String, at place: Int? = nil) -> TitlePatternError {
        TitlePatternError(reason: reason, position: (place ?? index) + 1)
    }

    private var next: Unicode.Scalar? { index < text.count ? text[index] : nil }

    private mutating func take(_ expected: String) -> Bool {
        let scalars = expected.unicodeScalars
        guard text[index...].starts(with: scalars) else { return false }
        index += scalars.count
        return true
    }

    // MARK: Structure

    private mutating func choice(depth: Int) throws(TitlePatternError) -> PatternNode {
        guard depth < Self.deepest else { throw error("the groups are more than \(Self.deepest) deep") }
        var branches = [try sequence(depth: depth)]
        while take("|") { branches.append(try sequence(depth: depth)) }
        return branches.count == 1 ? branches[0] : .choice(branches)
    }

    private mutating func sequence(depth: Int) throws(TitlePatternError) -> PatternNode {
        var nodes: [PatternNode] = []
        while let scalar = next, scalar != "|", scalar != ")" {
            nodes.append(try repetition(of: try atom(depth: depth)))
        }
        return nodes.count == 1 ? nodes[0] : .sequence(nodes)
    }

    private mutating func repetition(of node: PatternNode) throws(TitlePatternError) -> PatternNode {
        let place = index
        let least: Int
        let most: Int?
        switch next {
        case "*": (least, most, index) = (0, nil, index + 1)
        case "+": (least, most, index) = (1, nil, index + 1)
        case "?": (least, most, index) = (0, 1, index + 1)
        case "{": (least, most) = try counts()
        default: return node
        }
        if case .assertion = node { throw error("there is nothing here to repeat", at: place) }
        let isLazy = take("?")
        if let scalar = next, "*+?{".unicodeScalars.contains(scalar) {
            throw error("a repetition cannot be repeated; put the first one into (?:…)")
        }
        return .repetition(node, least: least, most: most, isLazy: isLazy)
    }

    /// Reads `{2}`, `{2,}` or `{2,5}`.
    private mutating func counts() throws(TitlePatternError) -> (Int, Int?) {
        let place = index
        let wrong = error("a number of times is written {2}, {2,} or {2,5}; the character itself is written \\{")
        index += 1
        guard let least = number() else { throw wrong }
        var most: Int? = least
        if take(",") { most = number() }
        guard take("}") else { throw wrong }
        guard max(least, most ?? 0) <= Self.mostRepetitions else {
            throw error("at most \(Self.mostRepetitions) times", at: place)
        }
        if let most, most < least { throw error("the second number is less than the first", at: place) }
        return (least, most)
    }

    private mutating func number() -> Int? {
        var digits = ""
        while let scalar = next, ("0"..."9").contains(scalar), digits.utf8.count < 6 {
            digits.unicodeScalars.append(scalar)
            index += 1
        }
        return Int(digits)
    }

    // MARK: Parts

    private mutating func atom(depth: Int) throws(TitlePatternError) -> PatternNode {
        let scalar = text[index]
        switch scalar {
        case "(": return try group(depth: depth)
        case "[": return .set(try scalarClass())
        case "\\": return try escape()
        case "*", "+", "?", "{":
            throw error("there is nothing here to repeat; the character itself is written \\\(scalar)")
        default: break
        }
        index += 1
        switch scalar {
        case ".": return .any
        case "^": return .assertion(.start)
        case "$": return .assertion(.end)
        default: return .scalar(ignoresCase ? scalar.lowercase : scalar)
        }
    }

    private mutating func group(depth: Int) throws(TitlePatternError) -> PatternNode {
        let place = index
        var capture: Int?
        if take("(?<") || take("(?P<") {
            capture = try name()
        } else if take("(?:") {
        } else if take("(?") {
            throw error("groups are (…), (?:…) and (?<name>…); (?i) may be at the beginning", at: place)
        } else {
            index += 1
        }
        let node = try choice(depth: depth + 1)
        guard take(")") else { throw error("this '(' is not closed; as itself it is written \\(", at: place) }
        return capture.map { .capture($0, node) } ?? node
    }

    /// Reads the name of a capture.
    private mutating func name() throws(TitlePatternError) -> Int {
        let place = index
        var name = ""
        while let scalar = next, scalar.isASCII, ScalarSet.Kind.word.contains(scalar) {
            name.unicodeScalars.append(scalar)
            index += 1
        }
        guard take(">"), let first = name.unicodeScalars.first, !("0"..."9").contains(first) else {
            throw error("the name of a capture has letters, digits and _, and begins with no digit", at: place)
        }
        guard !names.contains(name) else { throw error("there are two captures '\(name)'", at: place) }
        guard names.count < Self.mostCaptures else { throw error("there are more than \(Self.mostCaptures) captures") }
        names.append(name)
        return names.count - 1
    }

    private mutating func escape() throws(TitlePatternError) -> PatternNode {
        let place = index
        index += 1
        guard let scalar = next else { throw error("there is nothing after the '\\'; it is written \\\\", at: place) }
        if let kind = try kind(scalar) { return .set(ScalarSet(elements: [kind])) }
        switch scalar {
        case "b", "B":
            index += 1
            return .assertion(scalar == "b" ? .wordBoundary : .noWordBoundary)
        default:
            let scalar = try escaped(from: place)
            return .scalar(ignoresCase ? scalar.lowercase : scalar)
        }
    }

    /// Reads the letter of `\d` and its like, if it is one.
    private mutating func kind(_ scalar: Unicode.Scalar) throws(TitlePatternError) -> ScalarSet.Element? {
        let kind: ScalarSet.Kind
        switch scalar {
        case "d", "D": kind = .digit
        case "w", "W": kind = .word
        case "s", "S": kind = .space
        default: return nil
        }
        index += 1
        return .kind(kind, isNegated: scalar.value < 0x60)
    }

    /// Reads what follows the backslash of a single character.
    private mutating func escaped(from place: Int) throws(TitlePatternError) -> Unicode.Scalar {
        let scalar = text[index]
        index += 1
        switch scalar {
        case "t": return "\t"
        case "n": return "\n"
        case "u":
            let end = text[index...].firstIndex(of: "}") ?? index
            let digits = String(String.UnicodeScalarView(text[min(index + 1, end)..<end]))
            guard next == "{", digits.utf8.count <= 6, let value = UInt32(digits, radix: 16),
                let scalar = Unicode.Scalar(value)
            else { throw error("a character by its number is written \\u{20AC}", at: place) }
            index = end + 1
            return scalar
        default:
            guard scalar.isASCII, !ScalarSet.Kind.word.contains(scalar) else {
                throw error(
                    "'\\\(scalar)' means nothing here; there are \\d \\w \\s \\D \\W \\S \\b \\B \\t \\n \\u{…}",
                    at: place)
            }
            return scalar
        }
    }

    // MARK: Classes

    private mutating func scalarClass() throws(TitlePatternError) -> ScalarSet {
        let place = index
        index += 1
        var set = ScalarSet(elements: [], isNegated: take("^"))
        while let scalar = next, scalar != "]" {
            guard scalar != "[" else { throw error("inside a class, '[' is written \\[") }
            if scalar == "\\", index + 1 < text.count {
                index += 1
                if let kind = try kind(text[index]) {
                    set.elements.append(kind)
                    continue
                }
                index -= 1
            }
            let first = try member()
            var last = first
            if next == "-", index + 1 < text.count, text[index + 1] != "]" {
                index += 1
                last = try member()
            }
            guard first <= last else { throw error("this range ends before it begins") }
            set.elements.append(.range(first...last))
        }
        guard take("]") else { throw error("this '[' is not closed; as itself it is written \\[", at: place) }
        guard !set.elements.isEmpty else { throw error("this class is empty", at: place) }
        return set
    }

    private mutating func member() throws(TitlePatternError) -> Unicode.Scalar {
        let place = index
        index += 1
        guard text[place] == "\\" else { return text[place] }
        guard next != nil else { throw error("there is nothing after the '\\'; it is written \\\\", at: place) }
        return try escaped(from: place)
    }
}
