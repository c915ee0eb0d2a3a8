import Mapping
import Testing

struct LineReaderTests {
    private func lines(_ chunks: [String], limit: Int = 100) -> (lines: [String], dropped: Int) {
        var reader = LineReader(limit: limit)
        var lines: [String] = []
        for chunk in chunks { lines += reader.split(Array(chunk.utf8)).map { String(decoding: $0, as: UTF8.self) } }
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
                lines += reader.split(Array(bytes[start..<min(start + size, bytes.count)]))
            }
            #expect(lines.map { String(decoding: $0, as: UTF8.self) } == ["{\"a\":\"ö\"}", "{}"])
            #expect(reader.finish() == Array("rest".utf8))
        }
    }

    @Test func aLineThatIsTooLongIsDroppedAndTheNextOneIsRead() {
        #expect(lines(["12345\n", "123456\n78"], limit: 5) == (["12345", "…78"], 1))
        #expect(lines(["123456789", "123456789", "\na\n"], limit: 5) == (["a"], 1))
    }

    @Test func theBeginningOfALineThatIsTooLongIsTheSameHoweverItIsCut() {
        let line = Array("{\"id\":\"abc\",".utf8) + [UInt8](repeating: 65, count: 3000)
        for size in [1, 7, 1000, 1500, line.count] {
            var reader = LineReader(limit: 1500)
            var beginnings: [[UInt8]] = []
            for start in stride(from: 0, to: line.count, by: size) {
                reader.append(Array(line[start..<min(start + size, line.count)]))
                while let piece = reader.next() { beginnings += piece.beginnings }
            }
            #expect(beginnings == [Array(line.prefix(LineReader.beginningBytes))], "\(size)")
        }
    }

    @Test func anEndlessLineTakesNoMemory() {
        var reader = LineReader(limit: 1000)
        for _ in 0..<1000 { #expect(reader.split([UInt8](repeating: 65, count: 1000)).isEmpty) }
        #expect(reader.dropped == 1)
        #expect(!reader.isEndless)
        #expect(reader.finish() == nil)
    }

    @Test func aLineWithoutAnEndIsTold() {
        var reader = LineReader(limit: 10, endless: 100)
        for _ in 0..<10 { #expect(reader.split([UInt8](repeating: 65, count: 10)).isEmpty) }
        #expect(!reader.isEndless)
        #expect(reader.split(Array("B\n{}\n".utf8)).isEmpty)
        #expect(reader.isEndless)
        var usual = LineReader(limit: 10, endless: 100)
        for _ in 0..<20 { #expect(usual.split([UInt8](repeating: 65, count: 50) + [10]).isEmpty) }
        #expect(!usual.isEndless)
        #expect(usual.dropped == 20)
    }

    @Test func emptyLinesAreCountedPieceByPiece() {
        var reader = LineReader()
        reader.append([UInt8](repeating: UInt8(ascii: "\n"), count: 100) + Array("\r\n{}\n".utf8))
        var pieces: [LineReader.Piece] = []
        while let piece = reader.next() { pieces.append(piece) }
        #expect(pieces.map(\.ends) == [32, 32, 32, 6])
        #expect(pieces.map(\.empty) == [32, 32, 32, 5])
        #expect(pieces.map(\.bytes) == [32, 32, 32, 9])
        #expect(pieces.last?.lines == [Array("{}".utf8)])
    }

    @Test func aPieceHasFewBytes() {
        var reader = LineReader()
        reader.append([UInt8](repeating: 65, count: 100_000) + [10])
        #expect(reader.next()?.bytes == LineReader.bytesOfPiece)
        let last = reader.next()
        #expect(last?.bytes == 100_001 - LineReader.bytesOfPiece)
        #expect(last?.ends == 1)
        #expect(last?.lines.isEmpty == true)
        #expect(last?.empty == 0)
        #expect(reader.next() == nil)
        #expect(reader.dropped == 1)
    }

    @Test func aFewLinesThatAreNoMessagesAreBorne() {
        var strange = MalformedLines()
        strange.add(MalformedLines.maximum)
        #expect(!strange.areTooMany)
        for _ in 0..<MalformedLines.messagesForOne { strange.addMessage() }
        strange.add()
        #expect(!strange.areTooMany)
        strange.add()
        #expect(strange.areTooMany)
    }
}

extension LineReader {
    /// All lines that end in these bytes.
    fileprivate mutating func split(_ bytes: [UInt8]) -> [[UInt8]] {
        append(bytes)
        var lines: [[UInt8]] = []
        while let piece = next() { lines += piece.lines }
        return lines
    }
}
