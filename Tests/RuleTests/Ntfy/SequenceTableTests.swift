import Mapping
import Testing

struct SequenceTableTests {
    private func message(
        _ id: String, _ sequence: String? = nil, at time: Int64, _ event: NtfyMessage.Event = .message
    ) -> NtfyMessage {
        NtfyMessage(event, id: id, sequence: sequence, time: time, topic: "t")
    }

    @Test func aClearClaimsAllMessagesOfItsSequence() {
        var table = SequenceTable()
        #expect(table.received(message("a", at: 1)) == nil)
        #expect(table.received(message("b", "door", at: 2)) == nil)
        #expect(table.received(message("c", "door", at: 3)) == nil)
        #expect(table.ended(message("x", "door", at: 4, .clear), .cleared) == ["door/b", "door/c"])
        // An update of a message that was published without a sequence: its id is one.
        #expect(table.received(message("d", "abcdefghijkl", at: 5)) == nil)
        #expect(
            table.ended(message("y", "abcdefghijkl", at: 6, .delete), .deleted) == ["abcdefghijkl", "abcdefghijkl/d"])
    }

    @Test func aClearThatComesBeforeItsMessageCounts() {
        var table = SequenceTable()
        #expect(table.ended(message("x", "door", at: 10, .clear), .cleared) == [])
        #expect(table.received(message("a", "door", at: 9)) == .cleared)
        var other = SequenceTable()
        #expect(other.ended(message("x", "door", at: 10, .delete), .deleted) == [])
        #expect(other.received(message("a", "door", at: 10)) == .deleted)
        #expect(other.received(message("b", "door", at: 10)) == nil)
    }

    @Test func anUpdateAfterAClearIsNews() {
        var table = SequenceTable()
        _ = table.received(message("a", "door", at: 1))
        _ = table.ended(message("x", "door", at: 2, .clear), .cleared)
        #expect(table.received(message("b", "door", at: 3)) == nil)
        // What is said again changes nothing.
        #expect(table.ended(message("x", "door", at: 2, .clear), .cleared) == [])
        _ = table.ended(message("z", "door", at: 4, .clear), .cleared)
        #expect(table.ended(message("x", "door", at: 2, .clear), .cleared) == ["door/a"])
    }

    @Test func itIsTheSameAfterARestart() {
        var table = SequenceTable()
        _ = table.received(message("a", "door", at: 1))
        _ = table.ended(message("x", "door", at: 2, .delete), .deleted)
        _ = table.received(message("b", "bell", at: 2))
        var other = SequenceTable()
        for (key, value) in table.takeChanges() { other.restore(key, value!) }
        #expect(table.takeChanges().isEmpty)
        #expect(other.ended(message("x", "door", at: 2, .clear), .cleared) == [])
        #expect(other.ended(message("y", "bell", at: 3, .clear), .cleared) == ["bell/b"])
        #expect(other.received(message("c", "door", at: 2)) == nil)
        #expect(other.received(message("d", "door", at: 1)) == .deleted)
        other.restore(.init(topic: "t", sequence: "s"), Array("rubbish".utf8))
    }

    @Test func theOldestAreForgotten() {
        var table = SequenceTable()
        for number in 0..<3000 { _ = table.received(message("m\(number)", "s\(number)", at: 1)) }
        #expect(table.ended(message("x", "s0", at: 2, .clear), .cleared) == [])
        #expect(table.ended(message("y", "s2999", at: 2, .clear), .cleared) == ["s2999/m2999"])
        #expect(table.takeChanges().filter { $0.value != nil }.count <= 1002)
    }
}

struct SentTableTests {
    private let key = SentTable.Key(topic: "phone", sequence: "notifyd-1")

    @Test func anEndIsFinal() {
        var table = SentTable()
        table.begin(key, source: "a", eventID: "1", at: 1)
        #expect(table[key]?.state == .sending)
        table.set(key, .sent)
        table.set(key, .ended)
        table.set(key, .sent)
        table.begin(key, source: "a", eventID: "1", at: 2)
        #expect(table[key]?.state == .ended)
        #expect(table[key]?.at == 1)
    }

    @Test func itIsTheSameAfterARestart() {
        var table = SentTable()
        table.begin(key, source: "a", eventID: "1", at: 1)
        var other = SentTable()
        for (key, value) in table.takeChanges() { other.restore(key, value!) }
        #expect(other[key] == table[key])
        #expect(table.takeChanges().isEmpty)
        table.forget(key)
        #expect(table.takeChanges().map(\.value) == [nil])
        other.restore(key, Array("{}".utf8))
        #expect(other[key]?.state == .sending)
    }

    @Test func theOldestAreForgotten() {
        var table = SentTable()
        for number in 0..<5000 {
            table.begin(.init(topic: "t", sequence: "s\(number)"), source: "a", eventID: "\(number)", at: Int64(number))
        }
        #expect(table[.init(topic: "t", sequence: "s0")] == nil)
        #expect(table[.init(topic: "t", sequence: "s4999")] != nil)
    }
}
