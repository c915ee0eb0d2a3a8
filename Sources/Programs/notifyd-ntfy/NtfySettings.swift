import Glibc
public import Mapping
import NIOSSL
import NotifyText
public import TOMLTables
import UserFiles

/// What `ntfy.toml` says; notifyd-ntfy.toml(5).
public struct NtfySettings: Equatable, Sendable {
    /// Who we are at a server.
    public enum Login: Equatable, Sendable {
        case token(Credential)
        case password(Credential, user: String)
    }

    /// One server, with what comes from there and goes there.
    public struct Server: Equatable, Sendable {
        public var address: ServerAddress
        /// `nil`: the server asks for none.
        public var login: Login?
        /// The file with the certificates of the authorities that are trusted; `nil`: those of the system.
        public var authorities: String?
        /// Without a byte for so long the connection is dead.
        public var silence: Duration = NtfySettings.usualSilence
        public var inbound: [SubscribeMap] = []
        public var outbound: [PublishMap] = []

        /// The topics that are listened to: those that come in, and those where a notification may be cleared.
        public var topics: [String] {
            var topics: [String] = []
            for name in inbound.flatMap(\.names) + outbound.filter(\.clears).map(\.name) where !topics.contains(name) {
                topics.append(name)
            }
            return topics
        }

        /// The map that takes in what comes from a topic.
        public func map(ofTopic name: String) -> SubscribeMap? { inbound.first { $0.names.contains(name) } }
    }

    public var servers: [Server]

    static let maximumServers = 16
    static let maximumMaps = 64
    /// Topics in one connection.
    static let maximumTopics = 64
    /// Servers say something so often, unless their configuration says something else.
    static let usualKeepalive: Duration = .seconds(45)
    public static let usualSilence: Duration = .seconds(100)
    /// The time that `after` has by default.
    public static let usualDelay: Duration = .seconds(120)

    /// Reads a whole configuration.
    ///
    /// - Parameter root: the table; mistakes are noted there.
    /// - Returns: `nil` if something that is needed is missing or wrong.
    public static func read(from root: inout TableReader) -> NtfySettings? {
        var servers: [Server] = []
        _ = root.tables("server", upTo: maximumServers) { table in
            guard let server = readServer(from: &table) else { return false }
            if servers.contains(where: { $0.address.name == server.address.name }) {
                table.note(
                    "url", "there is \(server.address.name) already; the maps of a server are all below one [[server]]")
            }
            servers.append(server)
            return true
        }
        if !root.has("server"), root.isWhole {
            root.note("server", "there is no [[server]]; one begins with: url = \"https://ntfy.sh\"")
        }
        return NtfySettings(servers: servers)
    }

    private static func readServer(from table: inout TableReader) -> Server? {
        let isInsecure = table.boolean("insecure") ?? false
        let authorities = table.path("authorities")
        let silence = readSilence(from: &table)
        let login = readLogin(from: &table)
        let text = table.required("url") { $0.string($1) }
        var server: Server?
        if let text {
            if let address = ServerAddress(text) {
                server = Server(address: address, login: login, authorities: authorities)
                if let silence { server?.silence = silence }
            } else {
                table.note(
                    "url",
                    "'url' is such as \"https://ntfy.sh\", \"https://HOST:PORT\" or \"https://HOST/PATH\"; user, token "
                        + "and topics have keys of their own")
            }
        }
        if let address = server?.address, !address.isEncrypted {
            if !address.isLocal, !isInsecure {
                table.note(
                    "url",
                    "http:// to another machine lets everybody on the way read and change messages; "
                        + "write https://, or allow it: insecure = true")
            }
            if authorities != nil { table.note("authorities", "'authorities' is for https:// only") }
        }
        var maps = MapReader()
        _ = table.tables("map", upTo: maximumMaps) { maps.read(from: &$0) }
        if !table.has("map"), table.isWhole {
            table.note("map", "this server has no [[server.map]], so nothing comes or goes")
        }
        server?.inbound = maps.inbound
        server?.outbound = maps.outbound
        if let count = server?.topics.count, count > maximumTopics {
            table.note("map", "\(count) topics are listened to here; a server has at most \(maximumTopics)")
        }
        return server
    }

    /// A server that says something more rarely than we believe it to be there would be connected again and again.
    private static func readSilence(from table: inout TableReader) -> Duration? {
        let keepalive = table.duration("keepalive", upTo: .seconds(1800), from: .milliseconds(100))
        let silence = table.duration("silence", upTo: .seconds(3600), from: .milliseconds(100))
        let least = keepalive ?? usualKeepalive
        guard let silence else { return keepalive.map { $0 * 2 + .seconds(10) } }
        guard silence > least else {
            table.note(
                "silence",
                "'silence' is \(silence.text), and the server says something every \(least.text) only; make it longer, "
                    + "or say the keepalive-interval of the server: keepalive = \"10s\"")
            return nil
        }
        return silence
    }

    private static func readLogin(from table: inout TableReader) -> Login? {
        let token = table.credential("token")
        let user = table.string("user")
        let password = table.credential("password")
        if table.has("token"), table.has("user") || table.has("password") {
            table.note("token", "there is either a 'token', or a 'user' with a 'password'")
        }
        if table.has("user") != table.has("password") {
            table.note(table.has("user") ? "user" : "password", "'user' and 'password' belong together")
        }
        if let token { return .token(token) }
        guard let user, let password else { return nil }
        if user.isEmpty || user.contains(":") { table.note("user", "'user' must be a name without a colon") }
        return .password(password, user: user)
    }
}

extension NtfySettings {
    /// What is allowed, and most likely not what is meant; a sentence for each.
    public var warnings: [String] {
        let inbound = servers.flatMap(\.inbound)
        return servers.flatMap(\.outbound).filter { map in
            map.topics.allSatisfy { topic in inbound.contains { $0.fills(topic.description) } }
        }.map { map in
            let topics = map.topics.map(\.description).joined(separator: " and ")
            return
                "what 'subscribe' brings never goes out, and publish = \"\(map.name)\" has 'topics' that it fills "
                + "only; unless something else publishes at \(topics), nothing is sent: name topics of other programs, "
                + "or let the phone subscribe itself"
        }
    }
}

extension SubscribeMap {
    /// Whether a topic is one of those that messages are taken in at.
    fileprivate func fills(_ prefix: String) -> Bool {
        let head = topic.description.split(separator: "/").prefix { !$0.contains("{") }
        return !head.isEmpty && prefix.split(separator: "/").starts(with: head)
    }
}

extension NtfySettings {
    /// What is wrong with the files and credentials that the configuration names.
    ///
    /// - Parameter isRunning: whether this process has the credentials of its unit, if there are any.
    func mistakes(isRunning: Bool) -> [String] {
        let hasCredentials = isRunning || getenv("CREDENTIALS_DIRECTORY") != nil
        var mistakes: [String] = []
        for server in servers {
            if let credential = server.credential, hasCredentials || !credential.isOfUnit {
                do throws(CredentialError) {
                    if let mistake = server.mistake(in: try credential.read()) {
                        mistakes.append("\(credential) \(mistake)")
                    }
                } catch {
                    mistakes.append(error.description)
                }
            }
            guard let path = server.authorities else { continue }
            if let mistake = NamedFile.mistake(at: path) {
                mistakes.append(mistake)
            } else if server.trustedAuthorities?.isEmpty ?? true {
                mistakes.append(
                    "the file \(path) has no certificate that can be read; it is PEM, as of openssl-x509(1)")
            }
        }
        return mistakes
    }
}

extension NtfySettings.Server {
    /// The certificates in `authorities`; `nil` if there is no such file, or it cannot be read.
    var trustedAuthorities: [NIOSSLCertificate]? { authorities.flatMap { try? NIOSSLCertificate.fromPEMFile($0) } }

    /// What is wrong with a secret, without anything of it; `nil` if it can be one.
    func mistake(in secret: Secret) -> String? {
        if case .token = login {
            guard secret.bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                return "is not an access token: it has one line, which begins with tk_, without blanks"
            }
        } else if secret.bytes.contains(UInt8(ascii: "\n")) {
            return "has several lines; it holds the password and nothing else"
        }
        return nil
    }

    fileprivate var credential: Credential? {
        switch login {
        case nil: nil
        case .token(let credential), .password(let credential, _): credential
        }
    }
}
