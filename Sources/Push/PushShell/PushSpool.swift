import Logging
import NotifyBridge
import NotifyClient

/// Messages on disk that notifyd did not take, because it was away or full. Distributors deliver once, and most do not
/// deliver again when they are refused.
final class PushSpool: Sendable {
    private struct State {
        /// The keys of records that are on disk, the oldest first.
        var keys: [String] = []
        /// How many are being written.
        var incoming = 0
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

    var isEmpty: Bool { state.withLock { $0.keys.isEmpty && $0.incoming == 0 } }

    /// The place of a message that arrives now, should it have to wait.
    func nextNumber() -> UInt64 {
        state.withLock { state in
            state.last += 1
            return state.last
        }
    }

    /// Keeps a message.
    ///
    /// - Parameters:
    ///   - push: the message.
    ///   - number: when it has arrived. notifyd may refuse two messages in another order.
    /// - Returns: whether it is on disk; `false` if there is no room.
    func add(_ push: DeliveredPush, _ number: UInt64) async -> Bool {
        let digits = String(number)
        let key = Self.prefix + String(repeating: "0", count: max(0, 20 - digits.utf8.count)) + digits
        let hasRoom = state.withLock { state in
            guard state.keys.count + state.incoming < Self.maximumCount else { return false }
            state.incoming += 1
            return true
        }
        guard hasRoom else { return false }
        do throws(StoreError) {
            try await services.store.write([.put(key, push.record)])
        } catch {
            services.logger.error("A message cannot be kept", metadata: ["error": "\(error)"])
            state.withLock { $0.incoming -= 1 }
            return false
        }
        state.withLock { state in
            state.incoming -= 1
            state.keys.insert(key, at: state.keys.firstIndex { $0 > key } ?? state.keys.count)
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
                guard await handle(key, publish) else {
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

    /// - Returns: whether it is done with the message.
    private func handle(_ key: String, _ publish: @Sendable (DeliveredPush) async -> Bool) async -> Bool {
        do throws(StoreError) {
            guard let record = try await services.store.value(key), let push = DeliveredPush(record: record) else {
                services.logger.error("A message that was kept cannot be read", metadata: ["record": "\(key)"])
                return true
            }
            return await publish(push)
        } catch {
            services.logger.error("A message that was kept cannot be read", metadata: ["error": "\(error)"])
            return false
        }
    }

    private func remove(_ key: String) async {
        state.withLock { $0.keys.removeAll { $0 == key } }
        // A record that stays is published once more, which notifyd knows.
        try? await services.store.write([.remove(key)])
        show()
    }

    private func show() { services.status.setBacklog(UInt64(state.withLock { $0.keys.count })) }
}
