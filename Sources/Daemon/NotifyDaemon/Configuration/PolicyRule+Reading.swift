import NotifyText
import Routing
import TOMLTables

extension PolicyRule {
    /// Reads a `[[policy]]` of a configuration.
    ///
    /// - Returns: `nil` after a mistake, which is noted.
    init?(_ table: TOMLTable, in source: ConfigurationSource) {
        var reader = TableReader(table, in: source)
        verdicts = [:]
        place = "\(source.file):\(source.line(of: table.offset))"
        if let text = reader.string("topic") {
            do {
                topic = try TopicPrefix(text)
            } catch {
                reader.note("topic", error.description)
            }
        }
        let allowed = reader.strings("allow")
        let denied = reader.strings("deny")
        read(allowed ?? [], as: .allow, reader)
        read(denied ?? [], as: .deny, reader)
        if let user = reader.user("user") { criteria.append(.user(user)) }
        if let unit = reader.string("unit") {
            Self.requireUnitName(unit, reader)
            criteria.append(.unit(unit.bytes))
        }
        if let app = reader.string("app") {
            Self.requireText(app, "app", reader)
            criteria.append(.app(app.bytes))
        }
        if let label = reader.string("label") {
            Self.requireText(label, "label", reader)
            criteria.append(.label(label.bytes))
        }
        reader.finish()
        let isUnread = reader.has("allow") && allowed == nil || reader.has("deny") && denied == nil
        if !isUnread, (allowed ?? []).isEmpty, (denied ?? []).isEmpty {
            source.note(at: table.offset, "a rule allows or denies something, such as deny = [\"claim\"]")
        }
        guard !verdicts.isEmpty else { return nil }
    }

    private mutating func read(_ names: [(text: String, offset: Int)], as verdict: Verdict, _ reader: TableReader) {
        for (name, offset) in names {
            guard let permission = Permission(rawValue: name) else {
                reader.source.note(
                    at: offset, "this must be one of \(Permission.quoted); it is \"\(PlainText.excerpt(name))\"")
                continue
            }
            if verdicts.updateValue(verdict, forKey: permission) != nil {
                reader.source.note(at: offset, "this rule has \"\(name)\" already")
            }
        }
    }

    /// A name without its suffix would never match.
    private static func requireUnitName(_ name: String, _ reader: TableReader) {
        guard ![".service", ".scope"].contains(where: { name.hasSuffix($0) && name.utf8.count > $0.utf8.count }) else {
            return
        }
        reader.note(
            "unit",
            "'unit' must be a whole name such as \"feed.service\" or \"run-7.scope\"; "
                + "it is \"\(PlainText.excerpt(name))\"")
    }

    private static func requireText(_ text: String, _ key: String, _ reader: TableReader) {
        if text.isEmpty { reader.note(key, "'\(key)' is empty; leave it out if it does not matter") }
    }
}
