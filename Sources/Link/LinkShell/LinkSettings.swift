import Glibc
import LinkMessages
import Linking
import Mosquitto
import NotifyBridge
import NotifyText
import Routing
import TOMLTables

/// What `mqtt.toml` says. notifyd-mqtt.toml(5) explains it.
public struct LinkSettings: Sendable {
    /// One line: the private link, or a channel.
    struct Line: Sendable {
        /// `nil` for the private link.
        var channel: String?
        var share: [TopicPrefix]
        var skip: [TopicPrefix]
        /// The first one seals, the others are accepted.
        var keys: [Credential]
        var tellsScreens = true
    }

    /// Where the broker is, and how to recognize it.
    var address: Broker.Address
    var tls: Broker.TLS?
    var user: String
    var password: Credential?
    /// The name of this device, for people.
    var name: String
    /// The private link first.
    var lines: [Line]

    /// LINK.md rule 12.
    private static let maximumLines = 16
    private static let plainPort: UInt16 = 1883
    private static let securePort: UInt16 = 8883

    /// Reads the configuration. Every mistake is noted.
    init?(_ root: inout TableReader) {
        let link = root.required("link") { root, key in root.table(key) { table in Self.link(&table) } }
        let channels = root.tables("channel", upTo: Self.maximumLines - 1) { table in Self.channel(&table) }
        guard var link else { return nil }
        link.lines += channels
        let names = link.lines.compactMap(\.channel)
        for (index, name) in names.enumerated() where names[..<index].contains(where: { $0.hasBytes(of: name) }) {
            root.note("channel", "there are two channels \"\(name)\"; each is written once")
        }
        self = link
    }

    private init(
        address: Broker.Address, tls: Broker.TLS?, user: String, password: Credential?, name: String, lines: [Line]
    ) {
        self.address = address
        self.tls = tls
        self.user = user
        self.password = password
        self.name = name
        self.lines = lines
    }

    private static func link(_ table: inout TableReader) -> LinkSettings? {
        let isInsecure = table.boolean("insecure") ?? false
        let server = table.required("server") { table, key in table.string(key) }
        let user = table.required("user") { table, key in segment(&table, key) }
        let password = table.credential("password")
        let name = table.string("name") ?? hostName
        if name.isEmpty || name.utf8.count > 64 { table.note("name", "'name' has 1 to 64 bytes") }
        var keys = table.credential("key").map { [$0] } ?? []
        if let other = table.credential("accept") {
            if keys.isEmpty { table.note("accept", "'accept' is a second key; there is no 'key'") }
            keys.append(other)
        }
        let share = prefixes(&table, "share") ?? [.all]
        let skip = prefixes(&table, "skip") ?? []
        let tellsScreens = table.boolean("screens") ?? true
        let authorities = table.string("authorities")
        let chain = table.string("certificate")
        let certificateKey = table.string("certificate-key")
        if (chain == nil) != (certificateKey == nil) {
            table.note("certificate", "'certificate' and 'certificate-key' belong together")
        }
        guard let server, let user, let (address, isSecure) = address(server, &table) else { return nil }
        if !isSecure, !address.isHere, !isInsecure {
            table.note(
                "server",
                "\(address) is another machine, and everybody on the way could read the password and change messages; "
                    + "write mqtts://, or insecure = true")
        }
        var tls: Broker.TLS?
        if isSecure {
            tls = Broker.TLS(authorities: authorities)
            if let chain, let certificateKey { tls?.certificate = (chain, certificateKey) }
        } else {
            for key in ["authorities", "certificate"] where table.has(key) {
                table.note(key, "'\(key)' is for mqtts:// only")
            }
        }
        return LinkSettings(
            address: address, tls: tls, user: user, password: password, name: name,
            lines: [Line(channel: nil, share: share, skip: skip, keys: keys, tellsScreens: tellsScreens)])
    }

    private static func channel(_ table: inout TableReader) -> Line? {
        let name = table.required("name") { table, key in segment(&table, key) }
        let topics = table.required("topics") { table, key in prefixes(&table, key) }
        let skip = prefixes(&table, "skip") ?? []
        // With a channel in clear, the broker could speak for everybody whose key nobody has seen yet.
        let key = table.required("key") { table, key in table.credential(key) }
        let other = table.credential("accept")
        guard let name, let topics, let key else { return nil }
        return Line(channel: name, share: topics, skip: skip, keys: [key] + (other.map { [$0] } ?? []))
    }

    /// A level of a topic on the broker.
    private static func segment(_ table: inout TableReader, _ key: String) -> String? {
        guard let text = table.string(key) else { return nil }
        guard !text.isEmpty, text.utf8.count <= 32, !text.utf8.contains(where: { "/+#$".utf8.contains($0) || $0 < 32 })
        else {
            table.note(key, "'\(key)' has 1 to 32 bytes, and none of / + # $")
            return nil
        }
        return text
    }

    private static func prefixes(_ table: inout TableReader, _ key: String) -> [TopicPrefix]? {
        guard let texts = table.strings(key) else { return nil }
        return texts.compactMap { text, offset in
            do throws(TopicError) {
                return try TopicPrefix(text)
            } catch {
                table.source.note(at: offset, "\(error)")
                return nil
            }
        }
    }

    private static func address(_ text: String, _ table: inout TableReader) -> (Broker.Address, isSecure: Bool)? {
        if text.hasPrefix("unix:/") { return (.socket(path: String(text.dropFirst(5))), false) }
        let wanted = "'server' is such as \"mqtts://broker.example\", \"mqtt://localhost:1883\" or \"unix:/run/broker\""
        let isSecure = text.hasPrefix("mqtts://")
        guard isSecure || text.hasPrefix("mqtt://") else {
            table.note("server", wanted)
            return nil
        }
        var rest = text.dropFirst(isSecure ? 8 : 7)
        if rest.last == "/" { rest = rest.dropLast() }
        var host = rest
        var port: UInt16? = isSecure ? securePort : plainPort
        if rest.first == "[", let end = rest.firstIndex(of: "]") {
            host = rest[rest.index(after: rest.startIndex)..<end]
            let after = rest[rest.index(after: end)...]
            if after.first == ":" { port = UInt16(after.dropFirst()) } else if !after.isEmpty { port = nil }
        } else if let colon = rest.lastIndex(of: ":") {
            host = rest[..<colon]
            port = UInt16(rest[rest.index(after: colon)...])
            if host.contains(":") { port = nil }
        }
        guard let port, port > 0, !host.isEmpty, !host.utf8.contains(where: { "/@ ".utf8.contains($0) }) else {
            table.note("server", wanted + "; user and password have keys of their own")
            return nil
        }
        return (.host(String(host), port: port), isSecure)
    }

    private static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "device" }
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text.isEmpty ? "device" : text.limited(toBytes: 64)
    }
}

extension Broker.Address {
    /// Whether nothing leaves this machine.
    fileprivate var isHere: Bool {
        switch self {
        case .socket: true
        case .host(let host, _): host == "localhost" || host == "::1" || host.hasPrefix("127.")
        }
    }
}
