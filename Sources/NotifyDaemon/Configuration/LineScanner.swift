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

    private typealias Rest = Substring.UnicodeScalarView

    /// Three of these close the string that goes on.
    private var openQuote: Unicode.Scalar?
    /// The brackets that are not closed yet.
    private var brackets: [Unicode.Scalar] = []

    /// Whether the next line goes on with what the lines before it began.
    var isUnderWay: Bool { openQuote != nil || !brackets.isEmpty }

    /// - Returns: the first mistake of the line that the library does not survive.
    mutating func read(_ line: Substring) -> Fault? {
        var fault: Fault?
        var rest = line.unicodeScalars
        if let quote = openQuote, Self.readString(to: quote, times: 3, in: &rest) { openQuote = nil }
        while let scalar = rest.first, scalar != "#" {
            if scalar == "\"" || scalar == "'" {
                beginString(scalar, in: &rest)
            } else {
                if let reason = take(scalar) { fault = fault ?? Fault(index: rest.startIndex, reason: reason) }
                rest.removeFirst()
            }
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

    /// Reads a string as far as this line goes.
    private mutating func beginString(_ quote: Unicode.Scalar, in rest: inout Rest) {
        let isLong = rest.starts(with: [quote, quote, quote])
        rest = rest.dropFirst(isLong ? 3 : 1)
        let isClosed = Self.readString(to: quote, times: isLong ? 3 : 1, in: &rest)
        // One that is not long ends with its line, even if that is a mistake.
        openQuote = isLong && !isClosed ? quote : nil
    }

    /// Reads what is in a string, and the quotes that close it.
    ///
    /// - Returns: whether it is closed on this line.
    private static func readString(to quote: Unicode.Scalar, times count: Int, in rest: inout Rest) -> Bool {
        while let scalar = rest.first {
            // Two more may stand before the three that close a long one; however many follow, no more are looked at.
            let quotes = rest.prefix(count == 1 ? 1 : 5).prefix { $0 == quote }.count
            if quotes >= count {
                rest = rest.dropFirst(quotes)
                return true
            }
            rest = rest.dropFirst(quote == "\"" && scalar == "\\" ? 2 : 1)
        }
        return false
    }
}
