import Journal
import Routing
import Systemd

/// Handles calls that have been scheduled.
extension RouterInterface {
    func handle(_ call: IncomingCall) throws(Refusal) {
        let message = call.message
        let caller = message.message.sender
        try authorize(call, of: caller)
        switch call.request {
        case .route(let made):
            try daemon.answer(made, to: message)
            // The screen claims events later, and its program is known by then.
            if case .screenOpened = made { _ = host.programs.lookUp(caller) }
        case .claimNamed(let origin, let options):
            let identity = daemon.policy.rules.isEmpty ? [] : host.callers.caller(caller).fields
            let id = try daemon.knownEvent(named: origin)
            let claim = daemon.namedClaim(of: origin, options, by: caller, identity: identity)
            try daemon.answer(.claimedNamed(claim, event: id), to: message)
        case .press(let id, let action): try daemon.press(action, of: id, by: caller, for: message)
        case .forget(let topic, let last): try daemon.forget(topic, upTo: last, by: caller, for: message)
        case .read(let reading): try write(ChunkedReply(reading, to: message))
        case .awaitChanges(let after, let limit):
            try answerOrWait(AwaitingCall(call: message, after: after, limit: limit), of: caller)
        case .history(let topic, let after, let limit):
            daemon.endTurn()
            let events = try daemon.storage.read { journal throws(JournalError) in
                try journal.history(topic, after: after, limit: limit)
            }
            let reply = bus.methodReturn(to: message.message)
            reply.appendContainer("a", eventType) { list in
                for event in events { list.append(daemon.storage.current(event)) }
            }
            send(reply, bytes: events.reduce(0) { $0 + $1.memoryCost })
        case .render(let id):
            daemon.endTurn()
            let stored = try daemon.storage.read { journal throws(JournalError) in try journal.event(id) }
            guard let stored else { throw .noEvent(id) }
            let text = BannerText(ofAlone: daemon.event(stored))
            let reply = bus.methodReturn(to: message.message)
            reply.append(text.title)
            reply.append(text.body)
            send(reply, bytes: text.title.utf8.count + text.body.utf8.count)
        case .explain(let id): try explain(id, to: message.message)
        case .diagnose:
            let storage = daemon.storage
            var problems = host.actions.problems
            if !storage.degradation.isEmpty {
                problems.insert(
                    ("journal", "nothing is accepted, because \(storage.degradation)", storage.remedy), at: 0)
            }
            let reply = bus.methodReturn(to: message.message)
            reply.appendContainer("a", "(sss)") { list in
                for problem in problems {
                    list.appendContainer("r", "sss") { entry in
                        entry.append(problem.what)
                        entry.append(problem.state)
                        entry.append(problem.advice)
                    }
                }
            }
            send(reply, bytes: problems.reduce(0) { $0 + $1.state.utf8.count + $1.advice.utf8.count })
        }
    }

    private func explain(_ id: EventID, to call: borrowing BusMessage) throws(Refusal) {
        daemon.endTurn()
        let found = try daemon.storage.read { journal throws(JournalError) in
            (event: try journal.event(id), claims: try journal.claims(on: id))
        }
        guard let stored = found.event else { throw .noEvent(id) }
        let (event, claims) = daemon.storage.current(stored, found.claims)
        let reply = bus.methodReturn(to: call)
        let route = daemon.configuration.routes.route(named: event.route, for: event.topic)
        Explanation(
            event: event, claims: claims, state: daemon.state(of: event), snoozeEnd: daemon.snoozeEnd(of: id),
            waitsForScreens: route.wait == .screens
        ).append(to: reply)
        send(reply, bytes: event.memoryCost + claims.count * 96)
    }

    /// Sends a reply that may be long.
    private func send(_ reply: consuming BusMessage, bytes: Int) {
        repliedBytes += bytes
        daemon.sendAfterCommit(.encoded(RetainedMessage(reply, bytes: bytes)))
    }

    // MARK: Replies in chunks

    /// How long one chunk takes.
    private static let chunkLength: Duration = .milliseconds(1)

    /// Writes the next chunk of a reply, or begins it, once fewer such replies are being made.
    func write(_ chunked: ChunkedReply) throws(Refusal) {
        guard chunked.takePlace(of: places) else {
            continuation = chunked
            return
        }
        let reply = chunked.reply ?? RetainedMessage(bus.methodReturn(to: chunked.call.message))
        if chunked.reply == nil { try chunked.reading.begin(reply.message, in: daemon) }
        chunked.reply = reply
        let end = host.instant + Self.chunkLength
        guard try chunked.reading.write(reply.message, until: end, in: daemon) else {
            continuation = chunked
            return
        }
        repliedBytes += chunked.reading.bytes
        daemon.sendAfterCommit(.encoded(RetainedMessage(reply, bytes: chunked.reading.bytes)))
    }

    // MARK: Waiting for changes

    /// Answers with the changes that there are, or with the next ones.
    func answerOrWait(_ call: AwaitingCall, of caller: String) throws(Refusal) {
        daemon.endTurn()
        let list = try ChangeList.beginning(after: call.after, limit: call.limit, in: daemon.storage)
        if let list { return try write(ChunkedReply(list, to: call.call)) }
        try awaiting.add(call, of: caller, owner: host.owner(of:))
    }

    /// There are new changes on disk: the calls that wait for them are queued as if they came now.
    func changesCommitted() {
        guard !awaiting.isEmpty else { return }
        areAwaitingNext = queue.isEmpty
        for (caller, call) in awaiting.takeAll() { queue.enqueue(.awaiting(call), of: caller, kind: .reading) }
        bus.resume()
    }

    /// Answers the calls that wait for changes in the turn of the loop that commits them, if no other call is queued
    /// before them.
    func answerAwaiting() {
        guard areAwaitingNext else { return }
        areAwaitingNext = false
        if !handleBatch() { bus.pause() }
        daemon.endTurn()
    }
}

/// A reply that is made in chunks.
final class ChunkedReply {
    /// The replies that are being made. Each is in memory until it is sent. A caller has at most one: its rest is first
    /// in the caller's queue.
    final class Places {
        fileprivate static let limit = 2
        fileprivate var taken = 0
    }

    let call: RetainedMessage
    let reading: any Reading
    /// As far as it is written; `nil` before it has begun.
    fileprivate var reply: RetainedMessage?
    private var places: Places?

    init(_ reading: any Reading, to call: RetainedMessage) {
        self.reading = reading
        self.call = call
    }

    /// It is neither complete nor dropped until then.
    deinit { places?.taken -= 1 }

    /// - Returns: whether it has a place; not while too many others are being made.
    fileprivate func takePlace(of places: Places) -> Bool {
        guard self.places == nil else { return true }
        guard places.taken < Places.limit else { return false }
        places.taken += 1
        self.places = places
        return true
    }
}
