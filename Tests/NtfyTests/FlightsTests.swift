import NtfyMessages
import Testing

struct FlightsTests {
    private func message(_ id: String, at time: Int64, sequence: String? = nil) -> NtfyMessage {
        NtfyMessage(.message, id: id, sequence: sequence, time: time, topic: "a")
    }

    @Test func theCursorFollowsWithoutAGap() {
        var flights = Flights()
        let first = flights.begin(message("a", at: 10))
        let second = flights.begin(message("b", at: 12))
        let third = flights.begin(message("c", at: 11))
        #expect(flights.end(second) == nil)
        #expect(flights.end(second) == nil)
        #expect(!flights.isDone(upTo: second))
        #expect(flights.end(first) == 12)
        #expect(flights.isDone(upTo: second))
        #expect(!flights.isEmpty)
        #expect(flights.end(third) == 11)
        #expect(flights.isEmpty)
        #expect(flights.isDone(upTo: flights.lastTicket))
    }

    @Test func anUpdateKnowsOfWhatItUpdates() {
        var flights = Flights()
        _ = flights.begin(message("a", at: 10))
        let first = flights.begin(message("b", at: 10, sequence: "door"))
        let second = flights.begin(message("c", at: 10, sequence: "door"))
        #expect(flights.earlier(first) == [])
        #expect(flights.earlier(second) == [first])
        #expect(flights.end(first) == nil)
        #expect(flights.earlier(second) == [])
    }
}
