public import NotifyClient

/// Everything that notifyd commits, from a number on, in pages: iterate over it once, in one task.
///
///     for try await rows in daemon.changes(after: cursor) {
///         for row in rows { try await passOn(row) }
///         try await store.write([.put("cursor", rows.last!.number)])
///     }
///
/// It begins again after the last row it has returned, so a bridge keeps the number of the row that it is done with.
/// notifyd answers when there is something new, and nothing is asked meanwhile. While notifyd is away, or cannot read
/// its journal, it waits. It ends when the task is cancelled, and throws what notifyd refuses for ever.
public struct ChangeFollower: AsyncSequence, Sendable {
    public typealias Element = [JournalChange]
    /// What notifyd refuses for ever.
    public typealias Failure = NotifyError

    let daemon: DaemonLink
    let cursor: UInt64
    let limit: UInt32
    let backoff: Backoff

    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Reads the pages; for one task.
    public struct Iterator: AsyncIteratorProtocol {
        private let daemon: DaemonLink
        private let limit: UInt32
        private var cursor: UInt64
        private var backoff: Backoff
        private let observation: DaemonObservation
        private let wakeups: Wakeups
        private var wakes: AsyncStream<Void>.Iterator

        fileprivate init(_ follower: ChangeFollower) {
            daemon = follower.daemon
            limit = follower.limit
            cursor = follower.cursor
            backoff = follower.backoff
            wakeups = Wakeups(follower.daemon.connection.loop)
            wakes = wakeups.makeAsyncIterator()
            observation = follower.daemon.observe { [wakeups] in if case .appeared = $0 { wakeups.wake() } }
        }

        /// The next page; `nil` when the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(NotifyError) -> [JournalChange]?
        {
            while !Task.isCancelled {
                let answer = await daemon.perform(.awaitChanges(after: cursor, limit: limit))
                switch answer {
                case .done:
                    guard let rows = answer.changes?.rows, let last = rows.last else {
                        // Another program has notifyd's name, for now.
                        wakeups.wake(after: backoff.next())
                        break
                    }
                    backoff.reset()
                    cursor = last.number
                    return rows
                case .refusedForNow: wakeups.wake(after: backoff.next())
                case .refused(let error): throw error
                }
                guard await wakes.next(isolation: actor) != nil else { return nil }
            }
            return nil
        }

        /// The next page; `nil` when the task is cancelled.
        public mutating func next() async throws(NotifyError) -> [JournalChange]? { try await next(isolation: nil) }
    }
}

extension DaemonLink {
    /// What notifyd commits after a number.
    ///
    /// - Parameters:
    ///   - number: of the last row that is dealt with; 0: everything that is kept.
    ///   - limit: rows of a page, at most 1,000.
    public func changes(after number: UInt64, limit: UInt32 = 1000) -> ChangeFollower {
        ChangeFollower(daemon: self, cursor: number, limit: limit, backoff: Backoff())
    }
}

/// Wakes the one task that iterates over it: at once, or after a while. What happens while it is awake wakes it once
/// more.
package final class Wakeups: AsyncSequence, Sendable {
    private let loop: WorkLoop
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let alarm = Locked<WorkTimer?>(nil)

    package init(_ loop: WorkLoop) {
        self.loop = loop
        (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    deinit { setAlarm(nil) }

    package func wake() { continuation.yield() }

    /// Wakes the task after a while, unless this is called again before.
    package func wake(after pause: Duration) {
        setAlarm(loop.perform(after: pause) { [continuation] in continuation.yield() })
    }

    package func cancelAlarm() { setAlarm(nil) }

    private func setAlarm(_ timer: WorkTimer?) {
        let before = alarm.withLock { alarm in
            defer { alarm = timer }
            return alarm
        }
        before?.cancel()
    }

    package func makeAsyncIterator() -> AsyncStream<Void>.Iterator { stream.makeAsyncIterator() }
}

extension WorkLoop {
    /// Waits until something is done, for at most two seconds, also in a task that is cancelled.
    func wait(isolation: isolated (any Actor)? = #isolation, while isBusy: () -> Bool) async {
        let deadline = ContinuousClock.now + .seconds(2)
        while isBusy(), ContinuousClock.now < deadline {
            // A task that is cancelled would not sleep.
            await task { [self] in await sleep(for: .milliseconds(5)) }.value
        }
    }
}

/// Makes attempts, with pauses between them, until one has a result.
///
///     let connection = try await retrying { try? await Server.connect(settings) }
///
/// - Parameters:
///   - backoff: the pauses.
///   - clock: for tests, a clock in virtual time.
///   - isolation: the actor of the caller; leave it out.
///   - attempt: returns `nil` if a later attempt may succeed; what it throws ends the attempts.
/// - Throws: the error of `attempt`, or `CancellationError`.
public func retrying<Result>(
    _ backoff: Backoff = Backoff(), on clock: any Clock<Duration> = ContinuousClock(),
    isolation: isolated (any Actor)? = #isolation, _ attempt: () async throws -> Result?
) async throws -> Result {
    var backoff = backoff
    while true {
        if let result = try await attempt() { return result }
        try await clock.sleep(for: backoff.next())
    }
}
