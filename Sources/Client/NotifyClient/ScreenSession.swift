import NotifyText

/// Keeps one screen open: renews its lease, and opens it again after a restart of the daemon.
///
/// Changes are applied one after the other, and an operation that has started is never cancelled. So the daemon has the
/// latest options, or is about to get them.
actor ScreenSession {
    private struct Registration {
        let id: UInt64
        /// The id is valid only for this daemon, so calls about it go to its unique name.
        let daemon: String
        let connection: Connection
    }

    nonisolated let topic: String
    private let filter: TopicFilter
    private let connections: ConnectionManager
    private let questions: AsyncThrowingStream<Event, any Error>.Continuation
    /// Read on the loop of the connection.
    private let isAsked = Locked(false)
    private var options: ScreenOptions
    private var registration: Registration?
    private var isListening = false
    private var isClosed = false
    private var lastOperation: Task<Void, Never>?
    private var renewal: Task<Void, Never>?
    private var retry: Task<Void, Never>?
    private var backoff = Backoff(upTo: .seconds(30))
    private var stopWatching: (@Sendable () -> Void)?

    init(
        topic: String, filter: TopicFilter, options: ScreenOptions, connections: ConnectionManager,
        questions: AsyncThrowingStream<Event, any Error>.Continuation
    ) {
        self.topic = topic
        self.filter = filter
        self.connections = connections
        self.questions = questions
        self.options = options
    }

    var id: UInt64? { registration?.id }

    /// A cancelled call leaves no open screen.
    func open() async throws(NotifyError) {
        let opening = enqueue { await $0.begin() }
        guard let result = await opening.valueUnlessCancelled else {
            Task { await close() }
            throw .cancelled
        }
        try result.get()
    }

    func update(_ change: ScreenOptions) async throws(NotifyError) {
        let updating = enqueue { await $0.apply(change) }
        guard let result = await updating.valueUnlessCancelled else { throw .cancelled }
        try result.get()
    }

    func close() async { await enqueue { await $0.finish() }.value }

    private func enqueue<Result: Sendable>(
        _ work: @escaping @Sendable (isolated ScreenSession) async -> Result
    ) -> Task<Result, Never> {
        let previous = lastOperation
        let operation = Task {
            await previous?.value
            return await work(self)
        }
        lastOperation = Task { _ = await operation.value }
        return operation
    }

    // MARK: Operations

    private func begin() async -> Result<Void, NotifyError> {
        do throws(NotifyError) {
            try await watchDaemon()
            try await register()
            return .success(())
        } catch {
            end()
            return .failure(error)
        }
    }

    private func apply(_ change: ScreenOptions) async -> Result<Void, NotifyError> {
        guard !isClosed else { return .failure(NotifyError(.closed, "The screen on \(topic) was closed.")) }
        let former = options
        do throws(NotifyError) {
            let values = try change.values()
            options = options.updated(by: change)
            try await listen()
            guard registration != nil else { return .success(()) }
            try await tell("UpdateScreen", [values])
            keepLease()
            return .success(())
        } catch {
            // The options are kept for the next daemon, or until a daemon that hangs recovers.
            if error.code == .notReachable { return .success(()) }
            if error.code != .timedOut {
                options = former
                isAsked.withLock { $0 = former.asks }
            }
            return .failure(error)
        }
    }

    private func finish() async {
        guard !isClosed else { return }
        let last = registration
        end()
        guard let last else { return }
        // The screen is closed here, whatever the reply is.
        _ = try? await last.connection.call(
            .toRouter("CloseScreen", on: last.daemon, autoStart: false, [.uint64(last.id)]), timeout: .seconds(5))
    }

    /// Opens the screen at the current daemon, unless it is open there.
    private func restore() async {
        guard !isClosed else { return }
        let daemon = connections.daemon
        if let registration, registration.daemon == daemon, registration.connection.isOpen { return }
        registration = nil
        // The bus announces the next daemon.
        guard daemon != nil else { return }
        do throws(NotifyError) {
            try await register()
            backoff.reset()
        } catch {
            let pause = backoff.next()
            retry = Task { [weak self] in
                try? await Task.sleep(for: pause)
                await self?.daemonChanged()
            }
        }
    }

    /// An empty update renews the lease. If it fails, the next one tries again.
    private func renew() async {
        guard registration != nil else { return }
        try? await tell("UpdateScreen", [.variants([:])])
    }

    // MARK: Within an operation

    private func register() async throws(NotifyError) {
        try await listen()
        let connection = try await connections.connection()
        let reply = try await connection.call(.toRouter("OpenScreen", [.string(topic), try options.values()]))
        guard case .uint64(let id)? = reply.arguments.first, let daemon = reply.sender else { throw .strangeReply }
        registration = Registration(id: id, daemon: daemon, connection: connection)
        keepLease()
    }

    /// A screen whose lease has ended is opened again.
    private func tell(_ member: String, _ arguments: [Value]) async throws(NotifyError) {
        guard let registration else { return }
        do {
            _ = try await registration.connection.call(
                .toRouter(
                    member, on: registration.daemon, autoStart: false, [.uint64(registration.id)] + arguments))
        } catch {
            guard error.name == "org.notifyd.Router1.Error.UnknownScreen" else { throw error }
            self.registration = nil
            try await register()
        }
    }

    /// Subscribes before the daemon is called, so that no question is missed.
    private func listen() async throws(NotifyError) {
        if options.asks, !isListening {
            try await connections.attach(questions, [filter]) { [isAsked] event in
                event.window ?? .zero > .zero && isAsked.withLock { $0 }
            }
            isListening = true
        }
        let asks = options.asks
        isAsked.withLock { $0 = asks }
    }

    private func keepLease() {
        renewal?.cancel()
        renewal = nil
        guard let lease = options.lease, lease > .zero else { return }
        renewal = Task { [weak self] in
            while true {
                do { try await Task.sleep(for: max(lease, .seconds(1)) / 3) } catch { return }
                guard let self else { return }
                await self.enqueue { await $0.renew() }.value
            }
        }
    }

    // MARK: - Restarts of the daemon

    private func watchDaemon() async throws(NotifyError) {
        let onChange: @Sendable () -> Void = { [weak self] in Task { await self?.daemonChanged() } }
        let onEnd: @Sendable (NotifyError) -> Void = { [weak self] error in Task { await self?.end(error) } }
        stopWatching = try await connections.subscribe { _ in
            SubscriberTable.Subscriber(rules: [], receive: { if case .daemon = $0 { onChange() } }, end: onEnd)
        }
    }

    private func daemonChanged() { _ = enqueue { await $0.restore() } }

    private func end(_ error: NotifyError? = nil) {
        isClosed = true
        registration = nil
        renewal?.cancel()
        retry?.cancel()
        stopWatching?()
        questions.finish(throwing: error)
    }
}

extension Task where Failure == Never {
    /// The value, or `nil` as soon as the waiting task is cancelled; this task continues.
    fileprivate var valueUnlessCancelled: Success? {
        get async {
            let (values, continuation) = AsyncStream.makeStream(of: Success.self)
            Task<Void, Never> {
                continuation.yield(await value)
                continuation.finish()
            }
            return await values.first { _ in true }
        }
    }
}
