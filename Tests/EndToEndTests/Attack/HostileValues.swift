import NotifyTestSupport

/// What everything hostile is made of, the same for the same seed.
struct Malice {
    private var generator: SplitMix64

    init(seed: UInt64) {
        generator = SplitMix64(seed: seed)
    }

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &generator) }
    mutating func chance(_ one: Int) -> Bool { below(one) == 0 }
    mutating func number() -> UInt64 { generator.next() }
    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
}

// MARK: Words

extension Malice {
    /// Valid UTF-8, as everything that a bus hands on.
    mutating func text() -> String {
        switch below(40) {
        case 0: return String(repeating: "x", count: 1025 + below(100_000))
        case 1: return String(repeating: "e\u{301}\u{202e}", count: below(200))
        case 2: return "e" + String(repeating: "\u{301}", count: below(2000))
        case 3: return "\u{7}\u{1b}[31m<b>&amp;{{title}}%s\n\u{fffe}"
        case 4...9: return ""
        default: return pick(["news", "27", "from", "좋은 아침", "a/b", "'--"])
        }
    }

    mutating func topic() -> String {
        if below(3) > 0 { return "/post/\(below(50))" }
        return pick([
            "", "/", "post", "/post/", "//", "/a'b", "/a\\b", "/{id}", "/a*", "/\u{9b}", "/e\u{301}", "/é",
            "/run/r1/invite",
            "/run/r1/mate/m\(below(20))", "/run/r1/mate/m1/finished", String(repeating: "/a", count: 17),
            "/" + String(repeating: "x", count: 65), text(),
        ])
    }

    /// The number of an event or a screen: known to somebody, or to nobody.
    mutating func identifier(_ known: [UInt64]) -> UInt64 {
        if !known.isEmpty, below(4) > 0 { return pick(known) }
        return pick([0, 1, .max, UInt64(below(1000)), number()])
    }

    /// Short times are taken, long ones refused; nothing is to be open for long when all is over.
    mutating func milliseconds() -> UInt32 { pick([0, 1, 50, 3_000_000, .max]) }
}

// MARK: Types and values

extension Malice {
    private static let basicTypes = ["y", "b", "n", "q", "i", "u", "x", "t", "d", "s", "o", "g", "h"]

    /// One complete type, short enough for a signature.
    mutating func type(depth: Int = 0) -> String {
        while true {
            let type = anyType(depth: depth)
            if type.utf8.count <= 100 { return type }
        }
    }

    private mutating func anyType(depth: Int) -> String {
        switch depth < 8 ? below(20) : below(14) {
        case 13: return "v"
        case 14...16: return "a" + anyType(depth: depth + 1)
        case 17, 18: return "a{" + pick(Self.basicTypes) + anyType(depth: depth + 1) + "}"
        case 19: return "(" + (0...below(3)).map { _ in anyType(depth: depth + 1) }.joined() + ")"
        case let index: return Self.basicTypes[index]
        }
    }

    /// A value of a type, which may be any number of complete ones.
    mutating func write(_ types: String, to writer: inout WireWriter, depth: Int = 0) {
        var rest = Array(types.utf8)[...]
        while !rest.isEmpty { write(Self.takeType(&rest), to: &writer, depth: depth) }
    }

    private mutating func write(_ type: ArraySlice<UInt8>, to writer: inout WireWriter, depth: Int) {
        switch Unicode.Scalar(type.first!) {
        case "y": writer.raw([UInt8(truncatingIfNeeded: number())])
        case "b": writer.number(UInt32(below(2)))
        case "n", "q": writer.number(UInt16(truncatingIfNeeded: number()))
        case "i", "u": writer.number(chance(2) ? UInt32(below(4)) : UInt32(truncatingIfNeeded: number()))
        case "x", "t", "d": writer.number(chance(2) ? UInt64(below(4)) : number())
        // No descriptor is sent: this is the number of one that is not there.
        case "h": writer.number(UInt32(0))
        case "s": writer.string(text())
        case "o": writer.string(pick(["/", "/a/b"]))
        case "g": writer.signature(pick(["", "a{sv}", "h"]))
        case "v":
            let inner = self.type(depth: depth + 1)
            writer.variant(inner) { write(inner, to: &$0, depth: depth + 1) }
        case "(":
            writer.pad(to: 8)
            write(String(decoding: type.dropFirst().dropLast(), as: UTF8.self), to: &writer, depth: depth + 1)
        default: writeArray(type.dropFirst(), to: &writer, depth: depth)
        }
    }

    private mutating func writeArray(_ element: ArraySlice<UInt8>, to writer: inout WireWriter, depth: Int) {
        let count = depth == 0 && chance(300) ? below(100_000) : depth < 4 ? below(4) : below(2)
        let isDictionary = element.first == UInt8(ascii: "{")
        writer.array(alignment: Self.alignment(of: element)) { writer in
            // A bus hangs up on what is larger than it allows.
            for _ in 0..<count where writer.bytes.count < 4 << 20 {
                if isDictionary { writer.pad(to: 8) }
                let types = isDictionary ? element.dropFirst().dropLast() : element
                write(String(decoding: types, as: UTF8.self), to: &writer, depth: depth + 1)
            }
        }
    }

    private static func alignment(of type: ArraySlice<UInt8>) -> Int {
        switch Unicode.Scalar(type.first!) {
        case "y", "g", "v": 1
        case "n", "q": 2
        case "x", "t", "d", "(", "{": 8
        default: 4
        }
    }

    private static func takeType(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var end = rest.startIndex
        while rest[end] == UInt8(ascii: "a") { end += 1 }
        var open = 0
        repeat {
            if "({".utf8.contains(rest[end]) { open += 1 }
            if ")}".utf8.contains(rest[end]) { open -= 1 }
            end += 1
        } while open > 0
        defer { rest = rest[end...] }
        return rest[..<end]
    }
}

// MARK: Dictionaries

extension Malice {
    /// An `a{sv}`: known keys with any value, unknown ones, the same again, too many, too deep, too large.
    mutating func writeDictionary(_ names: [String], to writer: inout WireWriter) {
        let count = chance(50) ? below(100) : below(5)
        let isHuge = chance(2000)
        writer.array(alignment: 8) { writer in
            for index in 0..<count {
                writer.pad(to: 8)
                writer.string(below(4) > 0 ? pick(names) : count > 5 ? "key\(index)" : text())
                switch below(40) {
                case 0: writeDeep(to: &writer)
                case 1 where isHuge: writer.variant("s") { $0.string(String(repeating: "x", count: 4 << 20)) }
                case 2 where isHuge: writer.variant("ay") { $0.array(alignment: 1) { $0.raw(zeros) } }
                case 3 where isHuge: writer.variant("aay") { $0.array(alignment: 4) { $0.raw(zeros) } }
                case 4...15: writeSensible(to: &writer)
                default:
                    let type = type()
                    writer.variant(type) { write(type, to: &$0) }
                }
            }
        }
    }

    /// What makes a call that is taken after all, now and then.
    private mutating func writeSensible(to writer: inout WireWriter) {
        switch below(4) {
        case 0: writer.variant("s") { $0.string(pick(["auto", "ask", "hidden", "visible", "same"])) }
        case 1: writer.variant("b") { $0.number(UInt32(below(2))) }
        default: writer.variant("u") { $0.number(UInt32(below(200))) }
        }
    }

    /// As deep as a bus hands on.
    private mutating func writeDeep(to writer: inout WireWriter) {
        let depth = below(60)
        for _ in 0..<depth { writer.signature("v") }
        writer.variant("y") { $0.raw([7]) }
    }

    /// As bytes or as empty arrays.
    private var zeros: [UInt8] { [UInt8](repeating: 0, count: 1 << 20) }
}
