/// A regular expression for titles, with the syntax of Swift's `Regex`, of which it knows what titles need.
///
/// Titles are chosen by pages, and `Regex` backtracks: with a pattern such as `(a+)+b`, a page could keep it busy for ever. The
/// time of this one is the product of the lengths of title and pattern at most, whatever both are.
///
/// - Characters for themselves, `.`, classes such as `[a-z_]` and `[^0-9]`.
/// - `\d` (0 to 9), `\w`, `\s`, and `\D`, `\W`, `\S`; `\t`, `\u{20AC}`; a backslash before punctuation.
/// - `*`, `+`, `?`, `{2}`, `{2,}`, `{2,5}`, each with a `?` for as few as possible.
/// - `(…)`, `(?:…)`, `(?<name>…)`, `a|b`; `^`, `$`, `\b`, `\B`; `(?i)` at the beginning.
///
/// It works on Unicode scalars.
public struct TitlePattern: Sendable {
    /// The pattern as text.
    public let description: String
    /// The names of the captures, from the left.
    public let captureNames: [String]
    let program: [Instruction]
    /// The sets that the program names by their number.
    let sets: [ScalarSet]
    let ignoresCase: Bool
    /// Instructions that a match may reach at every scalar of a title: with its length, the bound of the time.
    let weight: Int

    /// One step of a match. It has nothing that would be counted by references, because there are many.
    struct Instruction: Equatable, Sendable {
        enum Kind: Equatable, Sendable {
            /// Takes a scalar, by its value.
            case scalar
            /// Takes a scalar of a set, by its number.
            case set
            /// Takes any scalar.
            case any
            /// Goes on at a place.
            case jump
            /// Both places are tried; what the first one leads to is preferred.
            case fork
            /// Keeps the position in a slot: that of a beginning is even, that of an end odd.
            case save
            /// Goes on if an assertion holds.
            case assert
            case match
        }

        let kind: Kind
        var first: UInt32 = 0
        var second: UInt32 = 0
    }

    enum Assertion: UInt32, Equatable, Sendable {
        case start, end, wordBoundary, noWordBoundary
    }

    /// - Throws: what is wrong, and at which scalar.
    public init(_ text: String) throws(TitlePatternError) {
        var parser = TitlePatternParser(text)
        let node = try parser.parse()
        var compiler = TitlePatternCompiler()
        try compiler.compile(node)
        description = text
        captureNames = parser.names
        program = compiler.program + [Instruction(kind: .match)]
        sets = compiler.sets
        weight = Self.weight(of: program)
        ignoresCase = parser.ignoresCase
    }
}

extension TitlePattern {
    /// What stands at the beginning of a title, up to the first part that may vary, is reached once.
    private static func weight(of program: [Instruction]) -> Int {
        guard program[0] == Instruction(kind: .assert, first: Assertion.start.rawValue) else { return program.count }
        return program.count - program.prefix { ![.fork, .jump, .match].contains($0.kind) }.count
    }
}

extension TitlePattern: Equatable {
    public static func == (left: TitlePattern, right: TitlePattern) -> Bool {
        left.description.unicodeScalars.elementsEqual(right.description.unicodeScalars)
    }
}

/// Why a text is no pattern.
public struct TitlePatternError: Error, Equatable, CustomStringConvertible {
    /// What is wrong, and what would be right.
    public let reason: String
    /// The number of the first wrong scalar, from 1.
    public let position: Int

    public var description: String { "\(reason) (at character \(position))" }
}

/// A set of scalars: a class in brackets, or `\d` and its like.
struct ScalarSet: Equatable, Sendable {
    enum Element: Equatable, Sendable {
        case range(ClosedRange<Unicode.Scalar>)
        case kind(Kind, isNegated: Bool)
    }

    enum Kind: Equatable, Sendable {
        case digit, word, space

        func contains(_ scalar: Unicode.Scalar) -> Bool {
            switch self {
            case .digit: return ("0"..."9").contains(scalar)
            case .space: return scalar.properties.isWhitespace
            case .word:
                if scalar.isASCII {
                    return ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar)
                        || scalar == "_"
                }
                let properties = scalar.properties
                return properties.isAlphabetic || properties.generalCategory == .decimalNumber
                    || properties.generalCategory == .nonspacingMark || properties.generalCategory == .spacingMark
            }
        }
    }

    var elements: [Element]
    var isNegated = false

    func contains(_ scalar: Unicode.Scalar, ignoringCase: Bool) -> Bool {
        if has(scalar) { return !isNegated }
        if ignoringCase, has(scalar.lowercase) || has(scalar.uppercase) { return !isNegated }
        return isNegated
    }

    private func has(_ scalar: Unicode.Scalar) -> Bool {
        elements.contains { element in
            switch element {
            case .range(let range): range.contains(scalar)
            case .kind(let kind, let isNegated): kind.contains(scalar) != isNegated
            }
        }
    }
}

extension Unicode.Scalar {
    /// The small letter; itself if there is none, or more than one scalar.
    var lowercase: Unicode.Scalar {
        if isASCII { return ("A"..."Z").contains(self) ? Unicode.Scalar(UInt8(value) | 0x20) : self }
        let mapping = properties.lowercaseMapping.unicodeScalars
        return mapping.count == 1 ? mapping.first! : self
    }

    fileprivate var uppercase: Unicode.Scalar {
        if isASCII { return ("a"..."z").contains(self) ? Unicode.Scalar(UInt8(value) & ~0x20) : self }
        let mapping = properties.uppercaseMapping.unicodeScalars
        return mapping.count == 1 ? mapping.first! : self
    }
}
