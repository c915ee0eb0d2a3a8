import ScreenHolding
import Testing
import Watching

struct FrameReaderTests {
    @Test func messagesArriveInAnyPieces() throws {
        let bytes = FrameReader.frame([1, 2, 3]) + FrameReader.frame([]) + FrameReader.frame([4])
        for size in 1...bytes.count {
            var reader = FrameReader()
            var frames: [FrameReader.Frame] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                reader.append(bytes[start..<min(start + size, bytes.count)])
                while let frame = try reader.next() { frames.append(frame) }
            }
            #expect(frames == [.message([1, 2, 3]), .message([]), .message([4])])
        }
    }

    @Test func theLongestMessageIsTakenAndALongerOneIsPassedOver() throws {
        let (longest, tooLong) = (FrameReader.longest, FrameReader.longest + 3)
        let bytes =
            FrameReader.frame(Array(repeating: 0, count: longest))
            + FrameReader.frame(Array(repeating: 1, count: tooLong))
            + FrameReader.frame([5])
        for size in [1, 4095, longest, bytes.count] {
            var reader = FrameReader()
            var frames: [FrameReader.Frame] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                reader.append(bytes[start..<min(start + size, bytes.count)])
                while let frame = try reader.next() { frames.append(frame) }
            }
            #expect(frames.count == 3, "in pieces of \(size)")
            #expect(frames.dropFirst() == [.tooLong(tooLong), .message([5])], "in pieces of \(size)")
        }
    }

    @Test func whatIsNoLengthEndsIt() {
        var reader = FrameReader()
        reader.append(Array("what".utf8))
        #expect(throws: FrameError.self) { try reader.next() }
    }

    /// A page chooses what it says; the other tabs are understood all the same.
    @Test func halfASurrogatePairIsOneWrongCharacter() throws {
        let message = #"""
            {"version":1,"tabs":[{"id":1,"address":"https://a.example/",\#
            "topic":"/a\ud83d","focused":true,"visible":true}]}
            """#
        let tabs = try TabMessage.parse(Array(message.utf8))
        #expect(tabs.map(\.topic) == ["/a\u{FFFD}"])
    }
}
