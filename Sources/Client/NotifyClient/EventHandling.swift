package import NotifyText

extension NotifyClient {
    /// Handles events instead of showing banners. Each event is claimed provisionally, passed to `handler`, and claimed
    /// when the handler returns. If the handler throws or takes too long, or this program dies meanwhile, the banner is
    /// shown.
    ///
    ///     try await client.handle(eventsAt: "/run", within: .seconds(10)) { invitation in
    ///         try await openRun(invitation)
    ///     }
    ///
    /// Events are held as soon as they are received and handled in the order in which they were published, at most
    /// `count` at once. An event that cannot be held, because it is claimed, its banner is shown, or it never gets one,
    /// is not handled. An event that is announced again after a restart of the daemon is held again, and handled again
    /// only if it is not being handled.
    ///
    /// The method returns after the calling task is cancelled. It then cancels the running handlers, waits for them,
    /// and releases the events that wait in the queue.
    ///
    /// - Parameters:
    ///   - topics: `/` stands for every topic.
    ///   - limit: how long an event may be held, including its time in the queue; from 1 ms to 10 minutes.
    ///   - count: how many events are handled at once.
    ///   - onError: called with the error that `handler` threw, and with a ``NotifyError`` when an event could not be
    ///     held or confirmed: `timedOut` when its time ran out in the queue, `refused` with `NotClaimant` when it ran
    ///     out later.
    ///   - handler: handles the event; when it returns, the event is claimed.
    /// - Throws: the errors of a ``Subscription``: `closed`, or `readerTooSlow` with 4096 unread events.
    public func handle(
        eventsAt topics: String..., within limit: Duration, atOnce count: Int = 4,
        onError: @escaping @Sendable (Event, any Error) -> Void = { _, _ in },
        _ handler: @escaping @Sendable (Event) async throws -> Void
    ) async throws(NotifyError) {
        guard count > 0 else { throw NotifyError(.invalidArgument, "At least one event must be handled at once.") }
        let events = try await events(at: topics)
        let handlers = HandlerQueue(client: self, limit: limit, onError: onError, handler: handler)
        do {
            async let holding: Void = handlers.hold(events)
            await handlers.run(atOnce: count)
            try await holding
        } catch {
            await handlers.releaseAll()
            throw error as? NotifyError ?? .cancelled
        }
        await handlers.releaseAll()
    }

    /// Completes or releases a provisional claim, even when the calling task is cancelled.
    package func settle(_ id: EventID, isDone: Bool) async throws(NotifyError) {
        try await uncancelled { () async throws(NotifyError) in
            if isDone { try await self.complete(id) } else { try await self.release(id) }
        }
    }
}

/// The queue between the task that holds events and the tasks that handle them.
private struct HandlerQueue: Sendable {
    private struct HeldEvent: Sendable {
        let event: Event
        let deadline: ContinuousClock.Instant
    }

    let client: NotifyClient
    let limit: Duration
    let onError: @Sendable (Event, any Error) -> Void
    let handler: @Sendable (Event) async throws -> Void
    private let queue = AsyncStream.makeStream(of: HeldEvent.self)
    /// The events that are queued or being handled.
    private let heldIDs = Locked<Set<EventID>>([])

    func hold(_ events: Subscription<Event>) async throws(NotifyError) {
        defer { queue.continuation.finish() }
        for try await event in events {
            // No banner is pending.
            if event.window == nil || event.window == .zero { continue }
            let deadline = ContinuousClock.now + limit
            // Not cancellable: otherwise an event could be held without anyone releasing it.
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
            let isNew = heldIDs.withLock { $0.insert(event.id).inserted }
            if isNew { queue.continuation.yield(HeldEvent(event: event, deadline: deadline)) }
        }
    }

    func run(atOnce count: Int) async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            for await held in queue.stream {
                if running == count {
                    await group.next()
                    running -= 1
                }
                running += 1
                group.addTask { await handle(held) }
            }
        }
    }

    /// Releases the events that are still queued when no handler runs.
    func releaseAll() async {
        for id in heldIDs.withLock({ $0.sorted() }) { try? await client.settle(id, isDone: false) }
    }

    private func handle(_ held: HeldEvent) async {
        let event = held.event
        // `releaseAll` releases this event with the others.
        if Task.isCancelled { return }
        defer { _ = heldIDs.withLock { $0.remove(event.id) } }
        guard held.deadline > .now else {
            try? await client.settle(event.id, isDone: false)
            onError(
                event,
                NotifyError(.timedOut, "Event \(event.id) was not handled in time: its time ran out in the queue."))
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
