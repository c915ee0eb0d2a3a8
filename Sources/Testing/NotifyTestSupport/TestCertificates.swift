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
