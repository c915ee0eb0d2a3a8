/// Keeps one screen open at the daemon: renews its lease, and opens it again for the next daemon.
///
/// Whatever changes the screen waits for its turn, and a turn is never cancelled: so nothing is left half done, and what
/// the daemon knows is always the last wish or about to become it.
actor ScreenKeeper {
    private struct Registration {
        let id: UInt64
        /// The number means nothing to another daemon, so what is said about it is said to this one.
        let daemon: String
        let connection: Connection
    }

    nonisolated let topic: String
    private let filter: TopicFilter
    private let link: Link
    private let questions: AsyncThrowingStream<Event, any Error>.Continuation
    /// Read on the queue of the connection.
    private let isAsked = Guarded(false)
    private var wish: ScreenOptions
    private var registration: Registration?
    private var isListening = false
    private var isClosed = false
    private var lastTurn: Task<Void, Never>?
    private var renewal: Task<Void, Never>?
    private var retry: Task<Void, Never>?
    private var pause = Duration.seconds(1)
    private var stopWatching: (@Sendable () -> Void)?

    init(
        topic: String, filter: TopicFilter, options: ScreenOptions, link: Link,
        questions: AsyncThrowingStream<Event, any Error>.Continuation
    ) {
        self.topic = topic
        self.filter = filter
        self.link = link
        self.questions = questions
        wish = options
    }

    var id: UInt64? { registration?.id }

    /// A call that is cancelled leaves no screen behind.
    func open() async throws(NotifyError) {
        let opening = inTurn { await $0.begin() }
        guard let result = await opening.valueUnlessCancelled else {
            Task { await close() }
            throw .cancelled
        }
        try result.get()
    }

    func update(_ change: ScreenOptions) async throws(NotifyError) {
        let updating = inTurn { await $0.apply(change) }
        guard let result = await updating.valueUnlessCancelled else { throw .cancelled }
        try result.get()
    }

    func close() async {
        await inTurn { await $0.finish() }.value
    }

    private func inTurn<Result: Sendable>(
        _ work: @escaping @Sendable (isolated ScreenKeeper) async -> Result
    ) -> Task<Result, Never> {
        let previous = lastTurn
        let turn = Task {
            await previous?.value
            return await work(self)
        }
        lastTurn = Task { _ = await turn.value }
        return turn
    }

    // MARK: Turns

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
        let former = wish
        do throws(NotifyError) {
            let values = try change.values()
            wish = wish.updated(by: change)
            try await listen()
            guard registration != nil else { return .success(()) }
            try await tell("UpdateScreen", [values])
            keepLease()
            return .success(())
        } catch {
            // Kept for the daemon's return, or for when a daemon that hangs comes to itself.
            if error.code == .notReachable { return .success(()) }
            if error.code != .timedOut {
                wish = former
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
        // Whatever the answer is: it is no screen of ours any more.
        _ = try? await last.connection.call(
            .call(
                "CloseScreen", of: Router.interface, at: Router.path, on: last.daemon, autoStart: false,
                [.uint64(last.id)]),
            timeout: .seconds(5))
    }

    /// Opens the screen for the daemon that is there now, unless it knows it.
    private func restore() async {
        guard !isClosed else { return }
        let daemon = link.daemon
        if let registration, registration.daemon == daemon, registration.connection.isOpen { return }
        registration = nil
        // The coming of the next one will be announced.
        guard daemon != nil else { return }
        do throws(NotifyError) {
            try await register()
            pause = .seconds(1)
        } catch {
            retry = Task { [weak self, pause] in
                try? await Task.sleep(for: pause)
                await self?.daemonChanged()
            }
            pause = min(pause * 2, .seconds(30))
        }
    }

    /// An empty update is a sign of life. What goes wrong with it is tried again with the next one.
    private func renew() async {
        guard registration != nil else { return }
        try? await tell("UpdateScreen", [.variants([:])])
    }

    // MARK: In a turn

    private func register() async throws(NotifyError) {
        try await listen()
        let connection = try await link.connection()
        let reply = try await connection.call(
            .call(
                "OpenScreen", of: Router.interface, at: Router.path, on: Router.name,
                [.string(topic), try wish.values()]))
        guard case .uint64(let id)? = reply.arguments.first, let daemon = reply.sender else { throw .strangeReply }
        registration = Registration(id: id, daemon: daemon, connection: connection)
        keepLease()
    }

    /// A screen whose lease has ended is opened again.
    private func tell(_ member: String, _ arguments: [Value]) async throws(NotifyError) {
        guard let registration else { return }
        do {
            _ = try await registration.connection.call(
                .call(
                    member, of: Router.interface, at: Router.path, on: registration.daemon, autoStart: false,
                    [.uint64(registration.id)] + arguments))
        } catch {
            guard error.name == "org.notifyd.Router1.Error.UnknownScreen" else { throw error }
            self.registration = nil
            try await register()
        }
    }

    /// Before the daemon is told: no question is missed.
    private func listen() async throws(NotifyError) {
        if wish.asks, !isListening {
            try await link.attach(questions, to: "Event", [filter], topic: \.topic) { [isAsked] announcement in
                guard case .event(let event) = announcement, let window = event.window, window > .zero else {
                    return nil
                }
                return isAsked.withLock { $0 } ? event : nil
            }
            isListening = true
        }
        let asks = wish.asks
        isAsked.withLock { $0 = asks }
    }

    private func keepLease() {
        renewal?.cancel()
        renewal = nil
        guard let lease = wish.lease, lease > .zero else { return }
        renewal = Task { [weak self] in
            while true {
                do { try await Task.sleep(for: max(lease, .seconds(1)) / 3) } catch { return }
                guard let self else { return }
                await self.inTurn { await $0.renew() }.value
            }
        }
    }

    // MARK: - The daemon's comings and goings

    private func watchDaemon() async throws(NotifyError) {
        let onChange: @Sendable () -> Void = { [weak self] in Task { await self?.daemonChanged() } }
        let onEnd: @Sendable (NotifyError) -> Void = { [weak self] error in Task { await self?.end(error) } }
        stopWatching = try await link.subscribe { _ in
            SubscriberTable.Subscriber(
                rules: [],
                hear: { announcement in
                    if case .daemon = announcement { onChange() }
                },
                end: onEnd)
        }
    }

    private func daemonChanged() {
        _ = inTurn { await $0.restore() }
    }

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
    /// `nil` as soon as the task that waits is cancelled; this one goes on.
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
