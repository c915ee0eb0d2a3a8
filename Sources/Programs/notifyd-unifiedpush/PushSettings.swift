public import Mapping
import NotifyText
public import TOMLTables

/// What `unifiedpush.toml` says; notifyd-unifiedpush.toml(5). Without the file everything has its default.
public struct PushSettings: Equatable, Sendable {
    /// The name of the distributor on the bus; `nil`: the only one.
    public var distributor: String?
    /// How pushes become events, by the name of the endpoint.
    public var maps: [String: PushMap] = [:]

    static let maximumFields = 32

    public init() {}

    public static func read(from root: inout TableReader) -> PushSettings {
        var settings = PushSettings()
        settings.distributor = root.string("distributor")
        if let name = settings.distributor, !DistributorName.isOne(name) {
            root.note(
                "distributor", "'distributor' must be a name on the bus, such as \"\(DistributorName.prefix)kde\"")
        }
        _ = root.tables("map", upTo: PushEndpoint.maximumCount) { table in
            guard let name = table.required("endpoint", { $0.string($1) }) else { return false }
            if !PushEndpoint.isName(name) {
                table.note("endpoint", "'endpoint' is the name of an endpoint: \(PushEndpoint.nameRule)")
            }
            if settings.maps[name] != nil { table.note("endpoint", "there are two maps for \"\(name)\"") }
            settings.maps[name] = readMap(from: &table)
            return true
        }
        return settings
    }

    private static func readMap(from table: inout TableReader) -> PushMap {
        var map = PushMap()
        map.title = table.parsed("title", MessageTemplate.init)
        map.body = table.parsed("body", MessageTemplate.init)
        map.below = table.parsed("below", MessageTemplate.init)
        if let below = map.below, below.source.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }) {
            table.note(
                "below",
                "'below' must stay below the topic of the endpoint, such as \"27/likes\"; it has . or ..")
        }
        map.urgency = table.parsed("urgency", MessageUrgency.template)
        map.id = table.parsed("id", MessageTemplate.init)
        map.rules = MapRules { table.conditions($0, orBoolean: $1) }
        map.rules.collapse = table.member("collapse")
        for entry in table.subtable("fields")?.entries ?? [] {
            do throws(MapError) {
                guard let text = entry.node.string else { throw MapError("a field is a text such as \"{{name}}\"") }
                map.fields.append(PushMap.Field(entry.key, try MessageTemplate(text)))
            } catch {
                table.note(at: entry.offset, "'\(entry.key.visible())': \(error)")
            }
        }
        if map.fields.count > maximumFields {
            table.note("fields", "there are \(map.fields.count) fields; at most \(maximumFields) are filled")
        }
        return map
    }
}

/// The names of distributors on the bus.
enum DistributorName {
    static let prefix = "org.unifiedpush.Distributor."

    /// Whether a name on the bus is that of a distributor.
    static func isOne(_ name: String) -> Bool {
        name.utf8.count <= 255 && name.utf8.count > prefix.utf8.count && name.hasPrefix(prefix)
            && name.utf8.allSatisfy { $0.isNameCharacter || $0 == UInt8(ascii: ".") }
    }
}
