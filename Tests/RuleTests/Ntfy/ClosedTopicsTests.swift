import Testing

@testable import Mapping

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
