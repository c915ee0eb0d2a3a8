import NotifyText
import TOMLTables

extension LinkSettings {
    /// The broker.
    public struct Server: Hashable, Sendable, CustomStringConvertible {
        /// Where it is.
        public enum Address: Hashable, Sendable, CustomStringConvertible {
            /// A name or an address; that of version 6 without brackets.
            case host(String, port: UInt16)
            case socket(path: String)

            /// For people.
            public var description: String {
                switch self {
                case .host(let host, let port): "\(Authority.bracketed(host)):\(port)"
                case .socket(let path): path
                }
            }
        }

        public var address: Address
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
            switch address {
            case .socket(let path): return "unix:" + path
            case .host(let host, let port):
                let isUsual = port == Self.usualPort(isEncrypted: isEncrypted)
                return (isEncrypted ? "mqtts://" : "mqtt://") + Authority.bracketed(host) + (isUsual ? "" : ":\(port)")
            }
        }

        private static func usualPort(isEncrypted: Bool) -> UInt16 { isEncrypted ? 8883 : 1883 }

        /// Parses an address such as `mqtts://broker.example:8883`.
        public init?(_ text: String) {
            if text.hasPrefix("unix:/") {
                self.init(.socket(path: String(text.dropFirst(5))))
                return
            }
            let isEncrypted = text.hasPrefix("mqtts://")
            guard isEncrypted || text.hasPrefix("mqtt://") else { return nil }
            var rest = text.dropFirst(isEncrypted ? 8 : 7)
            if rest.last == "/" { rest.removeLast() }
            guard let broker = Authority(rest, [.international, .zones]) else { return nil }
            self.init(
                .host(broker.host, port: broker.port ?? Self.usualPort(isEncrypted: isEncrypted)),
                isEncrypted: isEncrypted)
        }

        public init(
            _ address: Address, isEncrypted: Bool = false, authorities: String? = nil, certificate: Certificate? = nil
        ) {
            self.address = address
            self.isEncrypted = isEncrypted
            self.authorities = authorities
            self.certificate = certificate
        }

        /// Whether it is on this machine, so that nobody else sees what goes there.
        public var isLocal: Bool {
            switch address {
            case .socket: true
            case .host(let host, _): Authority.isLocal(host)
            }
        }

        static func read(from table: inout TableReader) -> Server? {
            let isInsecure = table.boolean("insecure") ?? false
            let authorities = table.path("authorities")
            let chain = table.path("certificate")
            let key = table.path("certificate_key")
            if (chain == nil) != (key == nil) {
                table.note(
                    chain == nil ? "certificate_key" : "certificate",
                    "'certificate' and 'certificate_key' belong together")
            }
            guard let text = table.required("server", { $0.string($1) }) else { return nil }
            guard var server = Server(text) else {
                table.note(
                    "server",
                    "'server' is such as \"mqtts://broker.example\", \"mqtt://localhost:1883\" or "
                        + "\"unix:/run/broker\"; user and password have keys of their own")
                return nil
            }
            if !server.isEncrypted {
                if !server.isLocal, !isInsecure {
                    table.note(
                        "server",
                        "mqtt:// to another machine lets everybody on the way read the password and change messages; "
                            + "write mqtts://, or allow it: insecure = true")
                }
                for key in ["authorities", "certificate"] where table.has(key) {
                    table.note(key, "'\(key)' is for mqtts:// only")
                }
            }
            server.authorities = authorities
            if let chain, let key { server.certificate = Certificate(chain: chain, key: key) }
            return server
        }
    }
}
