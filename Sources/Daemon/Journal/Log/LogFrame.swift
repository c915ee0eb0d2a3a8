import Glibc

/// A frame of the log: a header of 32 bytes, the payload, and zeros up to the next multiple of 8. Numbers are
/// little-endian.
///
/// | offset | bytes | what |
/// |---|---|---|
/// | 0 | 4 | CRC-32 of the rest of the header and of the payload |
/// | 4 | 4 | magic and version |
/// | 8 | 4 | bytes of the payload |
/// | 12 | 4 | the CRC-32 of the frame before it; 0 if there was none |
/// | 16 | 4 | the salt: a random number, the same in all frames of a log |
/// | 20 | 4 | the number of the segment, which grows with each use of a file |
/// | 24 | 8 | the sequence |
///
/// The reader looks for intact frames behind a damaged one, and would find those that a sender has put into a payload.
/// Nobody who cannot read the log knows its salt.
package struct LogFrame: Equatable {
    package static let headerBytes = 32
    /// The last byte is the version.
    static let magic: UInt32 = 0x014c_6ef7

    package let checksum: UInt32
    private let magic: UInt32
    /// Bytes of the payload.
    package let length: Int
    package let previous: UInt32
    package let salt: UInt32
    package let segment: UInt32
    package let sequence: UInt64
    /// Where it begins in its segment.
    package let offset: Int

    /// Reads a header, and checks nothing. `nil` if there are not enough bytes for one.
    init?(at offset: Int, of bytes: UnsafeRawBufferPointer) {
        guard offset >= 0, bytes.count - offset >= Self.headerBytes else { return nil }
        func number<Number: FixedWidthInteger>(_ index: Int) -> Number {
            Number(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + index, as: Number.self))
        }
        checksum = number(0)
        magic = number(4)
        length = Int(number(8) as UInt32)
        previous = number(12)
        salt = number(16)
        segment = number(20)
        sequence = number(24)
        self.offset = offset
    }

    var hasMagic: Bool { magic == Self.magic }
    package var payload: Range<Int> { offset + Self.headerBytes..<offset + Self.headerBytes + length }
    /// The bytes that a frame takes, with its header.
    package static func size(ofPayload length: Int) -> Int { (headerBytes + length + 7) & ~7 }
    /// Where the next frame begins.
    package var end: Int { offset + Self.size(ofPayload: length) }

    /// Whether this is what was written.
    func isIntact(in bytes: UnsafeRawBufferPointer) -> Bool {
        guard hasMagic, length <= bytes.count - offset - Self.headerBytes else { return false }
        return UnsafeRawBufferPointer(rebasing: bytes[offset + 4..<payload.upperBound]).crc32 == checksum
    }

    /// Writes a frame to a buffer that had none, and returns its checksum.
    package static func write(
        _ payload: UnsafeRawBufferPointer, previous: UInt32, salt: UInt32, segment: UInt32, sequence: UInt64,
        to buffer: inout [UInt8]
    ) -> UInt32 {
        buffer.removeAll(keepingCapacity: true)
        let size = size(ofPayload: payload.count)
        buffer.reserveCapacity(size)
        withUnsafeTemporaryAllocation(byteCount: headerBytes, alignment: 8) { header in
            func store(_ number: some FixedWidthInteger, at offset: Int) {
                header.storeBytes(of: number.littleEndian, toByteOffset: offset, as: type(of: number))
            }
            store(0 as UInt32, at: 0)
            store(magic, at: 4)
            store(UInt32(truncatingIfNeeded: payload.count), at: 8)
            store(previous, at: 12)
            store(salt, at: 16)
            store(segment, at: 20)
            store(sequence, at: 24)
            buffer.append(contentsOf: header.bindMemory(to: UInt8.self))
        }
        buffer.append(contentsOf: payload.bindMemory(to: UInt8.self))
        let end = buffer.count
        for _ in end..<size { buffer.append(0) }
        return buffer.withUnsafeMutableBytes { bytes in
            let sum = UnsafeRawBufferPointer(rebasing: bytes[4..<end]).crc32
            bytes.storeBytes(of: sum.littleEndian, toByteOffset: 0, as: UInt32.self)
            return sum
        }
    }
}

/// Reads the frames of one segment, whatever else is in its file: older frames behind the new ones, torn and damaged
/// ones.
package struct LogFrameReader {
    package let bytes: [UInt8]
    /// Only frames with it count; `nil`: all do.
    private let salt: UInt32?
    /// Where the next frame is looked for.
    private var position = 0
    /// Bytes that may still be checked in vain, so that forged headers without number cost no time without end.
    private var effort: Int

    package init(_ bytes: [UInt8], salt: UInt32? = nil) {
        self.bytes = bytes
        self.salt = salt
        effort = 64 << 20
    }

    /// The next frame, and whether it is intact. What is not intact has at least the magic and the salt of a frame; the
    /// reader goes on behind its first bytes.
    package mutating func next() -> (frame: LogFrame, isIntact: Bool)? {
        let found = bytes.withUnsafeBytes { bytes -> (frame: LogFrame, isIntact: Bool)? in
            var offset = position
            while let frame = LogFrame(at: offset, of: bytes) {
                if frame.hasMagic, salt == nil || frame.salt == salt { return (frame, frame.isIntact(in: bytes)) }
                offset = Self.nextMagic(from: offset + 8, in: bytes)
            }
            return nil
        }
        guard let found else {
            position = bytes.count
            return nil
        }
        position = found.isIntact ? found.frame.end : found.frame.offset + 8
        if !found.isIntact { effort -= min(found.frame.length, bytes.count - found.frame.offset) }
        if effort < 0 { position = bytes.count }
        return found
    }

    /// The first place, a multiple of 8, where a frame with the right magic may begin.
    private static func nextMagic(from start: Int, in bytes: UnsafeRawBufferPointer) -> Int {
        let first = CInt(LogFrame.magic & 0xff)
        var place = start + 4
        while let base = bytes.baseAddress, place < bytes.count {
            guard let found = memchr(base + place, first, bytes.count - place) else { break }
            place = UnsafeRawPointer(found) - base
            if (place - 4) & 7 == 0 { return place - 4 }
            place += 1
        }
        return bytes.count
    }

    /// The header at a place, unchecked.
    func header(at offset: Int) -> LogFrame? { bytes.withUnsafeBytes { LogFrame(at: offset, of: $0) } }
}
