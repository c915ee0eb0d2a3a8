import NotifyBridge
import NotifyClient
import NtfyMessages

/// Messages that wait for their pictures, while others go on.
extension Intake {
    struct PictureWait {
        let event: NtfyEvent
        let topic: String
        let letter: DeadLetter
        let timer: WorkTimer
    }

    /// Has the picture of a message fetched. The message is published when it is there, or cannot be had in time.
    ///
    /// - Returns: `false` if the message does not wait: it has no picture, or others take all places.
    func fetchPicture(
        _ event: NtfyEvent, of message: NtfyMessage, _ letter: DeadLetter, _ ticket: UInt64
    ) -> Bool {
        guard let pictures, pictureWaits.hasPlace else { return false }
        let count = Pictures.addresses(of: message).count
        guard count > 0 else { return false }
        let loop = services.loop
        // A name that is looked up is waited for by nobody, so the fetch itself may take longer.
        let timer = loop.perform(after: Pictures.patience * count) { [self] in
            loop.task { await self.endPictureWait(ticket) }
        }
        pictureWaits.begin(
            ticket, PictureWait(event: event, topic: message.topic, letter: letter, timer: timer))
        loop.task { [server] in
            let picture = await pictures.fetch(for: message, from: server)
            await self.endFetch(ticket, picture)
        }
        return true
    }

    private func endFetch(_ ticket: UInt64, _ picture: String?) {
        pictureWaits.endFetch()
        endPictureWait(ticket, picture)
    }

    /// Publishes a message that waits for its picture.
    func endPictureWait(_ ticket: UInt64, _ picture: String? = nil) {
        guard let wait = pictureWaits.end(ticket) else { return }
        wait.timer.cancel()
        ask(wait.event.call(from: server.address, wait.topic, picture: picture), wait.letter, ticket)
    }
}
