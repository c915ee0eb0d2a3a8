import NtfyMessages
import Testing

struct LineReaderTests {
    private func lines(_ chunks: [String], limit: Int = 100) -> (lines: [String], dropped: Int) {
        var reader = LineReader(limit: limit)
        var lines: [String] = []
        for chunk in chunks { lines += reader.append(chunk.utf8).map { String(decoding: $0, as: UTF8.self) } }
        if let last = reader.finish() { lines.append("…" + String(decoding: last, as: UTF8.self)) }
        return (lines, reader.dropped)
    }

    @Test func linesAreTheSameHoweverTheyAreCut() {
        let text = "{\"a\":\"ö\"}\n\r\n\n{}\r\nrest"
        for size in 1...text.utf8.count {
            let bytes = Array(text.utf8)
            var reader = LineReader()
            var lines: [[UInt8]] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                lines += reader.append(bytes[start..<min(start + size, bytes.count)])
            }
            #expect(lines.map { String(decoding: $0, as: UTF8.self) } == ["{\"a\":\"ö\"}", "{}"])
            #expect(reader.finish() == Array("rest".utf8))
        }
    }

    @Test func aLineThatIsTooLongIsDroppedAndTheNextOneIsRead() {
        #expect(lines(["12345\n", "123456\n78"], limit: 5) == (["12345", "…78"], 1))
        #expect(lines(["123456789", "123456789", "\na\n"], limit: 5) == (["a"], 1))
    }

    @Test func anEndlessLineTakesNoMemory() {
        var reader = LineReader(limit: 1000)
        for _ in 0..<1000 { #expect(reader.append([UInt8](repeating: 65, count: 1000)).isEmpty) }
        #expect(reader.dropped == 1)
        #expect(reader.finish() == nil)
    }
}
