import NotifyClient
import NotifyJSON
import NotifyText

extension JSON {
    /// The members that have a value.
    static func present(_ members: [(String, JSON?)]) -> [Member] {
        members.compactMap { name, value in value.map { (name, $0) } }
    }

    /// For members that are there only if they are true.
    static func ifTrue(_ flag: Bool) -> JSON? { flag ? .boolean(true) : nil }
}

extension JSON {
    /// The value without its D-Bus type: numbers are numbers, dictionaries are objects.
    init(_ value: Value) {
        switch value {
        case .byte, .int16, .uint16, .int32, .uint32, .int64, .uint64:
            self = value.integer(as: Int128.self).map(JSON.integer) ?? .null
        case .boolean(let flag): self = .boolean(flag)
        case .double(let number): self = number.isFinite ? .number("\(number)") : .null
        case .string(let text), .objectPath(let text), .signature(let text): self = .string(text)
        case .array(let elements, _), .structure(let elements): self = .array(elements.map(JSON.init))
        case .bytes(let bytes): self = .array(bytes.map(JSON.integer))
        case .dictionary(let entries, _, _):
            self = JSON(sorted: entries.map { ($0.text, JSON($1)) })
        case .variant(let inner): self = JSON(inner)
        }
    }

    init(fields: Fields) { self = .object(fields.map { ($0, JSON($1)) }) }

    private init(sorted members: [Member]) { self = .object(members.sorted { $0.0.bytes < $1.0.bytes }) }
}

extension Value {
    /// The value as plain text: as in JSON, but strings without quotes.
    var text: String { string ?? JSON(self).text(pretty: false) }
}

/// Writes a JSON array to standard output, element by element.
struct JSONArrayWriter {
    let isPretty: Bool
    private var isEmpty = true

    init(isPretty: Bool) { self.isPretty = isPretty }

    mutating func write(_ element: JSON) {
        let begin = isEmpty ? "[" : ","
        let text = element.text(pretty: isPretty, indentation: 2)
        Terminal.write(isPretty ? begin + "\n  " + text : begin + text)
        isEmpty = false
    }

    func end() { Terminal.write(isEmpty ? "[]\n" : isPretty ? "\n]\n" : "]\n") }
}
