internal import NotifyText

/// Keeps one connection to the bus, reconnects when it is lost, and restores the match rules of the subscriptions.
///
/// While there are subscriptions it reconnects in the background, with pauses that grow up to 10 s. A call that is made
/// meanwhile tries to connect at once, and fails if there is still no bus.
actor ConnectionManager {
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
    /// Subscriptions whose rules are being added. If such a subscription ends, `subscribe` removes its rules
    /// afterwards.
    private var beginning: Set<UInt64> = []

    init(address: String) { self.address = address }

    deinit {
        if case .connected(let connection) = state { connection.close() }
        reconnecting?.cancel()
    }

    /// The connection; opens one if there is none.
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

    /// Adds a subscriber and returns when the bus has acknowledged its rules: signals sent after that are received.
    ///
    /// - Returns: a closure that ends the subscription; `makeSubscriber` gets the same one.
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
            // Otherwise the connection has been lost already.
            guard case .connected(let current) = state, current === connection else { continue }
            // Before the rules are added, so that no signal after the reply of the bus is missed. From here on a new
            // connection gets these rules too.
            table.add(subscriber, id: id)
            beginning.insert(id)
            defer { beginning.remove(id) }
            do throws(NotifyError) {
                try await add(subscriber.rules, to: connection)
            } catch {
                table.remove(id)
                throw error
            }
            if !table.contains(id) { remove(subscriber.rules) }
            return end
        }
    }

    /// Adds the rules of a subscriber in the table to a connection. If that is lost, the next connection adds them.
    private func add(_ rules: [MatchRule], to connection: Connection) async throws(NotifyError) {
        var added: [MatchRule] = []
        do {
            for rule in rules {
                try await connection.addMatch(rule)
                added.append(rule)
            }
        } catch {
            // The bus refused a rule. Only the rules added here are removed: others may belong to another subscriber.
            guard !connection.isOpen else {
                for rule in added { connection.removeMatch(rule) }
                throw error
            }
            forget(connection)
            _ = try await self.connection()
        }
    }

    private func unsubscribe(_ id: UInt64) {
        guard let subscriber = table.remove(id), !beginning.contains(id) else { return }
        remove(subscriber.rules)
    }

    private func remove(_ rules: [MatchRule]) {
        guard case .connected(let connection) = state else { return }
        for rule in rules { connection.removeMatch(rule) }
    }

    // MARK: - Connecting

    private func connect() async -> Result<Connection, NotifyError> {
        let result = await attempt()
        if case .closed = state {
            if case .success(let connection) = result { connection.close() }
            return .failure(.clientClosed)
        }
        guard case .success(let connection) = result else {
            state = .idle
            return result
        }
        state = connection.isOpen ? .connected(connection) : .idle
        guard connection.isOpen else { return .failure(.lost) }
        reconnecting?.cancel()
        reconnecting = nil
        return result
    }

    private func attempt() async -> Result<Connection, NotifyError> {
        do throws(NotifyError) {
            let connection = try await Connection.open(
                address,
                isOwner: { [table] connection, name in name != Router.name || connection == table.daemon },
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

    /// The reply is handled on the connection's loop, in order with the signals about the owner of the name.
    private func learnDaemon(_ connection: Connection) async {
        await withCheckedContinuation { continuation in
            connection.call(.toBus("GetNameOwner", [.string(Router.name)])) { [table] answer in
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
            var backoff = Backoff(from: .milliseconds(50), upTo: .seconds(10))
            while !Task.isCancelled {
                try? await Task.sleep(for: backoff.next())
                guard let self, !Task.isCancelled else { return }
                if (try? await self.connection()) != nil { return }
            }
        }
    }
}
