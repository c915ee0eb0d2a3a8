import Logging
import NotifyBridge
import NotifyClient

/// Messages on disk that notifyd did not take, because it was away or full. Distributors deliver once, and most do not deliver again
/// when they are refused.
final class PushSpool: Sendable {
    private struct State {
        /// The keys of records, the oldest first.
        var keys: [String] = []
        var last: UInt64 = 0
    }

    private let services: BridgeServices
    private let state: Locked<State>
    private let wakeups: AsyncStream<Void>
    private let wakeup: AsyncStream<Void>.Continuation

    /// With 4 KiB each, 4 MiB.
    private static let maximumCount = 1000
    private static let prefix = "spool/"

    init(_ services: BridgeServices) async throws(StoreError) {
        self.services = services
        let keys = try await services.store.all(prefix: Self.prefix).map(\.key)
        let last = keys.last.flatMap { UInt64($0.dropFirst(Self.prefix.count)) } ?? 0
        state = Locked(State(keys: keys, last: last))
        (wakeups, wakeup) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        show()
        if !keys.isEmpty { wakeup.yield() }
    }

    var isEmpty: Bool { state.withLock { $0.keys.isEmpty } }

    /// Keeps a message.
    ///
    /// - Returns: whether it is on disk; `false` if there is no room.
    func add(_ push: DeliveredPush) async -> Bool {
        let key: String? = state.withLock { state in
            guard state.keys.count < Self.maximumCount else { return nil }
            state.last += 1
            let digits = String(state.last)
            let key = Self.prefix + String(repeating: "0", count: max(0, 20 - digits.utf8.count)) + digits
            state.keys.append(key)
            return key
        }
        guard let key else { return false }
        do throws(StoreError) {
            try await services.store.write([.put(key, push.record)])
        } catch {
            services.logger.error("A message cannot be kept", metadata: ["error": "\(error)"])
            state.withLock { $0.keys.removeAll { $0 == key } }
            return false
        }
        show()
        wakeup.yield()
        return true
    }

    /// Tries again now.
    func retry() { wakeup.yield() }

    /// Publishes what is there and what comes, until the task is cancelled.
    ///
    /// - Parameter publish: returns whether it is done with the message.
    func empty(_ publish: @Sendable (DeliveredPush) async -> Bool) async {
        var backoff = Backoff(upTo: .seconds(30))
        var alarm: WorkTimer?
        for await _ in wakeups {
            alarm?.cancel()
            while let key = state.withLock({ $0.keys.first }), !Task.isCancelled {
                guard let record = try? await services.store.value(key), let push = DeliveredPush(record: record) else {
                    await remove(key)
                    continue
                }
                guard await publish(push) else {
                    let pause = backoff.next() + .milliseconds(100)
                    alarm = services.loop.perform(after: pause) { [wakeup] in wakeup.yield() }
                    break
                }
                backoff.reset()
                await remove(key)
            }
        }
        alarm?.cancel()
    }

    private func remove(_ key: String) async {
        state.withLock { $0.keys.removeAll { $0 == key } }
        // A record that stays is published once more, which notifyd knows.
        try? await services.store.write([.remove(key)])
        show()
    }

    private func show() { services.status.setBacklog(UInt64(state.withLock { $0.keys.count })) }
}
