import Mapping
import Testing

struct ReadingLimitTests {
    @Test func whatAServerHasKeptIsReadAtOnce() {
        var limit = ReadingLimit()
        for _ in 0..<20 { #expect(limit.read(lines: 100, bytes: 200_000, at: .seconds(5)) == .zero) }
        #expect(limit.read(lines: 100, bytes: 20_000, at: .seconds(5)) == .milliseconds(400))
    }

    @Test(arguments: [(1, 100), (100, 3000), (0, 64 << 10), (0, 1)])
    func aServerThatSaysMoreIsReadAtItsPace(_ lines: Int, _ bytes: Int) {
        var limit = ReadingLimit()
        var now = Duration.zero
        var read = (lines: 0, bytes: 0, pieces: 0)
        while now < .seconds(60) {
            now += limit.read(lines: lines, bytes: bytes, at: now)
            read = (read.lines + lines, read.bytes + bytes, read.pieces + 1)
        }
        #expect(read.lines <= ReadingLimit.lines + 61 * ReadingLimit.linesPerSecond)
        #expect(read.bytes <= ReadingLimit.bytes + 61 * ReadingLimit.bytesPerSecond)
        // Bytes that come one by one are work, too.
        #expect(read.pieces < 50_000)
    }

    @Test func whoHasWaitedMayReadAgain() {
        var limit = ReadingLimit()
        let pause = limit.read(lines: 3000, bytes: 1000, at: .zero)
        #expect(pause == .seconds(4))
        #expect(limit.read(lines: 250, bytes: 1000, at: pause) == .seconds(1))
        #expect(limit.read(lines: 2000, bytes: 1000, at: .seconds(60)) == .zero)
    }
}
