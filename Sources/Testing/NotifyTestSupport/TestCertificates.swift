import Glibc
import NotifyClient
package import NotifyRehearsal

/// The broker of the tests.
package typealias TestBroker = PrivateBroker

/// Certificates for 127.0.0.1 and localhost, made by openssl(1).
package struct TestCertificates: Sendable {
    package typealias Certificate = PrivateBroker.Certificate

    private let folder: TemporaryFolder
    /// The certificate of the authority.
    package let authority: String
    /// Valid for two days.
    package let valid: Certificate
    /// Its last day was yesterday.
    package let expired: Certificate
    /// For another host.
    package let foreign: Certificate

    package init() async throws {
        folder = try TemporaryFolder()
        let path = folder.path
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout"]
        authority = path + "/authority.pem"
        try await runToEnd(
            "/usr/bin/openssl",
            ["req", "-x509"] + key + [path + "/authority.key", "-out", authority, "-subj", "/CN=test", "-days", "2"])
        func sign(_ name: String, for hosts: String, days: String) async throws -> Certificate {
            let certificate = Certificate(chain: "\(path)/\(name).pem", key: "\(path)/\(name).key")
            let request = "\(path)/\(name).request"
            try await runToEnd(
                "/usr/bin/openssl",
                ["req"] + key + [
                    certificate.key, "-out", request, "-subj", "/CN=\(name)", "-addext", "subjectAltName=\(hosts)",
                ])
            try await runToEnd(
                "/usr/bin/openssl",
                [
                    "x509", "-req", "-in", request, "-CA", path + "/authority.pem", "-CAkey", path + "/authority.key",
                    "-CAcreateserial", "-days", days, "-copy_extensions", "copy", "-out", certificate.chain,
                ])
            return certificate
        }
        let here = "DNS:localhost,IP:127.0.0.1"
        valid = try await sign("valid", for: here, days: "2")
        expired = try await sign("expired", for: here, days: "-1")
        foreign = try await sign("foreign", for: "DNS:broker.example", days: "2")
    }
}

/// Plays a broker that mosquitto cannot be made to be: it answers the first packets of each connection with given
/// bytes.
package final class StandInBroker: Sendable {
    /// What it answers to a packet: its first byte, and the protocol level of the CONNECT of this connection. `nil`: it
    /// closes the connection.
    package typealias Answer = @Sendable (_ type: UInt8, _ level: UInt8, _ packet: [UInt8]) -> [UInt8]?

    package let path: String
    private let folder: TemporaryFolder
    private let descriptor: CInt

    package init(_ answer: @escaping Answer) throws {
        folder = try TemporaryFolder()
        let path = folder.path + "/stand-in"
        self.path = path
        let descriptor = try listeningSocket(at: path)
        self.descriptor = descriptor
        onOwnThread {
            // Closed elsewhere, its number might be that of the next stand-in, whose connections would get answers from
            // here.
            defer { close(descriptor) }
            while true {
                let client = accept(descriptor, nil, nil)
                guard client >= 0 else { return }
                serve(client, answer)
                close(client)
            }
        }
    }

    deinit { shutdown(descriptor, CInt(SHUT_RDWR)) }
}

private func serve(_ client: CInt, _ answer: StandInBroker.Answer) {
    func read(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return count == 0 || recv(client, &bytes, count, CInt(MSG_WAITALL)) == count ? bytes : nil
    }
    var level: UInt8 = 0
    /// The remaining length; MQTT 5 section 2.1.4.
    func readCount() -> Int? {
        var count = 0
        for shift in stride(from: 0, to: 28, by: 7) {
            guard let byte = read(1)?.first else { return nil }
            count |= Int(byte & 127) << shift
            if byte < 128 { return count }
        }
        return nil
    }
    while let head = read(1), let count = readCount(), let rest = read(count) {
        if head[0] == 0x10 { level = rest[6] }
        guard let reply = answer(head[0], level, rest) else { return }
        if !reply.isEmpty {
            _ = reply.withUnsafeBytes { send(client, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
        }
    }
}
