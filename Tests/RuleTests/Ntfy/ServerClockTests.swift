import Mapping
import Testing

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
        clock.tell(20_000, at: .seconds(3))
        #expect(clock.limited(20_001, at: .seconds(3)) == 20_001)
        #expect(clock.limited(90_000, at: .seconds(3)) == 20_000 + ServerClock.margin)
        #expect(clock.limited(90_000, at: .seconds(103)) == 20_100 + ServerClock.margin)
        clock.tell(21_000, at: .seconds(104))
        #expect(clock.limited(90_000, at: .seconds(104)) == 21_000 + ServerClock.margin)
    }

    @Test func theFirstConnectionIsKeptAsText() {
        #expect(ServerClock.Beginning(record: beginning.record) == beginning)
        #expect(ServerClock.Beginning(record: Array("1".utf8)) == nil)
        #expect(ServerClock.Beginning(record: Array("1 b".utf8)) == nil)
    }
}
