import Credentials
import Glibc
import NIOSSL
import NtfySettings
import UserFiles

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
                return "is no access token: it has one line, which begins with tk_, without blanks"
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
