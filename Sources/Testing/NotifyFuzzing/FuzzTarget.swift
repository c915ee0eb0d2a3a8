import NotifyText
import Routing

/// Something that reads what others wrote, with what has to hold whatever they wrote.
///
/// A body is given the bytes of a fuzzer. It returns when all is well, and traps when not: that is how a fuzzer
/// notices. The same bodies are run by the tests, on the inputs that are kept in `Tests/Fuzzing`.
public struct FuzzTarget: Sendable {
    /// The name of its folder of inputs, and of its program in `Tests/Fuzzing`.
    public let name: String
    public let body: @Sendable ([UInt8]) -> Void

    public static let all = [
        FuzzTarget(name: "Publish", body: fuzzPublish),
        FuzzTarget(name: "Topic", body: fuzzTopic),
        FuzzTarget(name: "Configuration", body: fuzzConfiguration),
        FuzzTarget(name: "Record", body: fuzzRecord),
        FuzzTarget(name: "Frame", body: fuzzFrame),
        FuzzTarget(name: "Text", body: fuzzText),
        FuzzTarget(name: "Reply", body: fuzzReply),
        FuzzTarget(name: "LinkMessage", body: fuzzLinkMessage),
        FuzzTarget(name: "Map", body: fuzzMap),
        FuzzTarget(name: "Tab", body: fuzzTab),
        FuzzTarget(name: "Window", body: fuzzWindow),
        FuzzTarget(name: "Push", body: fuzzPush),
        FuzzTarget(name: "Ntfy", body: fuzzNtfy),
    ]
}

/// Makes choices out of bytes, so that a fuzzer that changes a byte changes a choice. When the bytes are used up, every
/// choice is the first one.
struct Choices {
    private var bytes: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        self.bytes = bytes[...]
    }

    mutating func byte() -> UInt8 { bytes.popFirst() ?? 0 }

    mutating func below(_ bound: Int) -> Int { Int(byte()) % bound }

    mutating func flag() -> Bool { byte() & 1 == 1 }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

    mutating func number<Number: FixedWidthInteger>(_: Number.Type = Number.self) -> Number {
        var number: Number = 0
        for index in 0..<MemoryLayout<Number>.size { number |= Number(truncatingIfNeeded: byte()) << (8 * index) }
        return number
    }

    /// So many bytes as the next one says, at most.
    mutating func bytes(upTo limit: Int = 255) -> [UInt8] {
        let count = min(Int(byte()), limit, bytes.count)
        defer { bytes = bytes.dropFirst(count) }
        return Array(bytes.prefix(count))
    }

    /// A text as it can come over a bus.
    mutating func text(upTo limit: Int = 255) -> String {
        let text = String(decoding: bytes(upTo: limit), as: UTF8.self)
        return text.fitsIntoMessage ? text : String(text.map { String($0).fitsIntoMessage ? $0 : "0" })
    }

    mutating func rest() -> [UInt8] {
        defer { bytes = [] }
        return Array(bytes)
    }
}
