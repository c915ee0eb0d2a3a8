import NotifyText

/// A value of a TOML text, and its place in the text.
package struct TOMLNode {
    package enum Value {
        case string(String)
        case integer(Int)
        case float(Double)
        case boolean(Bool)
        /// A date or a time, which no key takes; its contents are not checked.
        case moment
        case array([TOMLNode])
        case table(TOMLTable)
        /// A value that was reported as a mistake already.
        case bad
    }

    package var value: Value
    /// Where the value begins: an index into the bytes of the text.
    package var offset: Int

    /// The name of the value's kind in error messages.
    package var kind: String {
        switch value {
        case .string: "a string"
        case .integer: "a whole number"
        case .float: "a number with a fraction"
        case .boolean: "true or false"
        case .moment: "a date or time"
        case .array: "a list"
        case .table: "a table"
        case .bad: "no value"
        }
    }

    package var isBad: Bool { if case .bad = value { true } else { false } }
    package var string: String? { if case .string(let text) = value { text } else { nil } }
    package var integer: Int? { if case .integer(let number) = value { number } else { nil } }
    package var boolean: Bool? { if case .boolean(let flag) = value { flag } else { nil } }
    package var array: [TOMLNode]? { if case .array(let nodes) = value { nodes } else { nil } }
    package var table: TOMLTable? { if case .table(let table) = value { table } else { nil } }
}

/// A table of a TOML text. Two keys are the same if their bytes are.
package final class TOMLTable {
    /// How the table was defined, which decides what may be added to it: see "Table" in the specification.
    package enum Origin {
        /// By the header of a table inside it.
        case implied
        case header
        case dottedKey
        /// An inline table: nothing may be added.
        case inline
        /// An element of an array of tables.
        case element
    }

    package struct Entry {
        package var key: String
        /// Where the key begins.
        package var offset: Int
        package var node: TOMLNode
        /// Whether the value is an array of tables.
        package var isTableList = false
    }

    package var origin: Origin
    /// The place of the header, key or brace that defined it.
    package var offset: Int
    /// In the order of the text.
    package private(set) var entries: [Entry] = []
    private var indexes: [ByteString: Int] = [:]

    init(_ origin: Origin, at offset: Int) {
        self.origin = origin
        self.offset = offset
    }

    package subscript(_ key: String) -> Entry? {
        indexes[key.bytes].map { entries[$0] }
    }

    /// Adds a key that is not there yet.
    func add(_ entry: Entry) {
        indexes[entry.key.bytes] = entries.count
        entries.append(entry)
    }

    /// Adds a table to an existing array.
    func append(_ table: TOMLTable, to key: String) {
        guard let index = indexes[key.bytes], case .array(var nodes) = entries[index].node.value else {
            preconditionFailure("there is a list of this name")
        }
        // Without this, each addition copies the list.
        entries[index].node.value = .bad
        nodes.append(TOMLNode(value: .table(table), offset: table.offset))
        entries[index].node.value = .array(nodes)
    }
}

/// Text of a configuration in a message: on one line, and shortened.
package enum PlainText {
    private static let maximum = 600

    package static func line(_ text: String) -> String {
        var result = ""
        for (count, scalar) in text.unicodeScalars.enumerated() {
            if count == maximum { return result + "…" }
            switch scalar.value {
            case 0...0x1F, 0x7F...0x9F, 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069:
                result += "\\u{" + String(scalar.value, radix: 16) + "}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// The beginning of a long text.
    package static func excerpt(_ text: String) -> String {
        text.unicodeScalars.count <= 60 ? text : String(text.unicodeScalars.prefix(60)) + "…"
    }
}
