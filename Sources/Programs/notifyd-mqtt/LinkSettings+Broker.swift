import Glibc
import Linking
import Mosquitto
import NotifyBridge
import TOMLTables
import UserFiles

extension LinkSettings {
    /// The broker, with user and password. The password is read each time.
    func broker() throws -> Broker {
        let secret = try password?.read()
        if let secret, let password, secret.text?.utf8.contains(0) ?? true {
            throw BridgeFailure(78, "\(password) is not text without NUL characters")
        }
        return Broker(server, user: user, password: secret)
    }
}

extension LinkSettings {
    /// What is wrong with the files and credentials that the configuration names.
    ///
    /// - Parameter isRunning: whether this process has the credentials of its unit, if there are any.
    func mistakes(isRunning: Bool) -> [String] {
        let hasCredentials = isRunning || getenv("CREDENTIALS_DIRECTORY") != nil
        func isThere(_ credential: Credential) -> Bool { hasCredentials || !credential.isOfUnit }
        var mistakes: [String] = []
        func check(_ body: () throws -> Void) {
            do {
                try body()
            } catch {
                if !mistakes.contains("\(error)") { mistakes.append("\(error)") }
            }
        }
        if let password, isThere(password) { check { _ = try broker() } }
        for key in lines.flatMap(\.keys) where isThere(key) {
            check { if LineKey(try key.read()) == nil { throw key.noKey } }
        }
        let files = [server.authorities, server.certificate?.chain, server.certificate?.key].compactMap(\.self)
        return mistakes + files.compactMap(NamedFile.mistake)
    }
}

extension LineKey {
    /// `nil` if the secret is not a key.
    init?(_ secret: Secret) {
        guard let bytes = secret.text.flatMap(LinkKey.parse) else { return nil }
        self.init(bytes)
    }
}

extension Credential {
    /// It was read, and is not a key.
    var noKey: BridgeFailure { BridgeFailure(78, "\(self) is not a key: a key is \(LinkKey.count) bytes in Base64") }
}
