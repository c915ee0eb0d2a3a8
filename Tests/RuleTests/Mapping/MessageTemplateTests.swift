import Mapping
import NotifyText
import Testing

struct MessageTemplateTests {
    private func render(_ text: String, _ json: String) throws -> String {
        try MessageTemplate(text).render(JSONParser.parse(Array(json.utf8)))
    }

    @Test(arguments: [
        ("{{a}} and {{ b }}", #"{"a":"x","b":2.50}"#, "x and 2.50"),
        ("{{{a}}} {{&a}}", #"{"a":"<x>"}"#, "<x> <x>"),
        ("{{a.b.c}}{{a.x}}{{y.z}}", #"{"a":{"b":{"c":true}}}"#, "true"),
        ("[{{a}}]", #"{"a":null}"#, "[]"),
        ("{{#a}}yes{{/a}}{{^a}}no{{/a}}", #"{"a":false}"#, "no"),
        ("{{#a}}yes{{/a}}{{^a}}no{{/a}}", #"{"a":""}"#, "no"),
        ("{{#a}}yes{{/a}}{{^a}}no{{/a}}", #"{"a":0}"#, "yes"),
        ("{{#a}}{{b}},{{/a}}", #"{"a":[{"b":1},{"b":2}]}"#, "1,2,"),
        ("{{#a}}{{.}} {{/a}}", #"{"a":["x","y"]}"#, "x y "),
        ("{{#a}}{{b}}{{c}}{{/a}}", #"{"a":{"b":1},"c":2}"#, "12"),
        ("{{! a comment }}x{{a}}", #"{"a":{"b":[1,"two"]}}"#, #"x{"b":[1,"two"]}"#),
        ("{ {a} }", #"{"a":1}"#, "{ {a} }"),
    ])
    func valuesStandInTheText(_ template: String, _ json: String, _ expected: String) throws {
        #expect(try render(template, json) == expected)
    }

    @Test(arguments: [
        "{{a", "{{#a}}x", "{{/a}}", "{{#a}}{{#b}}{{/a}}{{/b}}", "{{>part}}", "{{=<% %>=}}", "{{}}", "{{a b}}",
        "{{a..b}}",
        "{{{a}}",
    ])
    func whatIsNoTemplateIsRefused(_ text: String) {
        #expect(throws: MapError.self) { try MessageTemplate(text) }
    }

    @Test func sizesAreBounded() throws {
        #expect(throws: MapError.self) { try MessageTemplate(String(repeating: "x", count: 4097)) }
        #expect(throws: MapError.self) { try MessageTemplate(String(repeating: "{{a}}", count: 257)) }
        let deep = String(repeating: "{{#a}}", count: 17) + String(repeating: "{{/a}}", count: 17)
        #expect(throws: MapError.self) { try MessageTemplate(deep) }
        // A list in a list in a list makes much of little.
        let list = "[" + Array(repeating: "1", count: 200).joined(separator: ",") + "]"
        for inside in ["x", ""] {
            #expect(throws: MapError.self) {
                try render("{{#a}}{{#a}}{{#a}}\(inside){{/a}}{{/a}}{{/a}}", "{\"a\":\(list)}")
            }
        }
    }

    @Test func namesAreKnown() throws {
        #expect(try MessageTemplate("{{a.b}}{{#c}}{{.}}{{/c}}").names == ["a", "c", ""])
    }
}
