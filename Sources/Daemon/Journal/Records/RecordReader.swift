package import Routing

/// Reads the journal's binary coding without trusting it: every length, code and text is checked, and each value has
/// one coding.
package struct RecordReader {
    package typealias Malformed = FieldCoding.Malformed

    /// What is left. Its owner keeps it until the reader is done.
    private var rest: UnsafeRawBufferPointer

    /// - Parameter bytes: records one behind the other.
    package init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

    /// - Parameters:
    ///   - bytes: a value as `RecordWriter.sealed` wrote it.
    ///   - kind: the kind that it must have.
    /// - Throws: `Malformed` if it is another one, or not what was written.
    init(sealed bytes: UnsafeRawBufferPointer, kind: UInt8) throws(Malformed) {
        let found: UInt8
        (self, found) = try Self.opened(bytes)
        guard found == kind else { throw Malformed() }
    }

    /// A reader of what a sealed value holds, and the kind of the value.
    static func opened(_ bytes: UnsafeRawBufferPointer) throws(Malformed) -> (RecordReader, kind: UInt8) {
        var content = bytes
        let size = MemoryLayout<UInt32>.size
        guard let start = content.take(bytes.count - size),
            UInt32(littleEndian: content.loadUnaligned(as: UInt32.self)) == start.crc32
        else { throw Malformed() }
        var reader = RecordReader(start)
        guard try reader.byte() == Record.version else { throw Malformed() }
        let kind = try reader.byte()
        return (reader, kind)
    }

    /// Whether nothing is left.
    package var isAtEnd: Bool { rest.isEmpty }

    func end() throws(Malformed) {
        guard isAtEnd else { throw Malformed() }
    }

    mutating func byte() throws(Malformed) -> UInt8 {
        guard let byte = rest.take(1) else { throw Malformed() }
        return byte[0]
    }

    /// - Parameter count: how many there are. No other bit may be set.
    mutating func flags(_ count: Int) throws(Malformed) -> Flags {
        let flags = Flags(bits: try byte())
        guard flags.bits >> count == 0 else { throw Malformed() }
        return flags
    }

    struct Flags {
        fileprivate let bits: UInt8
        subscript(index: Int) -> Bool { bits >> index & 1 == 1 }
    }

    mutating func number() throws(Malformed) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: 0 as UInt64, to: 64, by: 7) {
            let byte = try byte()
            let part = UInt64(byte & 0x7F)
            // The last byte of the longest number has one bit.
            guard shift < 63 || byte <= 1 else { throw Malformed() }
            number |= part << shift
            guard byte & 0x80 != 0 else {
                // A number has one coding, the shortest.
                guard byte != 0 || shift == 0 else { throw Malformed() }
                return number
            }
        }
        throw Malformed()
    }

    mutating func number() throws(Malformed) -> Int64 {
        let number: UInt64 = try number()
        return Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
    }

    mutating func number(from id: EventID) throws(Malformed) -> Int64 {
        let difference: Int64 = try number()
        return difference &+ Int64(bitPattern: id.rawValue)
    }

    mutating func bannerNumber() throws(Malformed) -> UInt32 {
        guard let number = UInt32(exactly: try number() as UInt64) else { throw Malformed() }
        return number
    }

    mutating func text() throws(Malformed) -> String {
        guard let bytes = rest.take(try count()), let text = String(ofMessage: bytes) else { throw Malformed() }
        return text
    }

    mutating func topic() throws(Malformed) -> Topic {
        guard let topic = try? Topic(text()) else { throw Malformed() }
        return topic
    }

    mutating func topicPrefix() throws(Malformed) -> TopicPrefix {
        guard let prefix = try? TopicPrefix(text()) else { throw Malformed() }
        return prefix
    }

    mutating func fields() throws(Malformed) -> [Field] {
        try FieldCoding.decode(try count(), from: &rest)
    }

    mutating func value<Value: RecordPart>() throws(Malformed) -> Value { try Value(from: &self) }

    mutating func list<Element: RecordPart>() throws(Malformed) -> [Element] {
        var list: [Element] = []
        for _ in 0..<(try count()) { list.append(try Element(from: &self)) }
        return list
    }

    /// The number of bytes or elements that follow. An element has at least one byte, so a damaged count takes no
    /// memory.
    private mutating func count() throws(Malformed) -> Int {
        guard let count = Int(exactly: try number() as UInt64), count <= rest.count else { throw Malformed() }
        return count
    }
}
