import NotifyText
import Testing

/// JSON as it is written and read.
struct JSONTextTests {
    @Test(arguments: [
        ("", #""""#), ("plain", #""plain""#), ("\"", #""\"""#), ("a\"b\\c", #""a\"b\\c""#),
        ("\n[[site]]\n", #""\n[[site]]\n""#), ("\u{1}\u{7f}", #""\u0001\u007f""#),
        ("é\t\u{202e}\"영희\"", #""é\t\u202e\"영희\"""#),
    ]) func whatIsSpecialInATextIsEscaped(_ text: String, _ json: String) throws {
        #expect(JSON.string(text).text() == json)
        #expect(try JSONParser.parse(Array(json.utf8)) == .string(text))
    }

    @Test(arguments: [2, 8, 9, 30]) func noNameIsThereTwice(_ count: Int) throws {
        let members: [JSON.Member] = (1...count).map { ("name\($0)", .integer($0)) }
        let object = JSON.object(members)
        #expect(try JSONParser.parse(object.bytes) == object)
        for member in members {
            let error = #expect(throws: JSONError.self) { try JSONParser.parse(JSON.object(members + [member]).bytes) }
            #expect(error?.reason == "a name is there twice")
        }
    }
}
