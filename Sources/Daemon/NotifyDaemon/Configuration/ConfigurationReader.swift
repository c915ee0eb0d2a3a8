import Logging
import NotifyText
import Routing
package import TOMLTables

/// Builds a configuration from TOML texts; later texts override earlier ones.
///
/// It goes on after a mistake; `finish` throws all of them. Its run time is proportional to the size of the texts,
/// which is limited.
///
/// Files of packages have what the other files leave of each limit, so they are added last, although their routes come
/// first. One with a mistake, or for which there is no room, is left out.
package struct ConfigurationReader {
    /// Files of a configuration.
    static let maximumFiles = 256
    /// Bytes of all files together.
    static let maximumBytes = 4 << 20
    static let maximumRoutes = 2000
    static let maximumRules = 1000
    /// Tags in the templates of all routes.
    static let maximumTags = 10_000

    private struct Defaults {
        var window: Duration = .milliseconds(100)
        var maximumWindow: Duration?
        var lifetime = Limits.defaultLifetime
        /// The last table that sets any of them.
        var table: TableReader?
    }

    let mistakes = ConfigurationSource.Mistakes()
    private var defaults = Defaults()
    private var banners = BannerSettings(startsServer: true)
    private var screens = ScreenSettings()
    private var policy = Policy()
    private var schedules: [Schedule] = []
    /// The program in which the inbox opens, with its arguments; empty: no button opens it.
    private var terminal: [String] = []
    /// Schedules so far, good or bad.
    private var scheduleCount = 0
    private var recoveryWindow: Duration = .seconds(2)
    private var history = Retention()
    private var logLevel = Logger.Level.info
    private var files: [String] = []
    private var bytes = 0
    /// Routes are built once all defaults are known.
    private var routes: [RouteText] = []
    private var packages: [Package] = []
    private var leftOut: [ConfigurationError.Mistake] = []

    private struct RouteText {
        let table: TOMLTable
        let source: ConfigurationSource
        let origin: Origin
    }

    /// A file of a package.
    private struct Package {
        let file: String
        let mistakes: ConfigurationSource.Mistakes
        let routes: [RouteText]
    }

    /// A configuration without any file.
    static func builtIn() throws(ConfigurationError) -> Configuration { try ConfigurationReader().finish() }

    package init() { routes = parse(file: BuiltInRoutes.file, text: BuiltInRoutes.text, of: .builtIn, mistakes) }

    /// Who a file belongs to.
    enum Origin {
        case builtIn
        /// The administrator or the user, who may set everything.
        case user
        /// The package of an application, which says how the events of the application look, and no more.
        case package
    }

    package mutating func add(file: String, text: String) { add(file: file, text: text, of: .user) }

    mutating func add(file: String, text: String, of origin: Origin) {
        let fileCount = files.count + packages.count + 1
        let byteCount = bytes + text.utf8.count
        let isTooMuch = fileCount > Self.maximumFiles || byteCount > Self.maximumBytes
        // Further files of packages may be smaller.
        if !isTooMuch || origin == .user { bytes = byteCount }
        if origin == .user { files.append(file) }
        guard !isTooMuch else {
            let reason =
                "with this file there are \(fileCount) files and \(byteCount) bytes; there are at most "
                + "\(Self.maximumFiles) files, of \(Self.maximumBytes) bytes together"
            let mistake = ConfigurationError.Mistake(file: file, line: 0, column: 0, reason: reason)
            return origin == .package ? leaveOut([mistake]) : mistakes.note(mistake)
        }
        if origin == .package {
            let mistakes = ConfigurationSource.Mistakes()
            let routes = parse(file: file, text: text, of: origin, mistakes)
            packages.append(Package(file: file, mistakes: mistakes, routes: routes))
        } else {
            routes += parse(file: file, text: text, of: origin, mistakes)
        }
    }

    /// How many more files there may be.
    var filesLeft: Int { max(0, Self.maximumFiles - files.count - packages.count) }

    /// Notes why a file of a package is not among the files.
    mutating func leaveOut(_ mistakes: [ConfigurationError.Mistake]) {
        leftOut += leftOut.count < Self.leftOutInFull ? mistakes : Array(mistakes.prefix(1))
    }

    /// Mistakes in files of packages that are told; from then on only the first of each file.
    private static let leftOutInFull = 200

    private mutating func parse(
        file: String, text: String, of origin: Origin, _ mistakes: ConfigurationSource.Mistakes
    ) -> [RouteText] {
        let source = ConfigurationSource(file: file, text: text, mistakes)
        let (root, syntaxMistakes) = TOMLParser.parse(text)
        for mistake in syntaxMistakes { source.note(at: mistake.offset, mistake.reason) }
        var reader = TableReader(root, in: source, isRoot: true)
        if origin == .package { refuseSettings(&reader) } else { readSettings(&reader, source) }
        let routes = reader.tables("route", upTo: Self.maximumRoutes).map {
            RouteText(table: $0, source: source, origin: origin)
        }
        reader.finish()
        return routes
    }

    private mutating func readSettings(_ reader: inout TableReader, _ source: ConfigurationSource) {
        reader.section("defaults") { table in
            let window = table.duration("window", upTo: Limits.maximumWindow)
            defaults.window = window ?? defaults.window
            defaults.maximumWindow =
                table.duration("max_window", upTo: Limits.maximumWindow * 5) ?? defaults.maximumWindow
            defaults.lifetime =
                table.duration("ttl", upTo: Limits.maximumLifetime, from: .seconds(1)) ?? defaults.lifetime
            defaults.table = window == nil && table.has("window") ? nil : table
        }
        reader.section("banner") { readBanners(&$0) }
        reader.section("screens") { readScreens(&$0) }
        reader.section("recovery") { table in
            recoveryWindow = table.duration("min_window", upTo: Limits.maximumWindow) ?? recoveryWindow
        }
        reader.section("history") { table in
            let days = table.integer("days", in: 1...Retention.maximumDays)
            history.age = days.map { .seconds($0 * 24 * 3600) } ?? history.age
            history.events = table.integer("events", in: Retention.eventRange) ?? history.events
        }
        reader.section("log") { logLevel = $0.word("level", of: Logger.Level.self) ?? logLevel }
        for table in reader.tables("quiet", upTo: Schedule.maximum) {
            scheduleCount += 1
            if scheduleCount == Schedule.maximum + 1 {
                source.note(at: table.offset, "this schedule is one too many; there are at most \(Schedule.maximum)")
            }
            if let schedule = Schedule(table, in: source), scheduleCount <= Schedule.maximum {
                schedules.append(schedule)
            }
        }
        for table in reader.tables("policy", upTo: Self.maximumRules) {
            guard let rule = PolicyRule(table, in: source) else { continue }
            policy.rules.append(rule)
            if policy.rules.count == Self.maximumRules + 1 {
                source.note(at: table.offset, "this rule is one too many; there are at most \(Self.maximumRules)")
            }
        }
    }

    private func refuseSettings(_ reader: inout TableReader) {
        for key in ["defaults", "banner", "screens", "recovery", "history", "log", "quiet", "policy"] {
            reader.refuse(
                key,
                "'\(key)' has no place in a package's file, because it applies to the events of all programs; such a "
                    + "file has [[route]] only. Set it in /etc/xdg/notifyd or in the user's configuration")
        }
    }

    private mutating func readBanners(_ reader: inout TableReader) {
        banners.startsServer = reader.boolean("start_server") ?? banners.startsServer
        banners.followsDesktop = reader.boolean("follow_desktop") ?? banners.followsDesktop
        banners.digestsPauses = reader.boolean("pause_digest") ?? banners.digestsPauses
        banners.maximumPerSecond = reader.integer("max_per_second", in: 0...1000) ?? banners.maximumPerSecond
        guard let words = reader.strings("terminal")?.map(\.text) else { return }
        terminal = words
        if words.first?.isEmpty ?? true {
            reader.note(
                "terminal",
                "'terminal' must be a program and its arguments, such as [\"foot\", \"-e\"]; "
                    + "\"notifyctl inbox\" is appended to them")
        }
    }

    private mutating func readScreens(_ reader: inout TableReader) {
        screens.idleAfter = reader.duration("idle_after", upTo: .seconds(24 * 3600)) ?? screens.idleAfter
        guard let names = reader.strings("suppress") else { return }
        screens.suppressingStates = []
        for (name, offset) in names {
            guard let state = Screen.State(rawValue: name) else {
                let name = PlainText.excerpt(name)
                reader.source.note(
                    at: offset, "\"\(name)\" is not a state of a screen; they are \(Screen.State.quoted)")
                continue
            }
            screens.suppressingStates.insert(state)
        }
    }

    // MARK: The end

    /// What is limited for all files together.
    private struct Totals {
        /// The routes so far, which replace each other.
        var table: RouteTable
        var tags = 0
    }

    /// - Throws: all mistakes of all texts, except those of packages.
    package func finish() throws(ConfigurationError) -> Configuration {
        if let table = defaults.table { check(defaults.maximumWindow, defaults.window, table) }
        let fallback = Route(
            pattern: nil, window: defaults.window, maximumWindow: defaults.maximumWindow, lifetime: defaults.lifetime)
        var totals = Totals(table: RouteTable(fallback: fallback))
        let builtIn = readRoutes(routes.filter { $0.origin == .builtIn }, &totals)
        let own = readRoutes(routes.filter { $0.origin == .user }, &totals)
        if let error = mistakes.error { throw error }

        var result = self
        var packaged: [Route] = []
        var packagedFiles: [String] = []
        for package in packages {
            var more = totals
            let routes = readRoutes(package.routes, &more)
            if let error = package.mistakes.error {
                result.leaveOut(error.mistakes)
            } else {
                totals = more
                packaged += routes
                packagedFiles.append(package.file)
            }
        }

        var table = RouteTable(fallback: fallback)
        for route in builtIn + packaged + own { table.add(route) }
        return Configuration(
            routes: table, banners: banners, screens: screens, policy: policy, schedules: schedules,
            recoveryWindow: recoveryWindow, history: history, logLevel: logLevel, files: packagedFiles + files,
            leftOut: result.leftOut)
    }

    /// Reads routes and adds them to the totals. It stops at the first one that is too much.
    private func readRoutes(_ texts: [RouteText], _ totals: inout Totals) -> [Route] {
        var result: [Route] = []
        var files: [ByteString: String] = [:]
        for text in texts {
            let source = text.source
            var reader = TableReader(text.table, in: source)
            if text.origin == .package {
                reader.refuse(
                    "break_through",
                    "'break_through' has no place in a package's file, because it is for the user to say what may "
                        + "break a pause; set it in /etc/xdg/notifyd or in the user's configuration")
            }
            guard let route = readRoute(&reader) else { continue }
            let replaced = totals.table.add(route)
            guard totals.table.routes.count <= Self.maximumRoutes else {
                let others = text.origin == .package ? "those of the other files" : "the built-in ones"
                source.note(
                    at: text.table.offset,
                    "this route is one too many; there are at most \(Self.maximumRoutes), with \(others)")
                break
            }
            totals.tags += (route.wording as? BannerTemplates)?.tags ?? 0
            guard totals.tags <= Self.maximumTags else {
                source.note(
                    at: text.table.offset,
                    "up to here templates have \(totals.tags) tags; they have at most \(Self.maximumTags)")
                break
            }
            if let replaced, files[replaced.name.bytes] == source.file {
                reader.note("topic", "this file has a route \(replaced.name) already")
            }
            files[route.name.bytes] = source.file
            result.append(route)
        }
        return result
    }

    /// - Returns: `nil` for a route without a valid topic.
    private func readRoute(_ reader: inout TableReader) -> Route? {
        var pattern: TopicPattern?
        if let topic = reader.string("topic") {
            do {
                pattern = try TopicPattern(topic, allowsBelow: true)
            } catch {
                reader.note("topic", error.description)
            }
        } else if !reader.has("topic") {
            reader.source.note(at: reader.offset, "a route needs a topic, such as topic = \"/post/{id}\"")
        }
        let window = reader.duration("window", upTo: Limits.maximumWindow)
        let maximum = reader.duration("max_window", upTo: Limits.maximumWindow * 5)
        if window != nil || !reader.has("window") { check(maximum, window ?? defaults.window, reader) }
        let title = reader.string("title")
        let body = reader.string("body")
        let required = readRequired(&reader)
        // Without a topic the names of captures are not known, but there may be other mistakes.
        let names = pattern.map { Set(($0.captureNames + required.names).map(\.bytes)) }
        let wording = BannerTemplates(
            title: compile(title, "title", names, reader), body: compile(body, "body", names, reader))
        var appearance = readAppearance(&reader)
        if reader.source.file == BuiltInRoutes.file, pattern?.description == DigestTally.topic.description,
            !terminal.isEmpty
        {
            appearance.actions = [
                Route.Action(key: "inbox", label: "Open inbox", command: terminal + ["notifyctl", "inbox"])
            ]
        }
        let route = Route(
            pattern: pattern, banner: reader.boolean("banner") ?? true,
            retain: reader.boolean("retain") ?? false,
            window: window ?? defaults.window,
            maximumWindow: maximum ?? (window == nil ? defaults.maximumWindow : nil),
            wait: reader.word("wait", of: Route.Wait.self) ?? .anyone,
            coalescing: reader.word("coalesce", of: Route.Coalescing.self) ?? .topic, wording: wording,
            appearance: appearance,
            lifetime: reader.duration("ttl", upTo: Limits.maximumLifetime, from: .seconds(1)) ?? defaults.lifetime,
            breaksThrough: reader.boolean("break_through") ?? false,
            rescues: reader.boolean("rescue") ?? false, required: required.fields)
        reader.finish()
        return pattern == nil ? nil : route
    }

    /// Notes a longest window that is shorter than the window itself.
    private func check(_ maximum: Duration?, _ window: Duration, _ reader: TableReader) {
        guard let maximum, maximum < window else { return }
        reader.note(
            "max_window", "'max_window' is \(maximum.text); it must not be shorter than the window, \(window.text)")
    }

    private func compile(_ text: String?, _ key: String, _ names: Set<ByteString>?, _ reader: TableReader)
        -> TextTemplate?
    {
        guard let text else { return nil }
        do throws(TextTemplate.Mistake) {
            return try TextTemplate(text, names: names)
        } catch {
            for reason in error.reasons { reader.note(key, "'\(key)': \(reason)") }
            return nil
        }
    }

    /// - Returns: the fields, and their names together with those whose type is a mistake, so that a template with such
    ///   a name is not a further mistake.
    private func readRequired(
        _ reader: inout TableReader
    ) -> (fields: [(name: String, type: Route.FieldType)], names: [String]) {
        guard let table = reader.subtable("require") else { return ([], []) }
        let maximum = Limits().fields
        guard table.entries.count <= maximum else {
            reader.note("require", "'require' names \(table.entries.count) fields; an event has at most \(maximum)")
            return ([], table.entries.map(\.key))
        }
        var required: [(name: String, type: Route.FieldType)] = []
        for entry in table.entries.sorted(by: { $0.key.bytes < $1.key.bytes }) where !entry.node.isBad {
            guard let text = entry.node.string, let type = Route.FieldType(rawValue: text) else {
                let name = PlainText.excerpt(entry.key)
                reader.source.note(
                    at: entry.offset, "the type of the field '\(name)' is one of \(Route.FieldType.quoted)")
                continue
            }
            required.append((entry.key, type))
        }
        return (required, table.entries.map(\.key))
    }
}

/// How a configuration writes an urgency.
enum UrgencyName: String, CaseIterable {
    case low, normal, critical

    var urgency: Urgency {
        switch self {
        case .low: .low
        case .normal: .normal
        case .critical: .critical
        }
    }
}

extension TableReader {
    /// Reads a table in this one, if there is one.
    fileprivate mutating func section(_ key: String, _ read: (inout TableReader) -> Void) {
        guard let table = subtable(key) else { return }
        var reader = TableReader(table, in: source)
        read(&reader)
        reader.finish()
    }
}
