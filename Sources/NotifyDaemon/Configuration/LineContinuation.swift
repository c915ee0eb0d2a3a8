/// Tells which lines of a TOML text go on with a string or an array that a line before them began.
///
/// It is right about every text that is TOML (https://toml.io/en/v1.0.0), up to the first place that is not; it finds no
/// mistakes itself.
struct LineContinuation {
    private enum Quote: UInt8 {
        case basic = 0x22
        case literal = 0x27
    }

    /// The kind of string that is not closed yet.
    private var string: Quote?
    private var openArrays = 0

    /// Whether the next line goes on with what the lines before it began.
    var isUnderWay: Bool { string != nil || openArrays > 0 }

    mutating func read(_ line: Substring) {
        var rest = line.utf8
        while let byte = rest.first {
            if let string {
                end(string, in: &rest)
            } else if byte == UInt8(ascii: "#") {
                return
            } else if let kind = Quote(rawValue: byte) {
                begin(kind, in: &rest)
            } else {
                if byte == UInt8(ascii: "[") { openArrays += 1 }
                if byte == UInt8(ascii: "]") { openArrays = max(0, openArrays - 1) }
                rest.removeFirst()
            }
        }
    }

    /// Reads the quotes that begin a string, and the whole of one that ends on its line.
    private mutating func begin(_ kind: Quote, in rest: inout Substring.UTF8View) {
        if Self.readThreeQuotes(kind, in: &rest, atMost: 3) {
            string = kind
            return
        }
        rest.removeFirst()
        while let byte = rest.popFirst(), byte != kind.rawValue {
            if kind == .basic, byte == UInt8(ascii: "\\") { rest = rest.dropFirst() }
        }
    }

    /// Reads what is left of a string of several lines, as far as this line goes.
    private mutating func end(_ kind: Quote, in rest: inout Substring.UTF8View) {
        // Two more quotes may stand before the three that close it.
        while !Self.readThreeQuotes(kind, in: &rest, atMost: 5) {
            guard let byte = rest.popFirst() else { return }
            if kind == .basic, byte == UInt8(ascii: "\\") { rest = rest.dropFirst() }
        }
        string = nil
    }

    /// Reads three quotes or more; fewer are left where they are.
    private static func readThreeQuotes(_ kind: Quote, in rest: inout Substring.UTF8View, atMost count: Int) -> Bool {
        let quotes = rest.prefix { $0 == kind.rawValue }.prefix(count).count
        guard quotes >= 3 else { return false }
        rest = rest.dropFirst(quotes)
        return true
    }
}
