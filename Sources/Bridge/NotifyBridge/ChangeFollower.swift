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
        private let alarm: AlarmClock
        private var wakes: AsyncStream<Void>.Iterator

        fileprivate init(_ follower: ChangeFollower) {
            daemon = follower.daemon
            limit = follower.limit
            cursor = follower.cursor
            backoff = follower.backoff
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            wakes = stream.makeAsyncIterator()
            alarm = AlarmClock(follower.daemon.connection.loop) { continuation.yield() }
            observation = follower.daemon.observe { if case .appeared = $0 { continuation.yield() } }
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
                        alarm.ring(after: backoff.next())
                        break
                    }
                    backoff.reset()
                    cursor = last.number
                    return rows
                case .refusedForNow: alarm.ring(after: backoff.next())
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

/// Calls an action after a while, unless it is set again before.
private final class AlarmClock: Sendable {
    private let loop: WorkLoop
    private let action: @Sendable () -> Void
    private let waiting = Locked<WorkTimer?>(nil)

    init(_ loop: WorkLoop, _ action: @escaping @Sendable () -> Void) {
        self.loop = loop
        self.action = action
    }

    deinit { waiting.withLock { $0 }?.cancel() }

    func ring(after time: Duration) {
        let timer = loop.perform(after: time, action)
        let before = waiting.withLock { waiting in
            defer { waiting = timer }
            return waiting
        }
        before?.cancel()
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
