import Linking
import Mosquitto
import NotifyClient

/// `notifyctl link leave`.
extension LineShell {
    /// Tells the others and the broker that this device does not come back. The line does nothing more then.
    ///
    /// - Parameter completion: gets whether the broker has acknowledged it.
    func leave(_ completion: @escaping (Bool) -> Void) {
        guard isConnected, let connection else { return completion(false) }
        handle(.leave)
        leaving = completion
        connection.disconnect(endingSession: true)
    }

    /// The connection has ended.
    func hasLeft(_ isTold: Bool) {
        guard let completion = leaving else { return }
        leaving = nil
        connectedAt = nil
        stop()
        guard isTold, version == .v311, var options = lastOptions else { return completion(isTold) }
        // Only a clean connection ends a session of MQTT 3.1.1.
        options.isClean = true
        options.version = version
        leaving = completion
        connection = BrokerConnection(options, on: loop) { [self] event in endedSession(event) }
    }

    private func endedSession(_ event: ConnectionEvent) {
        switch event {
        case .connected: connection?.disconnect()
        case .ended:
            connection = nil
            let completion = leaving
            leaving = nil
            completion?(true)
        case .received, .acknowledged, .refusedAsTooLong: break
        }
    }
}
