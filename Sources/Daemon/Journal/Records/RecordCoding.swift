import CStorage
import NotifyText
package import Routing

/// Appends values in the journal's binary coding. Whoever writes often keeps the writer, so that its memory is
/// allocated once.
package struct RecordWriter {
    /// What was written.
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// Forgets what was written, and keeps the memory.
    package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    package mutating func byte(_ byte: UInt8) { bytes.append(byte) }

    /// Values one behind the other.
    mutating func values<each Part: RecordPart>(_ part: repeat each Part) { repeat (each part).write(to: &self) }

    /// Begins values of which some may be missing: a bit for each comes first, the first one's is the lowest.
    ///
    /// - Parameter count: how many there may be.
    mutating func presence(of count: Int) -> Presence {
        defer { bytes.append(contentsOf: repeatElement(0, count: (count + 7) / 8)) }
        return Presence(start: bytes.count)
    }

    /// The next of these values.
    mutating func value(_ part: (some RecordPart)?, of presence: inout Presence) {
        if let part {
            bytes[presence.start + presence.next / 8] |= 1 << (presence.next % 8)
            part.write(to: &self)
        }
        presence.next += 1
    }

    /// Where the bits of optional values are.
    struct Presence {
        fileprivate let start: Int
        fileprivate var next = 0
    }

    /// What `body` writes, and the CRC-32 of it.
    package mutating func sealed(_ body: (inout RecordWriter) -> Void) {
        let start = bytes.count
        body(&self)
        let sum = bytes.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0[start...]).crc32 }
        withUnsafeBytes(of: sum.littleEndian) { bytes.append(contentsOf: $0) }
    }

    fileprivate mutating func append(_ text: String) {
        let utf8 = text.utf8
        UInt64(utf8.count).write(to: &self)
        // An array appends a view of a text byte by byte.
        if utf8.withContiguousStorageIfAvailable({ bytes.append(contentsOf: $0) }) == nil {
            bytes.append(contentsOf: utf8)
        }
    }

    fileprivate mutating func append(_ field: Field) { FieldCoding.append([field], to: &bytes) }
}

/// Reads the journal's binary coding without trusting it: every length, word and text is checked, and each value has
/// one coding.
package struct RecordReader {
    package typealias Malformed = FieldCoding.Malformed

    /// What is left. Its owner keeps it until the reader is done.
    private var rest: UnsafeRawBufferPointer

    /// - Parameter bytes: records one behind the other.
    package init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

    /// - Throws: `Malformed` if the bytes are not as `RecordWriter.sealed` wrote them.
    init(sealed bytes: UnsafeRawBufferPointer) throws(Malformed) {
        rest = bytes
        guard let content = rest.take(bytes.count - MemoryLayout<UInt32>.size),
            UInt32(littleEndian: rest.loadUnaligned(as: UInt32.self)) == content.crc32
        else { throw Malformed() }
        rest = content
    }

    /// Whether nothing is left.
    package var isAtEnd: Bool { rest.isEmpty }

    mutating func value<Part: RecordPart>() throws(Malformed) -> Part { try Part(from: &self) }

    /// What a function makes of the next values.
    mutating func make<each Part: RecordPart, Value>(
        _ body: (repeat each Part) throws(Malformed) -> Value
    ) throws(Malformed) -> Value {
        try body(repeat try (each Part)(from: &self))
    }

    /// A moment that was written as its distance to an id.
    mutating func moment(of id: EventID) throws(Malformed) -> Int64 { id.moment(try value()) }

    /// Which of some values there are; see `RecordWriter.presence`.
    struct Presence {
        fileprivate var bits: UInt64 = 0
    }

    /// - Parameter count: how many there may be.
    mutating func presence(of count: Int) throws(Malformed) -> Presence {
        var presence = Presence()
        for shift in stride(from: 0, to: UInt64(count), by: 8) { presence.bits |= UInt64(try byte()) << shift }
        guard presence.bits >> count == 0 else { throw Malformed() }
        return presence
    }

    /// The next of these values; `nil` if it is not there.
    mutating func value<Part: RecordPart>(of presence: inout Presence) throws(Malformed) -> Part? {
        defer { presence.bits >>= 1 }
        return presence.bits & 1 == 1 ? try Part(from: &self) : nil
    }

    fileprivate mutating func byte() throws(Malformed) -> UInt8 {
        guard let byte = rest.take(1) else { throw Malformed() }
        return byte[0]
    }

    fileprivate mutating func text() throws(Malformed) -> String {
        guard let bytes = rest.take(try count()), let text = String(ofMessage: bytes) else { throw Malformed() }
        return text
    }

    fileprivate mutating func field() throws(Malformed) -> Field { try FieldCoding.decode(1, from: &rest)[0] }

    /// The number of bytes or elements that follow. An element has at least one byte, so a damaged count takes no
    /// memory.
    fileprivate mutating func count() throws(Malformed) -> Int {
        guard let count = Int(exactly: try value() as UInt64), count <= rest.count else { throw Malformed() }
        return count
    }
}

extension EventID {
    /// A moment, or the number of a change, as its distance to the id. That is about the time of acceptance, and so
    /// makes the number short.
    func distance(to moment: Int64) -> Int64 { moment &- Int64(bitPattern: rawValue) }
    func moment(_ distance: Int64) -> Int64 { distance &+ Int64(bitPattern: rawValue) }
}

/// What is coded as a part of records, without a version of its own. The order of its parts never changes.
protocol RecordPart {
    func write(to writer: inout RecordWriter)
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed)
}

extension UInt8: RecordPart {
    func write(to writer: inout RecordWriter) { writer.byte(self) }
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) { self = try reader.byte() }
}

/// LEB128, as in [Protocol Buffers](https://protobuf.dev/programming-guides/encoding/#varints).
extension UInt64: RecordPart {
    func write(to writer: inout RecordWriter) {
        var rest = self
        while rest >= 0x80 {
            writer.byte(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        writer.byte(UInt8(truncatingIfNeeded: rest))
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        self = 0
        for shift in stride(from: 0 as UInt64, to: 64, by: 7) {
            let byte = try reader.byte()
            // The last byte of the longest number has one bit.
            guard shift < 63 || byte <= 1 else { throw FieldCoding.Malformed() }
            self |= UInt64(byte & 0x7F) << shift
            guard byte & 0x80 != 0 else {
                // A number has one coding, the shortest.
                guard byte != 0 || shift == 0 else { throw FieldCoding.Malformed() }
                return
            }
        }
        throw FieldCoding.Malformed()
    }
}

/// In zigzag, as in Protocol Buffers.
extension Int64: RecordPart {
    func write(to writer: inout RecordWriter) { UInt64(bitPattern: self << 1 ^ self >> 63).write(to: &writer) }
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        let number: UInt64 = try reader.value()
        self = Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
    }
}

extension UInt32: RecordPart {
    func write(to writer: inout RecordWriter) { UInt64(self).write(to: &writer) }
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        guard let number = UInt32(exactly: try reader.value() as UInt64) else { throw FieldCoding.Malformed() }
        self = number
    }
}

extension Bool: RecordPart {
    func write(to writer: inout RecordWriter) { writer.byte(self ? 1 : 0) }
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        let byte = try reader.byte()
        guard byte <= 1 else { throw FieldCoding.Malformed() }
        self = byte == 1
    }
}

/// The number of its bytes, and its UTF-8.
extension String: RecordPart {
    func write(to writer: inout RecordWriter) { writer.append(self) }
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) { self = try reader.text() }
}

extension Optional: RecordPart where Wrapped: RecordPart {
    func write(to writer: inout RecordWriter) {
        (self != nil).write(to: &writer)
        self?.write(to: &writer)
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        self = try reader.value() as Bool ? try Wrapped(from: &reader) : nil
    }
}

extension Array: RecordPart where Element: RecordPart {
    func write(to writer: inout RecordWriter) {
        UInt64(count).write(to: &writer)
        for element in self { element.write(to: &writer) }
    }

    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        self = []
        for _ in 0..<(try reader.count()) { append(try Element(from: &reader)) }
    }
}

/// Cases are written as their words, which are those of the D-Bus interface and so never change.
extension RecordPart where Self: RawRepresentable<String> {
    func write(to writer: inout RecordWriter) { writer.append(rawValue) }
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        guard let value = Self(rawValue: try reader.text()) else { throw FieldCoding.Malformed() }
        self = value
    }
}

extension Outcome: RecordPart {}
extension Verdict: RecordPart {}
extension ClaimForm: RecordPart {}
extension BannerDelay: RecordPart {}
extension NamedClaim.Kind: RecordPart {}
extension Quiet.Cause: RecordPart {}
extension ValueRemoval.Cause: RecordPart {}
extension Record.Counter: RecordPart {}

extension Urgency: RecordPart {
    func write(to writer: inout RecordWriter) { writer.byte(rawValue) }
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) {
        guard let urgency = Urgency(rawValue: try reader.byte()) else { throw FieldCoding.Malformed() }
        self = urgency
    }
}

extension Field: RecordPart {
    func write(to writer: inout RecordWriter) { writer.append(self) }
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed) { self = try reader.field() }
}

extension UnsafeRawBufferPointer {
    /// The CRC-32 of the bytes.
    var crc32: UInt32 { UInt32(truncatingIfNeeded: crc32_z(0, bindMemory(to: UInt8.self).baseAddress, count)) }
}
