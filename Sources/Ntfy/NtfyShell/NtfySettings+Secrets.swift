import Credentials
import Glibc
import NtfySettings

extension NtfySettings {
    /// What is wrong with the files and credentials that the configuration names.
    ///
    /// - Parameter isRunning: whether this process has the credentials of its unit, if there are any.
    func mistakes(isRunning: Bool) -> [String] {
        let hasCredentials = isRunning || getenv("CREDENTIALS_DIRECTORY") != nil
        var mistakes: [String] = []
        for server in servers {
            if let credential = server.credential, hasCredentials || !credential.isOfUnit {
                do throws(CredentialError) { _ = try credential.read() } catch { mistakes.append(error.description) }
            }
            if let path = server.authorities, access(path, R_OK) != 0 {
                mistakes.append("the file \(path) cannot be read: \(String(cString: strerror(errno)))")
            }
        }
        return mistakes
    }
}

extension NtfySettings.Server {
    fileprivate var credential: Credential? {
        switch login {
        case nil: nil
        case .token(let credential), .password(let credential, _): credential
        }
    }
}
