import NotifyClient
import NotifyText

/// JSON for output, with members in the given order.
indirect enum JSON {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSON])
    case object([(String, JSON)])

    static func integer(_ number: some BinaryInteger) -> JSON { .number(String(number)) }

    /// The members that have a value.
    static func present(_ members: [(String, JSON?)]) -> [(String, JSON)] {
        members.compactMap { name, value in value.map { (name, $0) } }
    }

    /// For members that are there only if they are true.
    static func ifTrue(_ flag: Bool) -> JSON? { flag ? .bool(true) : nil }

    func text(pretty: Bool, indentation: String = "") -> String {
        switch self {
        case .null: return "null"
        case .bool(let flag): return flag ? "true" : "false"
        case .number(let digits): return digits
        case .string(let text): return JSON.quoted(text)
        case .array(let elements):
            return JSON.enclosed("[", elements.map { ("", $0) }, "]", pretty: pretty, indentation)
        case .object(let members):
            let separator = pretty ? ": " : ":"
            return JSON.enclosed(
                "{", members.map { (JSON.quoted($0.0) + separator, $0.1) }, "}", pretty: pretty, indentation)
        }
    }

    private static func enclosed(
        _ open: String, _ parts: [(String, JSON)], _ close: String, pretty: Bool, _ indentation: String
    ) -> String {
        if parts.isEmpty { return open + close }
        let inner = indentation + "  "
        let texts = parts.map { $0.0 + $0.1.text(pretty: pretty, indentation: inner) }
        if !pretty { return open + texts.joined(separator: ",") + close }
        return open + "\n" + inner + texts.joined(separator: ",\n" + inner) + "\n" + indentation + close
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case "\r": result += "\\r"
            // Escaped because JSON may be printed on a terminal; a parser gets the same text.
            case _ where scalar.isActive:
                result += "\\u" + String(scalar.value, radix: 16).padded(to: 4, with: "0")
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}

extension JSON {
    /// The value without its D-Bus type: numbers are numbers, dictionaries are objects.
    init(_ value: Value) {
        switch value {
        case .byte, .int16, .uint16, .int32, .uint32, .int64, .uint64:
            self = value.integer(as: Int128.self).map(JSON.integer) ?? .null
        case .boolean(let flag): self = .bool(flag)
        case .double(let number): self = number.isFinite ? .number("\(number)") : .null
        case .string(let text), .objectPath(let text), .signature(let text): self = .string(text)
        case .array(let elements, _), .structure(let elements): self = .array(elements.map(JSON.init))
        case .dictionary(let entries, _, _):
            self = JSON(sorted: entries.map { ($0.text, JSON($1)) })
        case .variant(let inner): self = JSON(inner)
        }
    }

    init(fields: Fields) { self = .object(fields.map { ($0, JSON($1)) }) }

    private init(sorted members: [(String, JSON)]) { self = .object(members.sorted { $0.0.bytes < $1.0.bytes }) }
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
        let text = element.text(pretty: isPretty, indentation: "  ")
        Terminal.write(isPretty ? begin + "\n  " + text : begin + text)
        isEmpty = false
    }

    func end() { Terminal.write(isEmpty ? "[]\n" : isPretty ? "\n]\n" : "]\n") }
}
