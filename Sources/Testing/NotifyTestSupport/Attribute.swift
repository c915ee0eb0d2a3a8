/// `name=value`, as fields, options and route keys are written.
public struct Attribute: Equatable, Sendable {
    public enum Scalar: Equatable, Sendable {
        case text(String)
        case integer(Int64)
        case flag(Bool)
        case duration(Duration)
        /// A word of a fixed vocabulary, such as `coalesce=route`.
        case word(String)
    }

    public var name: String
    public var value: Scalar
}

extension LineReader {
    /// Takes `name=value` pairs up to the end of the line, or to a closing character.
    mutating func attributes(until end: String?) throws(ScenarioError) -> [Attribute] {
        var attributes: [Attribute] = []
        while true {
            if let end, skip(end) { return attributes }
            if isAtEnd {
                if let end { throw error("here '\(end)' is expected") }
                return attributes
            }
            let start = position
            let name = take { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == "-") }
            guard !name.isEmpty, next == "=" else { throw error("here name=value is expected", at: start) }
            guard !attributes.contains(where: { $0.name == name }) else {
                throw error("'\(name)' is there twice", at: start)
            }
            _ = take()
            attributes.append(Attribute(name: name, value: try scalar()))
        }
    }

    private mutating func scalar() throws(ScenarioError) -> Attribute.Scalar {
        let start = position
        if next == "\"" {
            _ = take()
            let text = take { $0 != "\"" }
            guard take() == "\"" else { throw error("the text has no closing quotation mark", at: start) }
            skipSpaces()
            return .text(text)
        }
        let word = take { $0 != " " && $0 != "}" }
        skipSpaces()
        guard let first = word.first else { throw error("a value is missing", at: start) }
        if word == "true" || word == "false" { return .flag(word == "true") }
        if let number = Int64(word) { return .integer(number) }
        guard first.isNumber else { return .word(word) }
        var part = LineReader(word, file: file, line: line)
        guard let length = try? part.duration(), part.isAtEnd else {
            throw error("'\(word)' is not a value", at: start)
        }
        return .duration(length)
    }
}

extension Attribute: CustomStringConvertible {
    public var description: String { "\(name)=\(value)" }
}

extension Attribute.Scalar: CustomStringConvertible {
    public var description: String {
        switch self {
        case .text(let text): "\"\(text)\""
        case .integer(let number): "\(number)"
        case .flag(let flag): "\(flag)"
        case .duration(let length): length.written
        case .word(let word): word
        }
    }
}

/// What an actor can do about an event, a screen or a topic: the second word of its lane, as in `phone holds`.
public enum Verb: String, Equatable, Sendable, CaseIterable {
    /// `Claim` of an event, `ClaimTopic` of a topic. A lane that has only the actor's name is one of claims.
    case claims
    /// `ClaimProvisionally`.
    case holds
    /// `Complete`.
    case completes
    /// `Release`.
    case releases
    /// `Pass`.
    case passes
    /// `Withdraw`.
    case withdraws
    /// `UpdateScreen` that changes nothing, of whatever screen, and whatever is answered.
    case updates
    /// `CloseScreen` likewise.
    case closes

    /// What is answered where nothing is wrong and there is nothing to say.
    static let done = "done"
    /// The error UnknownEvent.
    static let unknown = "unknown"

    private static let verdicts = ["suppressed", "retracted", "recorded", unknown]

    /// What the call can be answered, beside the number of events that a topic claim took.
    var answers: [String] {
        switch self {
        case .claims, .holds: Self.verdicts + ["LimitExceeded"]
        case .completes, .releases: [Self.done, Self.unknown, "NotClaimant"]
        case .passes, .withdraws: [Self.done, Self.unknown]
        case .updates, .closes: [Self.done, "AccessDenied", "UnknownScreen"]
        }
    }

    /// Whether no line needs to say that a call was answered with nothing but success.
    var isUsuallyDone: Bool { answers.contains(Self.done) }
}
