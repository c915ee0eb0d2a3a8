import Testing

@testable import Routing

/// The fields of an event as one column has them.
struct FieldCodingTests {
    @Test func everyTypeOfFieldComesBackUnchanged() throws {
        let fields: [Field] = [
            Field(name: "y", value: .byte(255)), Field(name: "b", value: .boolean(true)),
            Field(name: "n", value: .int16(-5)), Field(name: "q", value: .uint16(65535)),
            Field(name: "i", value: .int32(.min)), Field(name: "u", value: .uint32(.max)),
            Field(name: "x", value: .int64(.min)), Field(name: "t", value: .uint64(.max)),
            Field(name: "d", value: .double(-0.5)), Field(name: "s", value: .string("영희 \u{1F469}")),
            Field(name: "o", value: .objectPath("/a")), Field(name: "g", value: .signature("a{sv}")),
            Field(name: "empty", value: .array(of: "a{sv}", [])),
            Field(name: "list", value: .array(of: "s", [.string("a"), .string("")])),
            Field(
                name: "map",
                value: .dictionary(
                    key: "s", value: "v",
                    [FieldValue.Pair(key: .string("k"), value: .variant(.array(of: "i", [.int32(1)])))])),
            Field(name: "", value: .variant(.dictionary(key: "u", value: "as", []))),
        ]
        #expect(try FieldCoding.decode(FieldCoding.encode(fields)) == fields)
    }

    @Test func bytesThatWereNeverWrittenAreRefusedAndDoNotCrash() {
        let bytes = FieldCoding.encode([
            Field(
                name: "map",
                value: .dictionary(
                    key: "s", value: "as",
                    [
                        FieldValue.Pair(key: .string("k"), value: .array(of: "s", [.string("v")]))
                    ]))
        ])
        for length in 1..<bytes.count {
            #expect(throws: FieldCoding.Malformed.self) { try FieldCoding.decode(Array(bytes.prefix(length))) }
        }
        var random = SystemRandomNumberGenerator()
        for _ in 0..<5_000 {
            var broken = bytes
            for _ in 0..<3 { broken[Int.random(in: 0..<broken.count, using: &random)] = UInt8.random(in: 0...255) }
            _ = try? FieldCoding.decode(broken)
        }
    }
}
