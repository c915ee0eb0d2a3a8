import LinkSettings
import Mosquitto

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
