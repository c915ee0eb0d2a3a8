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
