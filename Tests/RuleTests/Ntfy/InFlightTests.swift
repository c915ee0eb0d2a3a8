import Mapping
import Testing

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
