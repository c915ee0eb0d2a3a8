import Routing

/// Appends values in the journal's binary coding. Whoever writes often keeps the writer, so that its memory is
/// allocated once.
///
/// Numbers are LEB128, those with a sign in zigzag; both as in
/// [Protocol Buffers](https://protobuf.dev/programming-guides/encoding/#varints). A text is the number of its bytes, and its
/// UTF-8.
/// Times are differences to the id of their event, which is about the time of acceptance and so makes them short.
package struct RecordWriter {
    /// What was written.
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// Forgets what was written, and keeps the memory.
    package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    package mutating func byte(_ byte: UInt8) { bytes.append(byte) }

    /// At most eight, in one byte; the first is the lowest bit.
    mutating func flags(
        _ first: Bool, _ second: Bool = false, _ third: Bool = false, _ fourth: Bool = false, _ fifth: Bool = false
    ) {
        bytes.append(
            (first ? 1 : 0) | (second ? 2 : 0) | (third ? 4 : 0) | (fourth ? 8 : 0) | (fifth ? 16 : 0))
    }

    mutating func number(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    mutating func number(_ number: Int64) { self.number(UInt64(bitPattern: number << 1 ^ number >> 63)) }

    /// A time, or the number of a change, as its difference to an id.
    mutating func number(_ number: Int64, from id: EventID) {
        self.number(number &- Int64(bitPattern: id.rawValue))
    }

    mutating func text(_ text: String) {
        let utf8 = text.utf8
        number(UInt64(utf8.count))
        // An array appends a view of a text byte by byte.
        if utf8.withContiguousStorageIfAvailable({ bytes.append(contentsOf: $0) }) == nil {
            bytes.append(contentsOf: utf8)
        }
    }

    mutating func fields(_ fields: [Field]) {
        number(UInt64(fields.count))
        FieldCoding.append(fields, to: &bytes)
    }

    mutating func value(_ value: some RecordPart) { value.write(to: &self) }

    mutating func list(_ list: [some RecordPart]) {
        number(UInt64(list.count))
        for element in list { element.write(to: &self) }
    }

    /// A value that stands alone: the version of the coding, its kind, what `body` writes, and the CRC-32 of all that.
    package mutating func sealed(kind: UInt8, _ body: (inout RecordWriter) -> Void) {
        let start = bytes.count
        byte(Record.version)
        byte(kind)
        body(&self)
        let sum = bytes.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0[start...]).crc32 }
        withUnsafeBytes(of: sum.littleEndian) { bytes.append(contentsOf: $0) }
    }
}

/// What is coded as a part of records, of fixed order and without a version of its own.
protocol RecordPart {
    func write(to writer: inout RecordWriter)
    init(from reader: inout RecordReader) throws(FieldCoding.Malformed)
}
