import Testing

@testable import Mapping

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

struct RequestLimitTests {
    @Test func sixtyAtOnceAndThenOneInFiveSeconds() {
        var limit = RequestLimit()
        for _ in 0..<60 { #expect(limit.take(at: .seconds(100)) == nil) }
        #expect(limit.take(at: .seconds(100)) == .seconds(5))
        #expect(limit.take(at: .seconds(103)) == .seconds(2))
        #expect(limit.take(at: .seconds(105)) == nil)
        #expect(limit.take(at: .seconds(105)) == .seconds(5))
        for _ in 0..<60 { #expect(limit.take(at: .seconds(1000)) == nil) }
        #expect(limit.take(at: .seconds(1000)) == .seconds(5))
    }

    @Test func whatTheServerSaysComesFirst() {
        var limit = RequestLimit()
        limit.refused(at: .zero, pause: .seconds(30))
        #expect(limit.take(at: .seconds(1)) == .seconds(29))
        #expect(limit.take(at: .seconds(30)) == nil)
        limit.refused(at: .seconds(30), pause: nil)
        #expect(limit.take(at: .seconds(30)) == .seconds(5))
        #expect(limit.take(at: .seconds(35)) == nil)
        #expect(limit.take(at: .seconds(35)) == .seconds(5))
        limit.refused(at: .zero, pause: .seconds(1_000_000))
        #expect(limit.take(at: .zero) == .seconds(3600))
    }
}

struct ClosedTopicsTests {
    @Test func aClosedTopicIsTriedRarelyAndTheOthersAreNot() {
        var topics = ClosedTopics()
        #expect(topics.next == nil)
        topics.close("phone", at: .seconds(10))
        #expect(topics.isClosed("phone", at: .seconds(69)))
        #expect(!topics.isClosed("phone", at: .seconds(70)))
        #expect(!topics.isClosed("tablet", at: .seconds(69)))
        topics.close("phone", at: .seconds(70))
        #expect(topics.next == .seconds(190))
        for _ in 0..<10 { topics.close("phone", at: .seconds(1000)) }
        #expect(topics.next == .seconds(2800))
        #expect(topics.names == ["phone"])
        topics.open("phone")
        #expect(topics == ClosedTopics())
    }
}

struct PictureWaitsTests {
    @Test func picturesThatNeverComeTakeFewPlaces() {
        var waits = PictureWaits<String>()
        for ticket in 0..<UInt64(PictureWaits<String>.maximum) {
            #expect(waits.hasPlace)
            waits.begin(ticket, "\(ticket)")
        }
        #expect(!waits.hasPlace)
        // A message that goes without its picture leaves its place to nobody until the fetch is over.
        #expect(waits.end(3) == "3")
        #expect(waits.end(3) == nil)
        #expect(!waits.hasPlace)
        waits.endFetch()
        #expect(waits.hasPlace)
        #expect(waits.endAll().count == PictureWaits<String>.maximum - 1)
        #expect(waits.end(4) == nil)
    }
}

struct FlightsTests {
    private func message(_ id: String, at time: Int64, sequence: String? = nil) -> NtfyMessage {
        NtfyMessage(.message, id: id, sequence: sequence, time: time, topic: "a")
    }

    @Test func theCursorFollowsWithoutAGap() {
        var messages = InFlight()
        let first = messages.begin(message("a", at: 10))
        let second = messages.begin(message("b", at: 12))
        let third = messages.begin(message("c", at: 11))
        #expect(messages.end(second) == nil)
        #expect(messages.end(second) == nil)
        #expect(!messages.isDone(upTo: second))
        #expect(messages.end(first) == 12)
        #expect(messages.isDone(upTo: second))
        #expect(!messages.isEmpty)
        #expect(messages.end(third) == 11)
        #expect(messages.isEmpty)
        #expect(messages.isDone(upTo: messages.lastTicket))
    }

    @Test func anUpdateKnowsOfWhatItUpdates() {
        var messages = InFlight()
        _ = messages.begin(message("a", at: 10))
        let first = messages.begin(message("b", at: 10, sequence: "door"))
        let second = messages.begin(message("c", at: 10, sequence: "door"))
        #expect(messages.earlier(first) == [])
        #expect(messages.earlier(second) == [first])
        #expect(messages.end(first) == nil)
        #expect(messages.earlier(second) == [])
    }
}

struct ServerClockTests {
    private let beginning = ServerClock.Beginning(server: 10_000, local: 10_500)

    @Test func nothingIsOlderThanTheFirstConnection() {
        var clock = ServerClock()
        clock.open(at: 20_000, local: 20_500, since: beginning)
        #expect(clock.floor == 10_000)
        // Clocks that drift change nothing.
        clock.open(at: 20_000, local: 20_540, since: beginning)
        #expect(clock.floor == 10_000)
    }

    @Test func theFirstConnectionMovesWithAClockThatIsSetBack() {
        var clock = ServerClock()
        clock.open(at: 17_000, local: 20_500, since: beginning)
        #expect(clock.floor == 6999)
        // That of this machine was set back, too.
        clock.open(at: 5000, local: 5500, since: beginning)
        #expect(clock.floor == 4999)
    }

    @Test func theCursorDoesNotGoBeyondTheTimeOfTheServer() {
        var clock = ServerClock()
        #expect(clock.limited(7, at: .zero) == nil)
        clock.setTime(20_000, at: .seconds(3))
        #expect(clock.limited(20_001, at: .seconds(3)) == 20_001)
        #expect(clock.limited(90_000, at: .seconds(3)) == 20_000 + ServerClock.margin)
        #expect(clock.limited(90_000, at: .seconds(103)) == 20_100 + ServerClock.margin)
        clock.setTime(21_000, at: .seconds(104))
        #expect(clock.limited(90_000, at: .seconds(104)) == 21_000 + ServerClock.margin)
    }

    @Test func theFirstConnectionIsKeptAsText() {
        #expect(ServerClock.Beginning(record: beginning.record) == beginning)
        #expect(ServerClock.Beginning(record: Array("1".utf8)) == nil)
        #expect(ServerClock.Beginning(record: Array("1 b".utf8)) == nil)
    }
}
