import Testing

@testable import Journal

/// The sum that stands beside every row: what was written with one version is read with the next.
struct ChecksumTests {
    private func checksum(_ bytes: [UInt8]) -> Int64 {
        var sum = Checksum()
        bytes.withUnsafeBytes { sum.add(bytes: $0) }
        return sum.value
    }

    /// The [catalogue](https://reveng.sourceforge.io/crc-catalogue/all.htm#crc.cat.crc-32-iso-hdlc) of such sums has this one.
    @Test func theSumIsTheOneThatIsWellKnown() {
        #expect(checksum(Array("123456789".utf8)) == 0xCBF4_3926)
        #expect(checksum([]) == 0)
    }

    @Test(arguments: Array(0...40) + [255, 256, 257, 512, 700]) func itIsTheSameHoweverTheBytesAreGrouped(_ count: Int)
    {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37 + 11) }
        var oneByOne = Checksum()
        for byte in bytes { [byte].withUnsafeBytes { oneByOne.add(bytes: $0) } }
        #expect(checksum(bytes) == oneByOne.value)
        for cut in 0...count {
            var parts = Checksum()
            for part in [bytes[..<cut], bytes[cut...]] { part.withUnsafeBytes { parts.add(bytes: $0) } }
            #expect(parts.value == oneByOne.value)
        }
    }

    @Test func aNumberIsItsEightBytesBehindAMark() {
        var sum = Checksum()
        sum.add(0x0102_0304_0506_0708)
        #expect(sum.value == checksum([1, 8, 7, 6, 5, 4, 3, 2, 1]))
        var nothing = Checksum()
        nothing.add(nil as Int64?)
        #expect(nothing.value == checksum([0]))
    }
}
