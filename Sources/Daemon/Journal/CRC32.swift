import CZlib

extension UnsafeRawBufferPointer {
    /// The CRC-32 of the bytes.
    var crc32: UInt32 { UInt32(truncatingIfNeeded: crc32_z(0, bindMemory(to: UInt8.self).baseAddress, count)) }
}
