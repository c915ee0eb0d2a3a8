public import Credentials
import NotifyText
public import Routing
public import TOMLTables

/// The configuration of `notifyd-mqtt`: notifyd-mqtt.toml(5).
///
///     [link]
///     server = "mqtts://broker.example"
///     user = "mina"
///     name = "desk"
///     password = { file = "mqtt.password" }
///     key = { file = "link.key" }
///
///     [[channel]]
///     name = "sunday-run"
///     topics = ["/run"]
///     key = { file = "sunday-run.key" }
public struct LinkSettings: Equatable, Sendable {
    public var server: Server
    /// The name at the broker, and of the private link: the devices with this name are linked.
    public var user: String
    /// The name of this device, for people.
    public var name: String
    /// `nil`: the broker asks for none.
    public var password: Credential?
    /// The key that seals the private link; `nil`: the broker can read it.
    public var key: Credential?
    /// The key before, which is still accepted while the devices change from one to the other.
    public var oldKey: Credential?
    /// What is shared with the other devices of the user: what is at or below one of these …
    public var share: [TopicPrefix]
    /// … and at or below none of these.
    public var skip: [TopicPrefix]
    /// Whether the other devices hear what the user is looking at.
    public var tellsScreens: Bool
    /// The lines that are shared with other people.
    public var channels: [Channel]

    /// The longest name of a device or a channel, in bytes.
    public static let longestName = 64
    /// Lines of a device, the private link included; LINK.md rule 12.
    public static let maximumLines = 16

    /// A line with other people. LINK.md rule 9.
    public struct Channel: Equatable, Sendable {
        public var name: String
        /// What is shared: at or below one of these …
        public var topics: [TopicPrefix]
        /// … and at or below none of these.
        public var skip: [TopicPrefix]
        /// The key that all members have.
        public var key: Credential
        public var oldKey: Credential?
    }

    /// Reads a whole configuration.
    ///
    /// - Parameter table: the root; mistakes are noted there.
    /// - Returns: `nil` if something that is needed is missing or wrong.
    public static func read(from table: inout TableReader) -> LinkSettings? {
        let channels = table.tables("channel", upTo: maximumLines - 1) { Channel.read(from: &$0) }
        var settings = table.required("link") { table, key in table.table(key) { read(link: &$0) } }
        var names: Set<String> = []
        for channel in channels where !names.insert(channel.name).inserted {
            table.note("channel", "two channels have the name \"\(channel.name)\"; each has a name of its own")
        }
        settings?.channels = channels
        return settings
    }

    private static func read(link table: inout TableReader) -> LinkSettings? {
        let server = Server.read(from: &table)
        let user = table.required("user") { $0.name($1, "the name at the broker, which all devices of the link have") }
        let name = table.has("name") ? table.string("name") : HostName.own
        if let name, name.isEmpty || name.utf8.count > longestName {
            table.note("name", "'name' is how people call this device; it has 1 to \(longestName) bytes")
        }
        let password = table.credential("password")
        let key = table.credential("key")
        let oldKey = table.credential("old_key")
        let share = table.prefixes("share") ?? [.all]
        let skip = table.prefixes("skip") ?? []
        let tellsScreens = table.boolean("screens") ?? true
        if key == nil, table.has("old_key") {
            table.note("old_key", "'old_key' is the key before 'key', which is missing")
        }
        guard let server, let user, let name else { return nil }
        return LinkSettings(
            server: server, user: user, name: name, password: password, key: key, oldKey: oldKey, share: share,
            skip: skip, tellsScreens: tellsScreens, channels: [])
    }
}

extension LinkSettings.Channel {
    fileprivate static func read(from table: inout TableReader) -> LinkSettings.Channel? {
        let name = table.required("name") { $0.name($1, "the name that all members of the channel use") }
        let topics = table.required("topics") { $0.prefixes($1) }
        if topics?.isEmpty == true { table.note("topics", "a channel shares at least one topic, such as \"/run\"") }
        let skip = table.prefixes("skip") ?? []
        let key = table.required("key") { $0.credential($1) }
        let oldKey = table.credential("old_key")
        guard let name, let topics, let key else { return nil }
        return LinkSettings.Channel(name: name, topics: topics, skip: skip, key: key, oldKey: oldKey)
    }
}

extension TableReader {
    /// Topics, or `/`.
    fileprivate mutating func prefixes(_ key: String) -> [TopicPrefix]? {
        strings(key)?.compactMap { text, _ in
            do throws(TopicError) {
                return try TopicPrefix(text)
            } catch {
                note(key, "'\(key)' lists topics: \(error)")
                return nil
            }
        }
    }

    /// A name that is one level of a topic at the broker.
    fileprivate mutating func name(_ key: String, _ meaning: String) -> String? {
        guard let name = string(key) else { return nil }
        let isLevel =
            !name.isEmpty && name.utf8.count <= LinkSettings.longestName
            && !name.unicodeScalars.contains { $0.isActive || "/+#".unicodeScalars.contains($0) }
        guard isLevel else {
            note(
                key,
                "'\(key)' is \(meaning): 1 to \(LinkSettings.longestName) bytes, without '/', '+', '#' and control characters"
            )
            return nil
        }
        return name
    }
}
