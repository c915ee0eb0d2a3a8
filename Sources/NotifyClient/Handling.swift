extension NotifyClient {
    /// Handles events instead of banners: each is held, given to `handler`, and claimed when that returns. When it throws,
    /// or takes too long, or this program dies in the middle, the banner is shown after all.
    ///
    ///     try await client.handle(eventsAt: "/run", within: .seconds(10)) { invitation in
    ///         try await openRun(invitation)
    ///     }
    ///
    /// Events are held in the order in which they were published, as soon as they are heard, and handled in that order,
    /// at most `count` at once; with a `count` of 1 one ends before the next begins. An event that cannot be held, because
    /// somebody else has claimed it, its banner is up or it never gets one, is not given to the handler. One that is
    /// announced again after a restart of the daemon is held again, and handled again only if it was not being handled.
    ///
    /// It goes on until the calling task is cancelled, and then returns when the handlers that run, which are cancelled
    /// too, have ended; what waited for its turn is released.
    ///
    /// - Parameters:
    ///   - topics: `/` stands for every topic.
    ///   - limit: how long an event may be held, waiting for its turn included; from 1 ms to 10 minutes.
    ///   - count: how many events are handled at once.
    ///   - onError: told of what `handler` threw, and of a ``NotifyError`` when an event could not be held or confirmed:
    ///     `timedOut` when no turn came in time, `refused` with `NotClaimant` when its time ran out meanwhile.
    ///   - handler: does what the event is about; when it returns, the event is claimed.
    /// - Throws: what ends a ``Subscription``: `closed`, or `readerTooSlow` with 4096 unread events.
    public func handle(
        eventsAt topics: String..., within limit: Duration, atOnce count: Int = 4,
        onError: @escaping @Sendable (Event, any Error) -> Void = { _, _ in },
        _ handler: @escaping @Sendable (Event) async throws -> Void
    ) async throws(NotifyError) {
        guard count > 0 else { throw NotifyError(.invalidArgument, "At least one event is handled at once.") }
        let events = try await events(at: topics)
        let handling = Handling(client: self, limit: limit, onError: onError, handler: handler)
        do {
            async let holding: Void = handling.hold(events)
            await handling.run(atOnce: count)
            try await holding
        } catch {
            await handling.releaseAll()
            throw error as? NotifyError ?? .cancelled
        }
        await handling.releaseAll()
    }

    /// Confirms or gives up a provisional claim, even when the calling task is cancelled.
    package func settle(_ id: EventID, isDone: Bool) async throws(NotifyError) {
        try await uncancelled { () async throws(NotifyError) in
            if isDone { try await self.complete(id) } else { try await self.release(id) }
        }
    }
}

/// One run of `handle`: one task holds events, others handle them.
private struct Handling: Sendable {
    private struct Held: Sendable {
        let event: Event
        let deadline: ContinuousClock.Instant
    }

    let client: NotifyClient
    let limit: Duration
    let onError: @Sendable (Event, any Error) -> Void
    let handler: @Sendable (Event) async throws -> Void
    private let waiting: AsyncStream<Held>
    private let line: AsyncStream<Held>.Continuation
    /// Waiting or being handled.
    private let inHand = Guarded<Set<EventID>>([])

    init(
        client: NotifyClient, limit: Duration, onError: @escaping @Sendable (Event, any Error) -> Void,
        handler: @escaping @Sendable (Event) async throws -> Void
    ) {
        self.client = client
        self.limit = limit
        self.onError = onError
        self.handler = handler
        (waiting, line) = AsyncStream.makeStream()
    }

    func hold(_ events: Subscription<Event>) async throws(NotifyError) {
        defer { line.finish() }
        for try await event in events {
            // Nothing is pending for it.
            if event.window == nil || event.window == .zero { continue }
            let deadline = ContinuousClock.now + limit
            // Not to be cancelled: an event would be held and nobody would know.
            do throws(NotifyError) {
                let verdict = try await uncancelled { () async throws(NotifyError) in
                    try await client.claimProvisionally(event.id, within: limit)
                }
                guard verdict == .suppressed else { continue }
            } catch {
                if error.code == .invalidArgument { throw error }
                onError(event, error)
                continue
            }
            let isNew = inHand.withLock { $0.insert(event.id).inserted }
            if isNew { line.yield(Held(event: event, deadline: deadline)) }
        }
    }

    func run(atOnce count: Int) async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            for await held in waiting {
                if running == count {
                    await group.next()
                    running -= 1
                }
                running += 1
                group.addTask { await handle(held) }
            }
        }
    }

    /// What is left when nothing runs any more.
    func releaseAll() async {
        for id in inHand.withLock({ $0.sorted() }) { try? await client.settle(id, isDone: false) }
    }

    private func handle(_ held: Held) async {
        let event = held.event
        // Stopped before its turn came: it is released with the others.
        if Task.isCancelled { return }
        defer { _ = inHand.withLock { $0.remove(event.id) } }
        guard held.deadline > .now else {
            try? await client.settle(event.id, isDone: false)
            onError(event, NotifyError(.timedOut, "No turn to handle event \(event.id) came in time."))
            return
        }
        do {
            try await handler(event)
        } catch {
            try? await client.settle(event.id, isDone: false)
            onError(event, error)
            return
        }
        do throws(NotifyError) {
            try await client.settle(event.id, isDone: true)
        } catch {
            onError(event, error)
        }
    }
}

/// Runs `work` to its end even when the calling task is cancelled.
private func uncancelled<Result: Sendable>(
    _ work: @escaping @Sendable () async throws(NotifyError) -> Result
) async throws(NotifyError) -> Result {
    let task = Task { () async -> Swift.Result<Result, NotifyError> in
        do throws(NotifyError) { return .success(try await work()) } catch { return .failure(error) }
    }
    return try await task.value.get()
}
