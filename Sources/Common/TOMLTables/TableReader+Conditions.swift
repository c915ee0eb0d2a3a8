import NotifyText

/// Members of messages, and what their values have to be.
extension TableReader {
    /// A member of a message, such as `"id"`, or a member of a member: `"context.id"`.
    package mutating func member(_ key: String) -> [String]? {
        guard let text = string(key) else { return nil }
        guard let member = Self.member(text) else {
            note(key, "'\(key)' must name a member of the message, such as \"id\" or \"context.id\"")
            return nil
        }
        return member
    }

    private static func member(_ text: String) -> [String]? {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        return parts.contains("") ? nil : parts
    }

    /// Conditions on the members of a message, such as `{ type = "new", after.label = ["person", "car"] }`, all of
    /// which have to hold; or a list of such tables, one of which has to.
    ///
    /// - Parameter orBoolean: `true` may stand for what always holds, and `false` for what never does.
    package mutating func conditions(
        _ key: String, orBoolean: Bool = false
    ) -> [[(member: [String], values: [String])]]? {
        let wanted =
            (orBoolean ? "true, false or " : "") + "a table such as { state = [\"open\", \"on\"] }, or a list of tables"
        let found = value(key, wanted) { node -> (flag: Bool?, tables: [TOMLTable])? in
            if orBoolean, let flag = node.boolean { return (flag, []) }
            return (node.table.map { [$0] } ?? node.array?.allTables).map { (nil, $0) }
        }
        guard let (flag, tables) = found else { return nil }
        if let flag { return flag ? [[]] : [] }
        return tables.map { table in
            if table.entries.isEmpty { note(at: table.offset, "'\(key)' must have at least one member of the message") }
            return conditions(in: table, of: key, below: [])
        }
    }

    private func conditions(
        in table: TOMLTable, of key: String, below path: [String]
    ) -> [(member: [String], values: [String])] {
        table.entries.flatMap { entry -> [(member: [String], values: [String])] in
            guard let name = Self.member(entry.key) else {
                note(
                    at: entry.offset,
                    "'\(key)': '\(entry.key.visible())' must name a member, such as state or after.label")
                return []
            }
            if let inner = entry.node.table { return conditions(in: inner, of: key, below: path + name) }
            let values = (entry.node.array ?? [entry.node]).compactMap { node -> String? in
                if let text = node.plainText { return text }
                if !node.isBad {
                    note(
                        at: node.offset,
                        "'\(key)' compares with a string, a whole number, true, false, or a list of "
                            + "these; this is \(node.kind)"
                    )
                }
                return nil
            }
            return [(path + name, values)]
        }
    }
}

extension TOMLNode {
    fileprivate var plainText: String? { string ?? integer.map(String.init) ?? boolean.map(String.init) }
}

extension [TOMLNode] {
    /// `nil` if one of them is something else.
    fileprivate var allTables: [TOMLTable]? {
        let tables = compactMap(\.table)
        return tables.count == count && !isEmpty ? tables : nil
    }
}

/// Texts that stand for something else.
extension TableReader {
    /// What a text stands for. The error of parsing it is the mistake.
    package mutating func parsed<Content, Failure: Error>(
        _ key: String, _ parse: (String) throws(Failure) -> Content
    ) -> Content? {
        guard let text = string(key) else { return nil }
        do throws(Failure) {
            return try parse(text)
        } catch {
            note(key, "'\(key)': \(error)")
            return nil
        }
    }

    /// The path of a file, beside the configuration or absolute.
    package mutating func path(_ key: String) -> String? {
        guard let path = string(key) else { return nil }
        guard !path.isEmpty else {
            note(key, "'\(key)' is the path of a file")
            return nil
        }
        return path.hasPrefix("/") ? path : folder + "/" + path
    }

    /// What each text of an array stands for. The error of parsing one is the mistake.
    package mutating func parsed<Content, Failure: Error>(
        all key: String, _ parse: (String) throws(Failure) -> Content
    ) -> [Content]? {
        strings(key)?.compactMap { text, offset in
            do throws(Failure) {
                return try parse(text)
            } catch {
                note(at: offset, "\(error)")
                return nil
            }
        }
    }
}
