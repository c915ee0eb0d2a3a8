import Logging
import NotifyBridge
import NotifyClient
import NtfyMessages

/// The calls of an ``Intake``, several of them under way.
extension Intake {
    /// What waits for notifyd at most; then the connection waits too.
    private static let maximumHeld = 100

    // MARK: Events

    /// Asks notifyd to take an event, and returns when another message may follow. Calls are made in the order of the
    /// messages, but one that waits for its picture is passed by others.
    func submit(
        _ event: NtfyEvent, of message: NtfyMessage, withPicture: Bool, _ letter: DeadLetter, _ ticket: UInt64
    ) async {
        while underWay.count >= Flights.maximum, !isStopped { await answer() }
        await waitForRoom()
        guard !isStopped else { return }
        if withPicture, fetchPicture(event, of: message, letter, ticket) { return }
        ask(event.call(from: server.address, message.topic, picture: nil), letter, ticket)
    }

    func ask(_ call: DaemonCall, _ letter: DeadLetter, _ ticket: UInt64) {
        // What waits goes first.
        guard held.isEmpty else {
            hold(Held(ticket: ticket, call: call, letter: letter, isClaim: false))
            return wake()
        }
        underWay.insert(ticket)
        services.daemon.submit(call) { [self, loop = services.loop] answer in
            loop.task { await self.answered(answer, call, letter, ticket) }
        }
    }

    private func answered(_ answer: DaemonAnswer, _ call: DaemonCall, _ letter: DeadLetter, _ ticket: UInt64) async {
        underWay.remove(ticket)
        switch answer {
        case .done: done(ticket)
        case .refused(let error):
            wake()
            await bury(letter.because(error), ticket)
        case .refusedForNow:
            hold(Held(ticket: ticket, call: call, letter: letter, isClaim: false))
            wake()
        }
    }

    // MARK: Claims

    /// Asks notifyd, and returns when it has answered, or when the call waits for it.
    ///
    /// - Parameter mayPass: claims make room, so they go before what waits.
    func perform(_ call: DaemonCall, _ letter: DeadLetter, _ message: NtfyMessage, mayPass: Bool = false) async {
        guard !isStopped else { return }
        let ticket = flights.begin(message)
        if held.isEmpty || mayPass {
            switch await services.daemon.perform(call) {
            case .done: return done(ticket)
            case .refused(let error): return await bury(letter.because(error), ticket)
            case .refusedForNow: break
            }
        }
        hold(Held(ticket: ticket, call: call, letter: letter, isClaim: true))
        await waitForRoom()
    }

    // MARK: Waiting

    /// Returns when nothing that came before in the same sequence is under way. What waits there for its picture goes
    /// without it.
    func settle(before ticket: UInt64) async {
        for earlier in flights.earlier(ticket) { endPictureWait(earlier) }
        while flights.earlier(ticket).contains(where: underWay.contains), !isStopped { await answer() }
    }

    /// Waits for an answer.
    func answer() async { await withCheckedContinuation { waiters.append($0) } }

    func wake() {
        let waiting = waiters
        waiters = []
        for waiter in waiting { waiter.resume() }
    }

    private func waitForRoom() async {
        if held.count >= Self.maximumHeld { await holding?.value }
    }

    private func hold(_ call: Held) {
        held.insert(call, at: held.firstIndex { $0.ticket > call.ticket } ?? held.endIndex)
        if holding == nil { holding = services.loop.task { await self.deliverHeld() } }
    }

    private func deliverHeld() async {
        var backoff = Backoff(upTo: .seconds(15))
        while let first = held.first, !Task.isCancelled {
            let answer = await services.daemon.perform(first.call)
            if case .refusedForNow = answer {
                await services.loop.sleep(for: backoff.next())
                continue
            }
            held.removeAll { $0.ticket == first.ticket }
            if case .refused(let error) = answer {
                await bury(first.letter.because(error), first.ticket)
            } else {
                backoff.reset()
                done(first.ticket)
            }
        }
        holding = nil
    }

    /// Nothing more is asked of notifyd, and nobody waits for its answers.
    func stop() {
        isStopped = true
        holding?.cancel()
        for wait in pictureWaits.endAll() { wait.timer.cancel() }
        wake()
    }

    // MARK: Dead letters

    /// Keeps the letter of a message, which is done when it is kept: until then the cursor stays before it. Others do
    /// not wait, unless too many wait for the disk.
    func bury(_ letter: DeadLetter, _ ticket: UInt64) async {
        tell(letter)
        let task = services.loop.task { [services] in
            if (try? await services.deadLetters.keep(letter)) != nil { await self.done(ticket) }
        }
        if services.deadLetters.isFull { await task.value }
    }

    /// Keeps the letter of a line that is not a message, which the server does not say again.
    func bury(_ letter: DeadLetter) {
        tell(letter)
        guard !services.deadLetters.isFull else { return services.deadLetters.gaveUp(1) }
        services.loop.task { [services] in try? await services.deadLetters.keep(letter) }
    }

    private func tell(_ letter: DeadLetter) {
        // Who knows the name of a topic can read it, so it is not logged.
        services.logger.warning(
            "A message cannot be taken", metadata: ["server": "\(server.address.name)", "error": "\(letter.reason)"])
    }
}

extension DeadLetter {
    /// With the reason of notifyd.
    fileprivate func because(_ error: NotifyError) -> DeadLetter {
        var letter = self
        letter.reason = error.message
        return letter
    }
}
