import Logging
import Mapping
import NotifyBridge
import NotifyClient

/// The calls of a ``Receiver``, several of them under way.
extension Receiver {
    /// What waits for notifyd at most; then the connection waits too.
    private static let maximumPending = 100

    // MARK: Events

    /// Asks notifyd to take an event, and returns when another message may follow. Calls are made in the order of the
    /// messages, but one that waits for its picture is passed by others.
    func submit(
        _ event: NtfyEvent, of message: NtfyMessage, withPicture: Bool, _ letter: DeadLetter, _ ticket: UInt64
    ) async {
        while underWay.count >= InFlight.maximum, !isStopped { await waitForAnswer() }
        await waitForRoom()
        guard !isStopped else { return }
        if withPicture, fetchPicture(event, of: message, letter, ticket) { return }
        submit(event.call(from: server.address, message.topic, picture: nil), letter, ticket)
    }

    private func submit(_ call: DaemonCall, _ letter: DeadLetter, _ ticket: UInt64) {
        // What waits goes first.
        guard pending.isEmpty else {
            pending.insert(Pending(call: call, letter: letter, isClaim: false), ticket)
            return wake()
        }
        underWay.insert(ticket)
        services.daemon.submit(call) { [self, loop = services.loop] answer in
            loop.task { await self.answered(answer, call, letter, ticket) }
        }
    }

    private func answered(_ answer: DaemonAnswer, _ call: DaemonCall, _ letter: DeadLetter, _ ticket: UInt64) async {
        underWay.remove(ticket)
        if case .refusedForNow = answer {
            pending.insert(Pending(call: call, letter: letter, isClaim: false), ticket)
        }
        await finish(with: answer, letter, ticket)
    }

    /// Ends a message with the answer of notifyd, unless that refuses it for now.
    private func finish(with answer: DaemonAnswer, _ letter: DeadLetter, _ ticket: UInt64) async {
        if case .done = answer { return done(ticket) }
        wake()
        if case .refused(let error) = answer { await keep(letter.because(error), ticket) }
    }

    // MARK: Claims

    /// Tells notifyd of what has ended at the server.
    func end(_ message: NtfyMessage, _ ticket: UInt64) async {
        await waitForEarlier(than: ticket)
        let ending: SequenceTable.Ending = message.event == .clear ? .cleared : .deleted
        isEnding = true
        for name in sequences.ended(message, ending) { await claim(name, of: message, ending, mayPass: true) }
        isEnding = false
    }

    /// Tells notifyd that the user has read or deleted there what this bridge has sent.
    func endOwn(_ message: NtfyMessage) async {
        guard let name = await own(message) else { return }
        await claim(name.eventID, source: name.source, of: message, .cleared, mayPass: true)
    }

    /// Asks notifyd, and returns when it has answered, or when the call waits for it.
    ///
    /// - Parameters:
    ///   - source: `nil` for that of the topic.
    ///   - letter: with the message; without one, only where it came from is kept.
    ///   - mayPass: claims make room, so they go before what waits.
    func claim(
        _ eventID: String, source: String? = nil, of message: NtfyMessage, _ ending: SequenceTable.Ending,
        _ letter: DeadLetter? = nil, mayPass: Bool = false
    ) async {
        guard !isStopped else { return }
        let call = DaemonCall.claimNamed(
            source: source ?? server.address.source(ofTopic: message.topic), eventID: eventID,
            options: [
                "via": .string(server.address.via), "device": .string(server.address.device),
                ending == .cleared ? "dismissed" : "withdrawn": .boolean(true),
            ])
        let letter = letter ?? DeadLetter(origin: "\(server.address.name)/\(message.topic)")
        let ticket = inFlight.begin(message)
        if pending.isEmpty || mayPass {
            let answer = await services.daemon.perform(call)
            guard case .refusedForNow = answer else { return await finish(with: answer, letter, ticket) }
        }
        pending.insert(Pending(call: call, letter: letter, isClaim: true), ticket)
        await waitForRoom()
    }

    // MARK: Waiting

    /// Returns when nothing that came before in the same sequence is under way. What waits there for its picture goes
    /// without it.
    func waitForEarlier(than ticket: UInt64) async {
        for earlier in inFlight.earlier(ticket) { endPictureWait(earlier) }
        while inFlight.earlier(ticket).contains(where: underWay.contains), !isStopped { await waitForAnswer() }
    }

    /// Waits for an answer.
    func waitForAnswer() async { await withCheckedContinuation { waiters.append($0) } }

    func wake() {
        let waiting = waiters
        waiters = []
        for waiter in waiting { waiter.resume() }
    }

    private func waitForRoom() async {
        while pending.count >= Self.maximumPending, !isStopped { await waitForAnswer() }
    }

    /// Delivers what notifyd has refused for now.
    func deliverPending() async {
        await pending.run { message, ticket in await self.deliver(message, ticket) }
    }

    private func deliver(_ message: Pending, _ ticket: UInt64) async {
        let answer = await services.daemon.perform(message.call)
        if case .refusedForNow = answer { return }
        pending.remove(ticket)
        await finish(with: answer, message.letter, ticket)
    }

    /// Nothing more is asked of notifyd, and nobody waits for its answers.
    func stop() {
        isStopped = true
        delivery?.cancel()
        for wait in pictureWaits.endAll() { wait.timer.cancel() }
        wake()
    }

    // MARK: Dead letters

    /// Keeps the dead letter of a message, which is done when it is kept: until then the cursor stays before it. Others
    /// do not wait, unless too many wait for the disk.
    func keep(_ letter: DeadLetter, _ ticket: UInt64) async {
        log(letter)
        let task = services.loop.task { [services] in
            if (try? await services.deadLetters.keep(letter)) != nil { await self.done(ticket) }
        }
        if services.deadLetters.isFull { await task.value }
    }

    /// Keeps the dead letter of a line that is not a message, which the server does not repeat.
    func keep(_ letter: DeadLetter) {
        log(letter)
        guard !services.deadLetters.isFull else { return services.deadLetters.gaveUp(1) }
        services.loop.task { [services] in try? await services.deadLetters.keep(letter) }
    }

    private func log(_ letter: DeadLetter) {
        // Who knows the name of a topic can read it, so it is not logged.
        services.logger.warning(
            "A message cannot be taken", metadata: ["server": "\(server.address.name)", "error": "\(letter.reason)"])
    }

    // MARK: Pictures

    /// A message that waits for its picture, while others go on.
    struct PictureWait {
        let event: NtfyEvent
        let topic: String
        let letter: DeadLetter
        let timer: WorkTimer
    }

    /// Has the picture of a message fetched. The message is published when it is there, or cannot be had in time.
    ///
    /// - Returns: `false` if the message does not wait: it has no picture, or others take all places.
    private func fetchPicture(
        _ event: NtfyEvent, of message: NtfyMessage, _ letter: DeadLetter, _ ticket: UInt64
    ) -> Bool {
        guard let pictures, pictureWaits.hasPlace else { return false }
        let count = Pictures.addresses(of: message).count
        guard count > 0 else { return false }
        let loop = services.loop
        // A name that is looked up is waited for by nobody, so the fetch itself may take longer.
        let timer = loop.perform(after: Pictures.overallTimeout * count) { [self] in
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
    private func endPictureWait(_ ticket: UInt64, _ picture: String? = nil) {
        guard let wait = pictureWaits.end(ticket) else { return }
        wait.timer.cancel()
        submit(wait.event.call(from: server.address, wait.topic, picture: picture), wait.letter, ticket)
    }
}
