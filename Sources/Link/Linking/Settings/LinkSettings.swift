public import NotifyText
public import TOMLTables

/// What `mqtt.toml` says, for notifyd-mqtt and for notifyctl; notifyd-mqtt.toml(5).
public struct LinkSettings: Equatable, Sendable {
    /// One line: the private link, or a channel.
    public struct Line: Equatable, Sendable {
        /// `nil` for the private link.
        public var channel: String?
        /// What is shared: at or below one of these …
        public var share: [TopicPrefix]
        /// … and at or below none of these.
        public var skip: [TopicPrefix]
        /// The first one seals, the others are accepted. Without a key the broker can read the line.
        public var keys: [Credential]
        /// Whether other devices learn what the user is looking at.
        public var tellsScreens: Bool

        public init(
            channel: String?, share: [TopicPrefix], skip: [TopicPrefix], keys: [Credential], tellsScreens: Bool = true
        ) {
            self.channel = channel
            self.share = share
            self.skip = skip
            self.keys = keys
            self.tellsScreens = tellsScreens
        }
    }

    public var server: Server
    /// The name at the broker, and of the private link: the devices with this name are linked.
    public var user: String
    /// `nil`: the broker needs none.
    public var password: Credential?
    /// The name of this device, for people.
    public var name: String
    /// The private link first.
    public var lines: [Line]
    /// What comes from others on the broker, and goes out to them.
    public var maps = MapSettings()

    /// The longest name of a device, in bytes.
    public static let longestName = 64
    /// The longest name of a user or a channel at the broker, in bytes.
    static let longestLevel = 32
    /// Lines of a device; rule 18 of docs/link.md.
    static let maximumLines = 16

    /// Reads a whole configuration.
    ///
    /// - Parameters:
    ///   - root: the table; mistakes are noted there.
    ///   - host: the name of this device where the configuration has none.
    /// - Returns: `nil` if something that is needed is missing or wrong.
    public static func read(from root: inout TableReader, host: String) -> LinkSettings? {
        let link = root.required("link") { root, key in root.table(key) { readLink(from: &$0, host: host) } }
        let channels = root.tables("channel", upTo: maximumLines - 1) { readChannel(from: &$0) }
        let names = channels.compactMap(\.channel)
        for (index, name) in names.enumerated() where names[..<index].contains(where: { $0.hasBytes(of: name) }) {
            root.note("channel", "there are two channels \"\(name)\"; each is written once")
        }
        let maps = MapSettings.read(from: &root)
        guard var link else { return nil }
        link.lines += channels
        link.maps = maps
        return link
    }

    private static func readLink(from table: inout TableReader, host: String) -> LinkSettings? {
        let server = Server.read(from: &table)
        let user = table.required("user") { $0.level($1) }
        if user == "channel" {
            table.note("user", "'user' cannot be \"channel\": the topics of channels begin with it; take another name")
        }
        let password = table.credential("password")
        let name = table.string("name") ?? host
        if name.isEmpty || name.utf8.count > longestName {
            table.note("name", "'name' is how people call this device; it has 1 to \(longestName) bytes")
        }
        var keys = table.credential("key").map { [$0] } ?? []
        if let other = table.credential("accept") {
            if keys.isEmpty { table.note("accept", "'accept' is a second key, and there is no 'key'") }
            keys.append(other)
        }
        let share = table.parsed(all: "share", TopicPrefix.init) ?? [.all]
        let skip = table.parsed(all: "skip", TopicPrefix.init) ?? []
        let tellsScreens = table.boolean("screens") ?? true
        guard let server, let user else { return nil }
        let line = Line(channel: nil, share: share, skip: skip, keys: keys, tellsScreens: tellsScreens)
        return LinkSettings(server: server, user: user, password: password, name: name, lines: [line])
    }

    private static func readChannel(from table: inout TableReader) -> Line? {
        let name = table.required("name") { $0.level($1) }
        let topics = table.required("topics") { $0.parsed(all: $1, TopicPrefix.init) }
        if topics?.isEmpty == true { table.note("topics", "a channel shares at least one topic, such as \"/run\"") }
        let skip = table.parsed(all: "skip", TopicPrefix.init) ?? []
        // With a channel in clear, the broker could speak for everybody whose key nobody has seen yet.
        let key = table.required("key") { $0.credential($1) }
        let other = table.credential("accept")
        guard let name, let topics, let key else { return nil }
        return Line(channel: name, share: topics, skip: skip, keys: [key] + (other.map { [$0] } ?? []))
    }
}

extension TableReader {
    /// A level of a topic at the broker.
    fileprivate mutating func level(_ key: String) -> String? {
        guard let text = string(key) else { return nil }
        let isLevel =
            !text.isEmpty && text.utf8.count <= LinkSettings.longestLevel
            && !text.unicodeScalars.contains { $0.isActive || "/+#$".unicodeScalars.contains($0) }
        guard isLevel else {
            note(key, "'\(key)' has 1 to \(LinkSettings.longestLevel) bytes, and none of / + # $")
            return nil
        }
        return text
    }
}

/// The key of a line as people keep it: in a file, a credential or an invitation.
package enum LinkKey {
    /// In bytes.
    package static let count = 32

    /// A new one, from the generator of the system.
    package static func make() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    /// Reads Base64, as `link init` writes it, or hexadecimal digits; `nil` if the text is not a key.
    package static func parse(_ text: String) -> [UInt8]? {
        if let bytes = Base64.decode(text), bytes.count == count { return bytes }
        let digits = Array(text.utf8)
        guard digits.count == 2 * count, text.allSatisfy(\.isHexDigit) else { return nil }
        let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
        }
        return bytes.count == count ? bytes : nil
    }
}
