import Testing

@testable import NotifyClient

struct ValueTableTests {
    private func value(_ id: UInt64, _ topic: String = "/a", isRetained: Bool = true) -> Event {
        Event(id: EventID(rawValue: id), topic: topic, isRetained: isRetained)
    }

    private func snapshot(_ cursor: UInt64, _ values: Event...) -> Snapshot {
        Snapshot(cursor: EventID(rawValue: cursor), values: values.map { RecordedEvent(event: $0) })
    }

    private func removal(_ id: UInt64, _ topic: String = "/a") -> Removal {
        Removal(topic: topic, id: EventID(rawValue: id))
    }

    @Test func thePresentComesFirstAsAdded() {
        var table = ValueTable()
        #expect(
            table.take(snapshot(9, value(3), value(7, "/b"))) == [
                Change(.added, value(3)), Change(.added, value(7, "/b")),
            ])
    }

    @Test func aValueIsAddedThenModifiedThenRemoved() {
        var table = ValueTable()
        _ = table.take(snapshot(0))
        #expect(table.receive(value(1)) == Change(.added, value(1)))
        #expect(table.receive(value(2)) == Change(.modified, value(2)))
        #expect(table.receive(removal(3)) == Change(.removed, value(2)))
        #expect(table.receive(value(4)) == Change(.added, value(4)))
    }

    @Test func whatTheSnapshotKnowsIsNotToldAgain() {
        var table = ValueTable()
        _ = table.take(snapshot(9, value(3)))
        #expect(table.receive(value(3)) == nil)
        #expect(table.receive(value(9, "/b")) == nil)
        #expect(table.receive(removal(2)) == nil)
        #expect(table.receive(value(10, "/b")) == Change(.added, value(10, "/b")))
    }

    @Test func aPassingEventIsNoValue() {
        var table = ValueTable()
        #expect(table.receive(value(1, isRetained: false)) == nil)
        #expect(table.receive(removal(2)) == nil)
    }

    @Test func aNewSnapshotTellsTheDifference() {
        var table = ValueTable()
        _ = table.take(snapshot(5, value(1), value(2, "/b"), value(3, "/c")))
        let difference = table.take(snapshot(20, value(1), value(11, "/b"), value(12, "/d")))
        #expect(
            difference == [
                Change(.removed, value(3, "/c")), Change(.modified, value(11, "/b")), Change(.added, value(12, "/d")),
            ])
        #expect(table.take(snapshot(20, value(1), value(11, "/b"), value(12, "/d"))).isEmpty)
    }

    @Test func spellingsOfOneCharacterAreDifferentTopics() {
        var table = ValueTable()
        _ = table.take(snapshot(0))
        #expect(table.receive(value(1, "/\u{e9}"))?.kind == .added)
        #expect(table.receive(value(2, "/e\u{301}"))?.kind == .added)
    }

    @Test func oneQuestionCoversAllTopics() throws {
        func ancestor(_ topics: String...) throws -> String { TopicFilter.ancestor(of: try TopicFilter.list(topics)) }
        #expect(try ancestor("/post/27") == "/post/27")
        #expect(try ancestor("/post/27", "/post/28") == "/post")
        #expect(try ancestor("/run/r1/mate", "/run/r1") == "/run/r1")
        #expect(try ancestor("/post", "/run") == "/")
        #expect(try ancestor("/post", "/") == "/")
    }
}
