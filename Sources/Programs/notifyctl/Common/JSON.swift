import NotifyClient
package import NotifyText

extension Value: JSONConvertible {
    /// The value without its D-Bus type: numbers are numbers, dictionaries are objects.
    package var json: JSON {
        switch self {
        case .byte, .int16, .uint16, .int32, .uint32, .int64, .uint64:
            integer(as: Int128.self).map(JSON.integer) ?? .null
        case .boolean(let flag): .boolean(flag)
        case .double(let number): number.isFinite ? .number("\(number)") : .null
        case .string(let text), .objectPath(let text), .signature(let text): .string(text)
        case .array(let elements, _), .structure(let elements): elements.json
        case .bytes(let bytes): bytes.json
        case .dictionary(let entries, _, _):
            .object(entries.map { ($0.text, $1.json) }.sorted { $0.0.bytes < $1.0.bytes })
        case .variant(let inner): inner.json
        }
    }

    /// The value as plain text: as in JSON, but strings without quotes.
    var text: String { string ?? json.text(pretty: false) }
}

extension Fields: JSONConvertible {
    package var json: JSON { .object(map { ($0.key, $0.value.json) }) }
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

extension EventID: JSONConvertible {}
extension Outcome.Kind: JSONConvertible {}
extension Verdict: JSONConvertible {}
extension BannerDelay: JSONConvertible {}
extension Screen.Mode: JSONConvertible {}
extension Screen.State: JSONConvertible {}
extension Quiet.Cause: JSONConvertible {}
extension Change.Kind: JSONConvertible {}

/// What programs answer about themselves: values by name. They are read leniently, because the other program may be
/// older or newer.
extension [String: Value] {
    func text(_ name: String) -> String { self[name]?.string ?? "" }

    func flag(_ name: String) -> Bool { self[name]?.boolean ?? false }

    func number<Number: FixedWidthInteger>(_ name: String) -> Number { self[name]?.integer() ?? 0 }

    /// A time that is given in microseconds; `nil` if it is 0, which means unknown.
    func time(_ name: String) -> Duration? {
        let microseconds: Int64 = number(name)
        return microseconds > 0 ? .microseconds(microseconds) : nil
    }

    func list(_ name: String) -> [[String: Value]] { (self[name]?.elements ?? []).compactMap(\.entries) }

    /// Of the daemon: its counters.
    var statistics: [String: UInt64] { (self["Statistics"]?.entries ?? [:]).compactMapValues { $0.integer() } }

    /// Of the daemon: what holds banners back.
    var quiet: [Quiet] { Quiet.list(self["Quiet"]) }

    /// Of a unit: whether it has failed, or does again and again.
    var isFailedUnit: Bool { text("ActiveState") == "failed" || text("SubState") == "auto-restart" }

    /// Members for JSON, each with the value that it has if the program does not give it.
    func members(_ members: KeyValuePairs<String, (any JSONConvertible)?>) -> [JSON.Member] {
        members.map { name, absent in (name, self[name]?.json ?? absent?.json ?? .null) }
    }
}

extension Value {
    /// The texts of a row; `nil` if it has fewer, or other values among them.
    func texts(atLeast count: Int) -> [String]? {
        guard let elements, elements.count >= count else { return nil }
        let texts = elements.compactMap(\.string)
        return texts.count == elements.count ? texts : nil
    }

    /// A number of milliseconds, as methods take it.
    static func milliseconds(_ time: Duration) -> Value { .uint32(UInt32(clamping: Int64(time / .milliseconds(1)))) }
}
