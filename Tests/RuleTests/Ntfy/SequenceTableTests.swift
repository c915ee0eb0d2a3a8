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
