import NotifyText
import Routing
import TOMLKit

extension PolicyRule {
    /// Reads a `[[policy]]` of a configuration.
    init(_ table: TOMLTable, path: String, in source: ConfigurationSource) throws(ConfigurationError) {
        var reader = TableReader(table, path: path, in: source)
        verdicts = [:]
        place = source.place(of: path)
        if let text = try reader.string("topic") {
            do {
                topic = try TopicPrefix(text)
            } catch {
                throw reader.error("topic", error.description)
            }
        }
        try read("allow", as: .allow, &reader)
        try read("deny", as: .deny, &reader)
        if let user = try reader.user("user") { criteria.append(.user(user)) }
        if let unit = try reader.string("unit") { criteria.append(.unit(try Self.unitName(unit, reader).bytes)) }
        if let app = try reader.string("app") { criteria.append(.app(try Self.filled(app, "app", reader).bytes)) }
        if let label = try reader.string("label") {
            criteria.append(.label(try Self.filled(label, "label", reader).bytes))
        }
        try reader.finish()
        guard !verdicts.isEmpty else {
            throw source.error(path, "a rule allows or denies something, such as deny = [\"claim\"]")
        }
    }

    private mutating func read(
        _ key: String, as verdict: Verdict, _ reader: inout TableReader
    ) throws(ConfigurationError) {
        for name in try reader.strings(key) ?? [] {
            guard let permission = Permission(rawValue: name) else {
                let words = Permission.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
                throw reader.error(key, inside: name, "\"\(name)\" cannot be allowed or denied; it is one of \(words)")
            }
            guard verdicts.updateValue(verdict, forKey: permission) == nil else {
                throw reader.error(key, inside: name, "this rule has \"\(name)\" already")
            }
        }
    }

    /// A name without its kind would never fit.
    private static func unitName(_ name: String, _ reader: TableReader) throws(ConfigurationError) -> String {
        guard [".service", ".scope"].contains(where: { name.hasSuffix($0) && name.utf8.count > $0.utf8.count }) else {
            throw reader.error(
                "unit", "'unit' is \"\(name)\"; it is a whole name such as \"feed.service\" or \"run-7.scope\"")
        }
        return name
    }

    private static func filled(_ text: String, _ key: String, _ reader: TableReader) throws(ConfigurationError)
        -> String
    {
        guard !text.isEmpty else { throw reader.error(key, "'\(key)' is empty; leave it out if it does not matter") }
        return text
    }
}
