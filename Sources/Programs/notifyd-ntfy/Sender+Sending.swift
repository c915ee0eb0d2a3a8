import AsyncHTTPClient
import Logging
import Mapping
import NIOCore
import NIOHTTP1
import NotifyBridge
import NotifyClient
import NotifyText

/// The requests of a ``Sender``, one after the other.
extension Sender {
    /// Makes the requests, until the task is cancelled.
    func deliver() async throws {
        var backoff = Backoff()
        var slow = Backoff(from: .seconds(60))
        var told = ""
        while !Task.isCancelled {
            await decideDue()
            try await giveUpOldest()
            // Others may come meanwhile, behind it.
            guard let index = jobs.firstIndex(where: { !closed.isClosed($0.key.topic, at: now) }) else {
                await waitForWork()
                continue
            }
            let job = jobs[index]
            do {
                try await perform(job)
                backoff.reset()
                slow.reset()
                if !told.isEmpty { reportRecovery() }
                told = ""
                closed.open(job.key.topic)
                reportClosedTopics()
            } catch let failure as ServerFailure {
                if case .send = job.action, case .forbidden = failure {
                    closed.close(job.key.topic, at: now)
                    reportClosedTopics()
                    continue
                }
                guard try await isGivenUp(job, failure) else {
                    board.set(server.address.name, .outbound, failure)
                    // The same is told once, and not with each attempt.
                    services.logger.log(
                        level: told == failure.description ? .debug : .notice, "The server takes nothing",
                        metadata: ["server": "\(server.address.name)", "error": "\(failure.kind)"])
                    told = failure.description
                    try await services.loop.pause(
                        for: failure.needsSomebody ? .seconds(10) + slow.next() : backoff.next())
                    continue
                }
                // It has answered as ntfy does.
                board.setRude(server.address.name, .outbound, nil)
                told = ""
            }
            jobs.remove(at: index)
            try await save()
        }
    }

    /// The time by which topics are closed.
    var now: Duration { ContinuousClock.now - start }

    /// Events whose time has come become jobs.
    private func decideDue() async {
        let now = SystemClock.wall
        guard waiting.contains(where: { $0.due <= now }) else { return }
        var isAway: Bool?
        for event in waiting where event.due <= now {
            if let deadline = event.deadline, deadline > now {
                if isAway == nil { isAway = await presence.isAway }
                // Meanwhile it may have been claimed.
                guard let index = index(of: event) else { continue }
                if isAway != true {
                    waiting[index].due = deadline
                    continue
                }
            }
            guard let index = index(of: event) else { continue }
            let event = waiting.remove(at: index)
            jobs.append(Job(number: event.number, key: event.key, action: .send(event)))
        }
    }

    private func index(of event: Waiting) -> Int? {
        waiting.firstIndex { $0.number == event.number && $0.key == event.key }
    }

    private func perform(_ job: Job) async throws {
        switch job.action {
        case .send(let event): try await send(event)
        case .end(let isOwn, let isDeletion):
            // It may not have been sent after all.
            if isOwn, sent[job.key] == nil || sent[job.key]?.state == .ended { return }
            try await end(job.key, isDeletion)
        }
    }

    /// An answer that is not a stream ends within this time.
    private static var pollTimeout: Duration { .seconds(300) }

    // MARK: Messages

    private func send(_ event: Waiting) async throws {
        try await client.waitForTurn()
        // From now on, a claim is told after it. Its row is read again: only now is it known whether there was one
        // before.
        let wasSending = sent[event.key]?.state == .sending
        sent.begin(event.key, source: event.source, eventID: event.eventID, at: SystemClock.wall)
        guard let row = try await row(event.number), Self.isNews(row),
            let outgoing = OutgoingMessage.Event(topic: row.topic, details: row.details)
        else {
            // It may have been sent before a crash, and claimed after it.
            if wasSending { try await end(event.key, false) } else { sent.forget(event.key) }
            return
        }
        let message: OutgoingMessage
        do throws(MapError) {
            message = try OutgoingMessage(outgoing, for: event.map)
        } catch {
            throw ServerFailure.rejected(error.description)
        }
        if wasSending, try await isThere(event.key) {
            sent.set(event.key, .sent)
            return
        }
        try await save(isFinal: false)
        let start = ContinuousClock.now
        try await client.send(
            .POST, "/", body: message.bytes, sequence: message.sequence, making: .message, in: event.key.topic)
        services.status.setRoundTrip(ContinuousClock.now - start)
        sent.set(event.key, .sent)
    }

    /// The row of an event; `nil` if it is forgotten.
    private func row(_ number: UInt64) async throws -> JournalChange? {
        let answer = await services.daemon.perform(.changes(after: number - 1, limit: 1))
        guard let page = answer.changes else { throw ServerFailure.away("notifyd does not answer") }
        return page.rows.first.flatMap { $0.number == number ? $0 : nil }
    }

    /// Whether the server has a message that was about to be sent when the bridge was killed. If it does not say, it
    /// has not.
    private func isThere(_ key: SentTable.Key) async throws -> Bool {
        let since = max((sent[key]?.at ?? 0) / 1_000_000 - 60, 0)
        do {
            try await client.waitForTurn()
            var lines = try await client.messages(of: key.topic, query: "poll=1&since=\(since)").lines
            let deadline = ContinuousClock.now + Self.pollTimeout
            while let piece = try await lines.next() {
                for line in piece.lines {
                    if let message = try? NtfyMessage(line: line), message.sequence == key.sequence { return true }
                }
                if deadline < .now { throw ServerFailure.rude("an answer of it has no end") }
            }
            return false
        } catch ServerFailure.forbidden {
            return false
        }
    }

    private func end(_ key: SentTable.Key, _ isDeletion: Bool) async throws {
        try await client.waitForTurn()
        if isDeletion {
            try await client.send(.DELETE, "/\(key.topic)/\(key.sequence)", making: .delete, in: key.topic)
        } else {
            try await client.send(.PUT, "/\(key.topic)/\(key.sequence)/clear", making: .clear, in: key.topic)
        }
        sent.set(key, .ended)
    }

    // MARK: Failures

    /// The server has taken something after it had failed.
    private func reportRecovery() {
        board.setRude(server.address.name, .outbound, nil)
        services.logger.notice("The server takes something again", metadata: ["server": "\(server.address.name)"])
    }

    /// Whether a job is done with although it has failed.
    private func isGivenUp(_ job: Job, _ failure: ServerFailure) async throws -> Bool {
        switch (job.action, failure) {
        case (.end, .forbidden), (.end, .missing), (.end, .rejected):
            // An old server knows no clear, and some topics are only for reading. What is at stake is a notification
            // that stays.
            services.logger.notice(
                "A claim cannot be said to the server",
                metadata: ["server": "\(server.address.name)", "error": "\(failure.kind)"])
            if case .forbidden = failure { readOnly.insert(job.key.topic) }
            if case .missing = failure { reportMissingClear() }
            sent.set(job.key, .ended)
            return true
        case (.send(let event), .rejected(let reason)):
            try await giveUp(event, reason)
            return true
        default: return false
        }
    }

    /// When it returns, the dead letter is kept, and the event is done.
    private func giveUp(_ event: Waiting, _ reason: String) async throws {
        sent.forget(event.key)
        let letter = DeadLetter(topic: event.topic, origin: "map \(event.map.name)", reason: reason)
        services.logger.warning(
            "An event cannot be sent out",
            metadata: ["topic": "\(event.topic)", "server": "\(server.address.name)", "error": "\(reason)"])
        try await services.deadLetters.keep(letter)
    }

    /// What waits for a topic where nobody lets us write is old one day.
    private func giveUpOldest() async throws {
        for name in closed.names {
            let isFull = { (jobs: [Job]) in jobs.count { $0.key.topic == name } > ClosedTopics.maximumWaiting }
            while isFull(jobs), let index = jobs.firstIndex(where: { $0.key.topic == name }) {
                if case .send(let event) = jobs[index].action {
                    try await giveUp(event, "the server does not allow this user to write there, and too much waits")
                }
                jobs.remove(at: index)
            }
        }
    }

    /// Topics where this user may not write are a problem while others go on, and a failure if there is no other.
    private func reportClosedTopics() {
        let name = server.address.name
        let refused = closed.names
        let list = refused.map { "\"\($0)\"" }.joined(separator: ", ")
        let isAll = !refused.isEmpty && server.outbound.allSatisfy { refused.contains($0.name) }
        let reason = "it does not allow this user to write \(list)"
        let failure = ServerFailure.forbidden(reason)
        if isAll { board.set(name, .outbound, failure) } else { board.set(name, .outbound, .connected) }
        services.status.setProblem(
            "\(name) publish", isAll || refused.isEmpty ? nil : "\(name): \(reason); what goes there waits",
            failure.advice ?? "")
    }

    /// There is nothing at the address of a clear: no attempt is made again before the next start.
    private func reportMissingClear() {
        knowsNoClear = true
        services.status.setProblem(
            "\(server.address.name) version",
            "\(server.address.name): it knows no clear (404), so what is claimed here stays on the phone",
            "Update the server to ntfy 2.16 or newer, or write clear = false into its maps.")
    }
}
