import Credentials
import LinkSettings
import Mosquitto
import NotifyBridge

extension LinkSettings {
    /// The broker, with user and password. The password is read each time.
    func broker() throws -> Broker {
        var broker = server.broker
        if let password {
            guard let text = try password.read().text, !text.utf8.contains(0) else {
                throw BridgeFailure(78, "\(password) is no text without NUL characters")
            }
            broker.password = Password(text)
        }
        broker.user = user
        return broker
    }
}

extension LinkSettings.Server {
    /// The broker, as the connection wants to know it.
    var broker: Broker {
        let place: Broker.Address =
            switch address {
            case .host(let host, let port): .host(host, port: port)
            case .socket(let path): .socket(path: path)
            }
        guard isEncrypted else { return Broker(place) }
        return Broker(
            place, tls: Broker.TLS(authorities: authorities, certificate: certificate.map { ($0.chain, $0.key) }))
    }
}
