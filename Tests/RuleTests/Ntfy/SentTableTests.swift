import Mapping
import Testing

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
