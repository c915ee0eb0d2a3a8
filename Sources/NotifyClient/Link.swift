/// Keeps one connection to the bus, makes it anew when it is lost, and puts the subscriptions back on it.
///
/// While anybody is subscribed a lost connection is rebuilt in the background, with growing pauses (50 ms to 10 s). A
/// call made meanwhile tries at once, and fails when there is still no bus.
actor Link {
    private enum State {
        case idle
        case connecting(Task<Result<Connection, NotifyError>, Never>)
        case connected(Connection)
        case closed
    }

    private let address: String
    private let table = SubscriberTable()
    private var state = State.idle
    private var reconnecting: Task<Void, Never>?
    private var lastID: UInt64 = 0

    init(address: String) { self.address = address }

    deinit {
        if case .connected(let connection) = state { connection.close() }
        reconnecting?.cancel()
    }

    /// The connection, made if there is none.
    func connection() async throws(NotifyError) -> Connection {
        switch state {
        case .connected(let connection): return connection
        case .closed: throw .clientClosed
        case .connecting(let attempt): return try await attempt.value.get()
        case .idle:
            let attempt = Task { await self.connect() }
            state = .connecting(attempt)
            return try await attempt.value.get()
        }
    }

    /// The unique name of the daemon, while it is on the bus.
    nonisolated var daemon: String? { table.daemon }

    func close() {
        if case .connected(let connection) = state { connection.close() }
        state = .closed
        reconnecting?.cancel()
        for subscriber in table.removeAll() { subscriber.end(.clientClosed) }
    }

    /// Returns when the bus has acknowledged the rules, so that whatever is announced from then on is heard.
    ///
    /// - Returns: what ends the subscription, which `makeSubscriber` is given as well.
    @discardableResult
    func subscribe(
        _ makeSubscriber: @Sendable (_ onEnd: @escaping @Sendable () -> Void) -> SubscriberTable.Subscriber
    ) async throws(NotifyError) -> @Sendable () -> Void {
        lastID += 1
        let id = lastID
        let end: @Sendable () -> Void = { [weak self] in
            Task { await self?.unsubscribe(id) }
        }
        let subscriber = makeSubscriber(end)
        while true {
            let connection = try await connection()
            table.add(subscriber, id: id)
            do {
                for rule in subscriber.rules { try await connection.addMatch(rule) }
            } catch {
                table.remove(id)
                // Lost on the way: once more, on a new connection. An answer of the bus is final.
                guard !connection.isOpen else {
                    for rule in subscriber.rules { connection.removeMatch(rule) }
                    throw error
                }
                forget(connection)
                continue
            }
            // Otherwise the rules are on a connection that is gone.
            guard case .connected(let current) = state, current === connection else {
                table.remove(id)
                continue
            }
            table.settle(id)
            return end
        }
    }

    private func unsubscribe(_ id: UInt64) {
        guard let subscriber = table.remove(id), case .connected(let connection) = state else { return }
        for rule in subscriber.rules { connection.removeMatch(rule) }
    }

    // MARK: - Connecting

    private func connect() async -> Result<Connection, NotifyError> {
        let result = await attempt()
        if case .closed = state {
            if case .success(let connection) = result { connection.close() }
            return .failure(.clientClosed)
        }
        switch result {
        case .success(let connection) where connection.isOpen:
            state = .connected(connection)
            reconnecting?.cancel()
            reconnecting = nil
            return result
        case .success:
            state = .idle
            return .failure(.lost)
        case .failure:
            state = .idle
            return result
        }
    }

    private func attempt() async -> Result<Connection, NotifyError> {
        do throws(NotifyError) {
            let connection = try await Connection.open(
                address,
                onSignal: { [table] in table.receive($0) },
                onClose: { [weak self] in Task { await self?.noticeLoss() } })
            do throws(NotifyError) {
                try await connection.addMatch(.ownerChanged(of: Router.name))
                await learnDaemon(connection)
                for rule in table.rules { try await connection.addMatch(rule) }
            } catch {
                connection.close()
                throw error
            }
            return .success(connection)
        } catch {
            return .failure(error)
        }
    }

    /// The answer is noted on the connection's queue, in its place among the changes of ownership.
    private func learnDaemon(_ connection: Connection) async {
        await withCheckedContinuation { continuation in
            let question = Message.call(
                "GetNameOwner", of: Bus.interface, at: Bus.path, on: Bus.name, [.string(Router.name)])
            connection.call(question) { [table] answer in
                table.setDaemon((try? answer.get())?.arguments.first?.string)
                continuation.resume()
            }
        }
    }

    private func noticeLoss() {
        guard case .connected(let connection) = state, !connection.isOpen else { return }
        forget(connection)
        reconnectIfNeeded()
    }

    private func forget(_ connection: Connection) {
        if case .connected(let current) = state, current === connection { state = .idle }
    }

    private func reconnectIfNeeded() {
        guard reconnecting == nil, !table.isEmpty else { return }
        reconnecting = Task { [weak self] in
            var pause = Duration.milliseconds(50)
            while !Task.isCancelled {
                // With some chance in it, so that not all clients of a restarted bus come at once.
                try? await Task.sleep(for: pause * Double.random(in: 0.7...1.3))
                guard let self, !Task.isCancelled else { return }
                if (try? await self.connection()) != nil { return }
                pause = min(pause * 2, .seconds(10))
            }
        }
    }
}

extension NotifyError {
    static let clientClosed = NotifyError(.closed, "The client was closed.")
}
