import ArgumentParser
import NotifyClient
import NotifyText
import Testing

@testable import notifyctl

/// Names in two spellings that a `String` takes for one are two, as on the bus.
struct SpellingTests {
    private let one = "caf\u{E9}"
    private let other = "cafe\u{301}"

    @Test func fieldsAreNamedByBytes() {
        var fields: Fields = ["z": 1]
        fields[one] = "1"
        fields[other] = "2"
        #expect(fields.count == 3)
        #expect(fields[one] == "1" && fields[other] == "2")
        // In the order of their bytes: “e” comes before “é”.
        #expect(fields.map { Array($0.key.utf8) } == [other, one, "z"].map { Array($0.utf8) })
        #expect(fields != [one: "1", "z": 1])
        #expect(fields.json.text(pretty: false) == #"{"\#(other)":"2","\#(one)":"1","z":1}"#)
    }

    @Test func valuesAreEqualWhenTheirBytesAre() {
        #expect(Value.string(one) != .string(other))
        #expect(Value.variants(["a": .string(one)]) != .variants(["a": .string(other)]))
        let both = Value.dictionary([.string(one): 1, .string(other): 2], keys: .string, values: .int64)
        #expect(both.fields?.count == 2)
    }

    @Test func aFieldOfTheCommandLineMayBeginWithACombiningMark() throws {
        #expect(try FieldArgument.parse("a=\u{301}x").value == "\u{301}x")
    }

    @Test func bothSpellingsOfAFieldMayBeSent() async throws {
        let arguments = ["send", "/a", "-f", "\(one)=1", "-f", "\(other)=2"]
        let command = try #require(try NotifyctlCommand.parseAsRoot(arguments) as? SendCommand)
        #expect(try command.request().fields.count == 2)
    }

    @Test func aSlashWithACombiningMarkIsStillASlash() throws {
        #expect(throws: (any Error).self) { try NotifyctlCommand.parseAsRoot(["send", "post", "a/\u{301}b"]) }
    }
}
