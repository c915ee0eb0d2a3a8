import NotifyBridge
import NotifyClient
import NtfyMessages

/// What has ended at the server, for notifyd as claims.
extension Intake {
    func end(_ message: NtfyMessage, _ ticket: UInt64) async {
        await settle(before: ticket)
        let ending: SequenceTable.Ending = message.event == .clear ? .cleared : .deleted
        let letter = DeadLetter(origin: "\(server.address.name)/\(message.topic)", reason: "")
        isEnding = true
        for name in sequences.ended(message, ending) {
            await perform(claim(name, ofTopic: message.topic, ending), letter, message, mayPass: true)
        }
        isEnding = false
    }

    /// The user has read or deleted there what this bridge has sent.
    func endOwn(_ message: NtfyMessage) async {
        guard let name = await own(message) else { return }
        let letter = DeadLetter(origin: "\(server.address.name)/\(message.topic)", reason: "")
        await perform(claim(source: name.source, name.eventID, .cleared), letter, message, mayPass: true)
    }

    func claim(_ eventID: String, ofTopic topic: String, _ ending: SequenceTable.Ending) -> DaemonCall {
        claim(source: server.address.source(ofTopic: topic), eventID, ending)
    }

    private func claim(source: String, _ eventID: String, _ ending: SequenceTable.Ending) -> DaemonCall {
        .claimNamed(
            source: source, eventID: eventID,
            options: [
                "via": .string(server.address.via), "device": .string(server.address.device),
                ending == .cleared ? "dismissed" : "withdrawn": .boolean(true),
            ])
    }
}
