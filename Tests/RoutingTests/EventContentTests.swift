import Testing

@testable import Routing

/// Title, body and fields, packed or not.
struct EventContentTests {
    @Test(arguments: [
        ("", "", []),
        ("Mina", "", [Field(name: "from", value: .string("Mina"))]),
        (
            "영희가 도착", "a\nb",
            [Field(name: "x", value: .array(of: "y", [.byte(1), .byte(2)])), Field(name: "", value: .int16(-1))]
        ),
    ]) func whatIsPackedIsTheSame(title: String, body: String, fields: [Field]) {
        let content = EventContent(title: title, body: body, fields: fields)
        for content in [content, content.packed, content.packed.packed] {
            #expect(content.title == title && content.body == body && content.fields == fields)
        }
    }

    /// The signal has what came, and the banner too.
    @Test func ofVeryManyEventsNoneIsChanged() throws {
        var limits = Limits()
        limits.unpackedEvents = 1
        var bench = Bench(limits: limits)
        for text in ["a", "b", "c"] {
            let publication = Publication(
                topic: try Topic("/\(text)"), title: "Title \(text)", body: text, sender: Bench.peer)
            let effects = bench.take(.published(publication))
            guard case .success(.accepted(let id)) = bench.reply else { preconditionFailure("the event was refused") }
            let announced = effects.compactMap { if case .announce(let event, _) = $0 { event.title } else { nil } }
            #expect(announced == ["Title \(text)"])
            #expect(bench.router.event(id)?.title == "Title \(text)" && bench.router.event(id)?.body == text)
        }
    }
}
