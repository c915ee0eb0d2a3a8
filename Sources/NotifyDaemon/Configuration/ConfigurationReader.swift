import Logging
import NotifyText
import Routing
import TOMLKit

/// Builds a configuration out of TOML texts, each of which overrides the ones before.
package struct ConfigurationReader {
    private struct Defaults {
        var window: Duration = .milliseconds(100)
        var maximumWindow: Duration?
        var lifetime = Limits.defaultLifetime
    }

    private var defaults = Defaults()
    private var banners = BannerSettings()
    private var screens = ScreenSettings()
    private var policy = Policy()
    private var recoveryWindow: Duration = .seconds(2)
    private var logLevel = Logger.Level.info
    private var files: [String] = []
    /// Routes are made when all defaults are known.
    private var routes: [(table: TOMLTable, path: String, source: ConfigurationSource)] = []

    /// A configuration without any file.
    static func builtIn() throws(ConfigurationError) -> Configuration {
        try ConfigurationReader().finish()
    }

    package init() throws(ConfigurationError) {
        try parse(file: BuiltInRoutes.file, text: BuiltInRoutes.text)
    }

    package mutating func add(file: String, text: String) throws(ConfigurationError) {
        try parse(file: file, text: text)
        files.append(file)
    }

    private mutating func parse(file: String, text: String) throws(ConfigurationError) {
        let source = ConfigurationSource(file: file, text: text)
        // The library reads up to here, and would say nothing of what comes behind.
        if let end = text.utf8.firstIndex(of: 0) {
            throw source.error(at: end, of: text, "the file has a NUL character, which is no text")
        }
        try source.checkSyntax()
        let root: TOMLTable
        do {
            root = try TOMLTable(string: text)
        } catch let error as TOMLParseError {
            throw source.error(at: error.source.begin.line, error.source.begin.column, error.description)
        } catch {
            throw ConfigurationError(file: file, line: 0, column: 0, reason: "\(error)")
        }
        var reader = TableReader(root, path: "", in: source)
        if let table = try reader.subtable("defaults") { try readDefaults(table, source) }
        if let table = try reader.subtable("banner") { try readBanners(table, source) }
        if let table = try reader.subtable("screens") { try readScreens(table, source) }
        if let table = try reader.subtable("recovery") { try readRecovery(table, source) }
        if let table = try reader.subtable("log") { try readLog(table, source) }
        for (index, table) in try reader.tables("policy").enumerated() {
            policy.rules.append(try PolicyRule(table, path: "policy[\(index)]", in: source))
        }
        for (index, table) in try reader.tables("route").enumerated() {
            routes.append((table, "route[\(index)]", source))
        }
        try reader.finish()
    }

    private mutating func readDefaults(_ table: TOMLTable, _ source: ConfigurationSource) throws(ConfigurationError) {
        var reader = TableReader(table, path: "defaults", in: source)
        if let window = try reader.duration("window", upTo: Limits.maximumWindow) { defaults.window = window }
        defaults.maximumWindow =
            try reader.duration("max_window", upTo: Limits.maximumWindow * 5) ?? defaults.maximumWindow
        if let lifetime = try reader.duration("ttl", upTo: Limits.maximumLifetime, from: .seconds(1)) {
            defaults.lifetime = lifetime
        }
        try reader.finish()
    }

    private mutating func readBanners(_ table: TOMLTable, _ source: ConfigurationSource) throws(ConfigurationError) {
        var reader = TableReader(table, path: "banner", in: source)
        if let limit = try reader.integer("max_per_second", in: 0...1000) { banners.maximumPerSecond = limit }
        try reader.finish()
    }

    private mutating func readScreens(_ table: TOMLTable, _ source: ConfigurationSource) throws(ConfigurationError) {
        var reader = TableReader(table, path: "screens", in: source)
        if let names = try reader.strings("suppress") {
            screens.suppressingStates = []
            for name in names {
                guard let state = Screen.State(rawValue: name) else {
                    let words = Screen.State.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
                    throw reader.error(
                        "suppress", inside: name, "\"\(name)\" is no state of a screen; they are \(words)")
                }
                screens.suppressingStates.insert(state)
            }
        }
        try reader.finish()
    }

    private mutating func readRecovery(_ table: TOMLTable, _ source: ConfigurationSource) throws(ConfigurationError) {
        var reader = TableReader(table, path: "recovery", in: source)
        if let window = try reader.duration("min_window", upTo: Limits.maximumWindow) { recoveryWindow = window }
        try reader.finish()
    }

    private mutating func readLog(_ table: TOMLTable, _ source: ConfigurationSource) throws(ConfigurationError) {
        var reader = TableReader(table, path: "log", in: source)
        if let level = try reader.word("level", of: Logger.Level.self) { logLevel = level }
        try reader.finish()
    }

    // MARK: Routes

    package func finish() throws(ConfigurationError) -> Configuration {
        let fallback = Route(
            pattern: nil, window: defaults.window, maximumWindow: defaults.maximumWindow, lifetime: defaults.lifetime)
        var table = RouteTable(fallback: fallback)
        var origins: [ByteString: String] = [:]
        for entry in routes {
            let route = try readRoute(entry.table, entry.path, entry.source)
            if let replaced = table.add(route) {
                if origins[replaced.name.bytes] == entry.source.file {
                    throw entry.source.error("\(entry.path).topic", "this file has a route \(replaced.name) already")
                }
            }
            origins[route.name.bytes] = entry.source.file
        }
        return Configuration(
            routes: table, banners: banners, screens: screens, policy: policy, recoveryWindow: recoveryWindow,
            logLevel: logLevel, files: files)
    }

    private func readRoute(
        _ table: TOMLTable, _ path: String, _ source: ConfigurationSource
    ) throws(ConfigurationError) -> Route {
        var reader = TableReader(table, path: path, in: source)
        guard let topic = try reader.string("topic") else {
            throw source.error(path, "a route needs a topic, such as topic = \"/post/{id}\"")
        }
        let pattern: TopicPattern
        do {
            pattern = try TopicPattern(topic)
        } catch {
            throw reader.error("topic", error.description)
        }
        let window = try reader.duration("window", upTo: Limits.maximumWindow)
        let maximum = try reader.duration("max_window", upTo: Limits.maximumWindow * 5)
        if let maximum, maximum < window ?? defaults.window {
            throw reader.error("max_window", "'max_window' is \(maximum.text); it is not shorter than the window")
        }
        let title = try reader.string("title")
        let body = try reader.string("body")
        let required = try readRequired(&reader)
        let names = Set((pattern.captureNames + required.map(\.name)).map(\.bytes))
        let wording = BannerTemplates(
            title: try compile(title, "title", names, reader), body: try compile(body, "body", names, reader))
        let route = Route(
            pattern: pattern, banner: try reader.boolean("banner") ?? true,
            retain: try reader.boolean("retain") ?? false,
            window: window ?? defaults.window,
            maximumWindow: maximum ?? (window == nil ? defaults.maximumWindow : nil),
            wait: try reader.word("wait", of: Route.Wait.self) ?? .anyone,
            coalescing: try reader.word("coalesce", of: Route.Coalescing.self) ?? .topic, wording: wording,
            appearance: try readAppearance(&reader, path, source),
            lifetime: try reader.duration("ttl", upTo: Limits.maximumLifetime, from: .seconds(1)) ?? defaults.lifetime,
            required: required)
        try reader.finish()
        return route
    }

    private func compile(
        _ text: String?, _ key: String, _ names: Set<ByteString>, _ reader: TableReader
    ) throws(ConfigurationError) -> TextTemplate? {
        guard let text else { return nil }
        do throws(TextTemplate.Mistake) {
            return try TextTemplate(text, names: names)
        } catch {
            throw reader.error(key, "'\(key)': \(error.reason)")
        }
    }

    private func readRequired(_ reader: inout TableReader) throws(ConfigurationError)
        -> [(name: String, type: Route.FieldType)]
    {
        guard let table = try reader.subtable("require") else { return [] }
        var required: [(name: String, type: Route.FieldType)] = []
        for name in table.keys.sorted(by: { $0.bytes < $1.bytes }) {
            guard let text = table[name]?.string, let type = Route.FieldType(rawValue: text) else {
                let words = Route.FieldType.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
                throw reader.error("require", inside: name, "the type of the field '\(name)' is one of \(words)")
            }
            required.append((name, type))
        }
        return required
    }

    private func readAppearance(
        _ reader: inout TableReader, _ path: String, _ source: ConfigurationSource
    ) throws(ConfigurationError) -> Route.Appearance {
        var appearance = Route.Appearance()
        appearance.icon = try reader.string("icon") ?? ""
        appearance.urgency = try reader.word("urgency", of: UrgencyName.self).map(\.urgency)
        appearance.category = try reader.string("category")
        appearance.sound = try reader.string("sound")
        appearance.desktopEntry = try reader.string("desktop_entry")
        appearance.timeout = try reader.duration("timeout", upTo: .seconds(24 * 3600))
        for table in try reader.tables("actions") {
            var action = TableReader(table, path: "\(path).actions", in: source)
            guard let key = try action.string("key"), let label = try action.string("label"), !key.isEmpty else {
                throw reader.error(
                    "actions", "an action needs a key and a label: { key = \"accept\", label = \"Join\" }")
            }
            let command = try action.strings("exec") ?? []
            let application = try action.string("activate")
            try action.finish()
            if let application, !Self.isBusName(application) {
                throw reader.error(
                    "actions", inside: application,
                    "\"\(application)\" is no application; it is the bus name of one, such as \"org.example.Runs\"")
            }
            guard !appearance.actions.contains(where: { $0.key.bytes == key.bytes }) else {
                throw reader.error("actions", inside: key, "the action '\(key)' is there twice")
            }
            appearance.actions.append(
                Route.Action(key: key, label: label, command: command, application: application))
        }
        return appearance
    }
}

extension ConfigurationReader {
    /// Bus names as the D-Bus specification has them, "Valid Names", and as an object path can be made of.
    private static func isBusName(_ text: String) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return text.utf8.count <= 255 && parts.count >= 2
            && parts.allSatisfy { part in
                guard let first = part.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
                    return false
                }
                return part.unicodeScalars.allSatisfy {
                    $0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains($0) || $0 == "_" || $0 == "-")
                }
            }
    }
}

/// How a configuration writes an urgency.
private enum UrgencyName: String, CaseIterable {
    case low, normal, critical

    var urgency: Urgency {
        switch self {
        case .low: .low
        case .normal: .normal
        case .critical: .critical
        }
    }
}
