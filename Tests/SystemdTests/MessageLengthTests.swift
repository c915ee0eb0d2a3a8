import Systemd
import Testing

struct MessageLengthTests {
    /// The length of what `write` appends; it can still be read from the start.
    private func length(upTo limit: Int = 1000, of write: (borrowing BusMessage) -> Void) throws -> Int {
        let bus = try BusConnection(toNobody: ())
        let message = bus.methodCall(to: "org.example", path: "/", interface: "org.example", member: "Call")
        message.append("first")
        write(message)
        message.turnAround()
        let length = try message.length(upTo: limit)
        #expect(try message.readString() == "first")
        return length - (5 + 5)
    }

    @Test func everyTypeTakesWhatTheSpecificationSays() throws {
        #expect(try length { _ in } == 0)
        #expect(try length { $0.append("") } == 5)
        #expect(try length { $0.append("/a", as: "o") } == 7)
        #expect(try length { $0.append("as", as: "g") } == 4)
        #expect(try length { $0.append(UInt8(1), as: "y") } == 1)
        #expect(try length { $0.append(UInt16(1), as: "q") } == 2)
        #expect(try length { $0.append(true) } == 4)
        #expect(try length { $0.append(UInt32(1), as: "u") } == 4)
        #expect(try length { $0.append(1.0, as: "d") } == 8)
    }

    @Test func containersTakeWhatIsInThem() throws {
        #expect(try length { $0.append([]) } == 4)
        #expect(try length { $0.append(["a", "bc"]) } == 4 + 6 + 7)
        let dictionary = try length { message in
            message.appendContainer("a", "{sv}") { entries in
                for key in ["a", "b"] { entries.appendEntry(key, "as") { $0.append(["c"]) } }
            }
        }
        #expect(dictionary == 4 + 2 * (6 + 4 + 4 + 6))
    }

    @Test func whatIsLongerThanTheLimitIsNotGoneThrough() throws {
        #expect(try length(upTo: 110) { $0.append(String(repeating: "x", count: 95)) } == 100)
        #expect(try length(upTo: 110) { $0.append(String(repeating: "x", count: 96)) } == 101)
        let list = try length(upTo: 110) { $0.append(Array(repeating: "x", count: 10_000)) }
        #expect((101..<120).contains(list))
    }
}
