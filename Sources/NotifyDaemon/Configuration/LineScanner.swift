/// Reads a TOML text line by line: tells which lines go on with a string or an array that a line before them began, and finds
/// what the TOML library does not survive.
///
/// It is right about every text that is TOML (https://toml.io/en/v1.0.0), and about others up to the first place that is not.
struct LineScanner {
    /// A mistake, and where on its line it begins.
    struct Fault {
        let index: String.Index
        let reason: String
    }

    private enum Quote: UInt8 {
        case basic = 0x22
        case literal = 0x27
    }

    /// The kind of string that is not closed yet.
    private var string: Quote?
    /// The brackets that are not closed yet.
    private var brackets: [Unicode.Scalar] = []

    /// Whether the next line goes on with what the lines before it began.
    var isUnderWay: Bool { string != nil || !brackets.isEmpty }

    /// - Returns: the first mistake of the line that the library does not survive.
    mutating func read(_ line: Substring) -> Fault? {
        var fault: Fault?
        var rest = line.unicodeScalars
        while let scalar = rest.first {
            if let string {
                end(string, in: &rest)
                continue
            }
            if scalar == "#" { break }
            if let quote = UInt8(exactly: scalar.value).flatMap(Quote.init) {
                begin(quote, in: &rest)
                continue
            }
            if let reason = take(scalar) { fault = fault ?? Fault(index: rest.startIndex, reason: reason) }
            rest.removeFirst()
        }
        return fault
    }

    /// Takes in a character that is in no string and no comment.
    ///
    /// - Returns: what is wrong with it, if anything is.
    private mutating func take(_ scalar: Unicode.Scalar) -> String? {
        switch scalar {
        case "[", "{": brackets.append(scalar)
        case "]", "}":
            guard brackets.popLast() == (scalar == "]" ? "[" : "{") else {
                return "this \(scalar) closes no open bracket; the one that was opened last is to be closed first"
            }
        case "\u{85}", "\u{2028}", "\u{2029}": return "a line ends with a line feed, and not with this character"
        default: break
        }
        return nil
    }

    /// Reads the quotes that begin a string, and the whole of one that ends on its line.
    private mutating func begin(_ quote: Quote, in rest: inout Substring.UnicodeScalarView) {
        if Self.readThree(quote, in: &rest, atMost: 3) {
            string = quote
            return
        }
        rest.removeFirst()
        while let scalar = rest.popFirst(), scalar.value != quote.rawValue {
            if quote == .basic, scalar == "\\" { rest = rest.dropFirst() }
        }
    }

    /// Reads what is left of a string of several lines, as far as this line goes.
    private mutating func end(_ quote: Quote, in rest: inout Substring.UnicodeScalarView) {
        // Two more quotes may stand before the three that close it.
        while !Self.readThree(quote, in: &rest, atMost: 5) {
            guard let scalar = rest.popFirst() else { return }
            if quote == .basic, scalar == "\\" { rest = rest.dropFirst() }
        }
        string = nil
    }

    /// Reads three quotes or more; fewer are left where they are.
    private static func readThree(_ quote: Quote, in rest: inout Substring.UnicodeScalarView, atMost count: Int) -> Bool
    {
        let quotes = rest.prefix { $0.value == quote.rawValue }.prefix(count).count
        guard quotes >= 3 else { return false }
        rest = rest.dropFirst(quotes)
        return true
    }
}
