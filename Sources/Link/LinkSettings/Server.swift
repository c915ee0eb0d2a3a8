import TOMLTables

extension LinkSettings {
    /// The broker.
    public struct Server: Hashable, Sendable, CustomStringConvertible {
        /// A name or an address; that of version 6 without brackets.
        public var host: String
        public var port: UInt16
        /// Whether TLS protects the connection.
        public var isEncrypted: Bool
        /// The file with the certificates of the authorities that are trusted; `nil`: those of the system.
        public var authorities: String?
        /// The certificate of this device, for a broker that wants one.
        public var certificate: Certificate?

        /// A certificate with its private key: the paths of two files in PEM.
        public struct Certificate: Hashable, Sendable {
            public var chain: String
            public var key: String

            public init(chain: String, key: String) {
                self.chain = chain
                self.key = key
            }
        }

        /// As it stands in the configuration.
        public var description: String {
            let scheme = isEncrypted ? "mqtts" : "mqtt"
            let host = host.contains(":") ? "[\(host)]" : host
            return "\(scheme)://\(host)" + (port == Self.usualPort(isEncrypted: isEncrypted) ? "" : ":\(port)")
        }

        private static func usualPort(isEncrypted: Bool) -> UInt16 { isEncrypted ? 8883 : 1883 }

        private static let form = "it is mqtts://HOST or mqtts://HOST:PORT, such as \"mqtts://broker.example\""

        /// Parses an address such as `mqtts://broker.example:8883`.
        public init?(_ text: String) {
            let isEncrypted: Bool
            var rest: Substring
            if text.hasPrefix("mqtts://") {
                (isEncrypted, rest) = (true, text.dropFirst(8))
            } else if text.hasPrefix("mqtt://") {
                (isEncrypted, rest) = (false, text.dropFirst(7))
            } else {
                return nil
            }
            if rest.last == "/" { rest.removeLast() }
            var port = Self.usualPort(isEncrypted: isEncrypted)
            let colon = rest.lastIndex(of: ":")
            if let colon, rest.first != "[" || rest[..<colon].last == "]" {
                guard let number = UInt16(rest[rest.index(after: colon)...]), number > 0 else { return nil }
                port = number
                rest = rest[..<colon]
            }
            if rest.first == "[" {
                guard rest.last == "]" else { return nil }
                rest = rest.dropFirst().dropLast()
            } else if rest.contains(":") {
                return nil
            }
            let isName = rest.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: ":"), UInt8(ascii: "%"):
                    true
                default: false
                }
            }
            guard !rest.isEmpty, rest.utf8.count <= 253, isName else { return nil }
            host = String(rest)
            self.port = port
            self.isEncrypted = isEncrypted
        }

        /// Whether it is this machine, so that nobody else sees what goes there.
        public var isLocal: Bool {
            host == "localhost" || host == "::1"
                || host.hasPrefix("127.") && host.allSatisfy { $0.isNumber || $0 == "." }
        }

        static func read(from table: inout TableReader) -> Server? {
            let isInsecure = table.boolean("insecure") ?? false
            let authorities = table.path("authorities")
            let certificate = table.table("certificate") { table -> Certificate? in
                let chain = table.required("chain") { $0.path($1) }
                let key = table.required("key") { $0.path($1) }
                guard let chain, let key else { return nil }
                return Certificate(chain: chain, key: key)
            }
            guard let text = table.required("server", { $0.string($1) }) else { return nil }
            guard var server = Server(text) else {
                table.note("server", "'server' is no address of a broker; \(form)")
                return nil
            }
            if !server.isEncrypted {
                if !server.isLocal, !isInsecure {
                    table.note(
                        "server",
                        "mqtt:// to another machine lets everybody on the way read the password and the messages; "
                            + "write mqtts://, or allow it: insecure = true")
                }
                for key in ["authorities", "certificate"] where table.has(key) {
                    table.note(key, "'\(key)' is for mqtts://, and 'server' is mqtt://")
                }
            }
            server.authorities = authorities
            server.certificate = certificate
            return server
        }
    }
}

extension TableReader {
    /// A path, beside the configuration or absolute.
    fileprivate mutating func path(_ key: String) -> String? {
        guard let path = string(key) else { return nil }
        guard !path.isEmpty else {
            note(key, "'\(key)' is the path of a file")
            return nil
        }
        return path.hasPrefix("/") ? path : folder + "/" + path
    }
}
