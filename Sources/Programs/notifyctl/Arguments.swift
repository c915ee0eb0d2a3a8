import ArgumentParser
import NotifyClient

/// An event on the command line: an id, or `last`.
enum EventArgument: Hashable, Sendable {
    case id(EventID)
    case last

    static func parse(_ text: String) throws -> EventArgument {
        if text == "last" { return .last }
        guard let id = UInt64(text) else {
            throw ValidationError(
                "“\(text)” is neither the id of an event nor “last”. Write the number that “send”, “listen” and “history” print."
            )
        }
        return .id(EventID(rawValue: id))
    }

    /// For an option with which the interface means every event by 0.
    ///
    /// - Parameter everything: how to ask for every event.
    static func parseLast(otherwise everything: String) -> @Sendable (String) throws -> EventArgument {
        { text in
            let event = try parse(text)
            guard event != .id(0) else {
                throw ValidationError("“\(text)” is not the id of an event. \(everything)")
            }
            return event
        }
    }

    /// - Throws: `ExitCode.nothing` if there is no event.
    func find(_ client: NotifyClient) async throws -> EventID {
        if let id = try await findIfAny(client) { return id }
        Terminal.complain("There is no event yet.")
        throw ExitCode.nothing
    }

    /// `nil` if it is the last one, and there is no event.
    func findIfAny(_ client: NotifyClient) async throws(NotifyError) -> EventID? {
        switch self {
        case .id(let id): id
        case .last: try await HistoryReader(client: client, topic: "/").last(1).last?.event.id
        }
    }
}

struct EventOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The id of the event, as “send”, “listen” and “history” print it, or “last”.", valueName: "id"),
        completion: Completion.eventsAndLast, transform: EventArgument.parse)
    var event: EventArgument

    func explanation(_ client: NotifyClient) async throws -> Explanation {
        try await client.explain(try await event.find(client))
    }
}

/// A field of an event on the command line: `key=value` is a string, `key:TYPE=value` has a type.
struct FieldArgument: Sendable {
    let key: String
    let value: Value

    static let types = "string, integer, number, boolean, or a D-Bus letter: y b n q i u x t d s o g"

    static func parse(_ text: String) throws -> FieldArgument {
        // By bytes: in a String “=” and a combining mark are one character.
        guard let sign = text.utf8.firstIndex(of: UInt8(ascii: "=")), sign != text.startIndex else {
            throw ValidationError(
                "“\(text)” is not a field. Write KEY=VALUE or KEY:TYPE=VALUE, such as distance:integer=5000.")
        }
        let value = String(text[text.utf8.index(after: sign)...])
        let name = text[..<sign]
        guard let colon = name.utf8.lastIndex(of: UInt8(ascii: ":")) else {
            return FieldArgument(key: String(name), value: .string(value))
        }
        let key = String(name[..<colon])
        let type = String(name[name.utf8.index(after: colon)...])
        guard !key.isEmpty else { throw ValidationError("“\(text)” has no key before the colon.") }
        guard let read = readers[type] else {
            throw ValidationError("“\(type)” in “\(name)” is not a type. There are \(types).")
        }
        guard let typed = read(value), typed.flaw() == nil else {
            throw ValidationError("“\(value)” is not a valid \(type) for the field “\(key)”.")
        }
        return FieldArgument(key: key, value: typed)
    }

    private static let readers: [String: @Sendable (String) -> Value?] = [
        "string": { .string($0) }, "s": { .string($0) },
        "integer": { Int64($0).map(Value.int64) }, "x": { Int64($0).map(Value.int64) },
        "number": { number($0) }, "d": { number($0) },
        "boolean": { boolean($0) }, "b": { boolean($0) },
        "y": { UInt8($0).map(Value.byte) },
        "n": { Int16($0).map(Value.int16) }, "q": { UInt16($0).map(Value.uint16) },
        "i": { Int32($0).map(Value.int32) }, "u": { UInt32($0).map(Value.uint32) },
        "t": { UInt64($0).map(Value.uint64) },
        "o": { .objectPath($0) }, "g": { .signature($0) },
    ]

    /// JSON, in which events are printed, has no other numbers.
    private static func number(_ text: String) -> Value? {
        Double(text).flatMap { $0.isFinite ? .double($0) : nil }
    }

    private static func boolean(_ text: String) -> Value? {
        switch text {
        case "true", "yes", "1": .boolean(true)
        case "false", "no", "0": .boolean(false)
        default: nil
        }
    }
}

extension String {
    /// Whether there is nothing but spaces in it.
    var isBlank: Bool { allSatisfy(\.isWhitespace) }
}
