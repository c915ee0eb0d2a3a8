import UserFiles

/// A file that says with which broker MQTT 5 is not to be spoken, because it has sent what cannot be read. libmosquitto
/// may have ended the process by that. MQTT 3.1.1 has no properties, and with them goes what can be wrong in them.
package struct BrokerNote: Sendable {
    /// Whoever deletes the file has MQTT 5 tried again.
    package let path: String

    package init(path: String) {
        self.path = path
    }

    /// Whether it is about this broker.
    func names(_ broker: Broker.Address) -> Bool {
        let text = Array(broker.description.utf8)
        return (try? FileKind.read(path, atMost: text.count + 1)) == text
    }

    /// Without it, MQTT 5 is spoken again with the next connection.
    func write(_ broker: Broker.Address) { try? WholeFile.write(broker.description, to: path) }
}
