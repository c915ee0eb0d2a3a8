import BrowserHost
import Testing

struct FrameReaderTests {
    @Test func messagesArriveInAnyPieces() throws {
        let bytes = FrameReader.frame([1, 2, 3]) + FrameReader.frame([]) + FrameReader.frame([4])
        for size in 1...bytes.count {
            var reader = FrameReader()
            var frames: [[UInt8]] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                reader.append(bytes[start..<min(start + size, bytes.count)])
                while let frame = try reader.next() { frames.append(frame) }
            }
            #expect(frames == [[1, 2, 3], [], [4]])
        }
    }

    @Test func theLongestMessageIsTakenAndALongerOneIsNot() throws {
        var reader = FrameReader()
        reader.append(FrameReader.frame(Array(repeating: 0, count: FrameReader.longest)))
        #expect(try reader.next()?.count == FrameReader.longest)
        reader.append(FrameReader.frame(Array(repeating: 0, count: FrameReader.longest + 1)))
        #expect(throws: FrameError.self) { try reader.next() }
    }
}
