import Logging
import NotifyBridge
import NotifyClient

/// Messages on disk that notifyd did not take, because it was away or full. Distributors deliver once, and most do not
/// deliver again when they are refused.
final class PushQueue: Sendable {
    private struct State {
        /// How many are being written.
        var incoming = 0
        var last: UInt64
    }

    private let services: BridgeServices
    /// The keys of records that are on disk.
    private let keys: RetryQueue<String>
    private let state: Locked<State>

    /// With 4 KiB each, 4 MiB.
    private static let maximumCount = 1000
    private static let prefix = "spool/"

    init(_ services: BridgeServices) async throws(StoreError) {
        self.services = services
        keys = RetryQueue(services.daemon, upTo: .seconds(30))
        var last: UInt64 = 0
        for key in try await services.store.all(prefix: Self.prefix).map(\.key) {
            last = UInt64(key.dropFirst(Self.prefix.count)) ?? last
            keys.insert(key, last)
        }
        state = Locked(State(last: last))
        updateBacklog()
    }

    var isEmpty: Bool { keys.isEmpty && state.withLock { $0.incoming == 0 } }

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
            guard keys.count + state.incoming < Self.maximumCount else { return false }
            state.incoming += 1
            return true
        }
        guard hasRoom else { return false }
        defer { state.withLock { $0.incoming -= 1 } }
        do throws(StoreError) {
            try await services.store.write([.put(key, push.record)])
        } catch {
            services.logger.error("A message cannot be kept", metadata: ["error": "\(error)"])
            return false
        }
        keys.insert(key, number)
        updateBacklog()
        return true
    }

    /// Publishes what is there and what comes, until the task is cancelled.
    ///
    /// - Parameter publish: returns whether it is done with the message.
    func run(_ publish: @Sendable (DeliveredPush) async -> Bool) async {
        await keys.run { key, number in
            guard await handle(key, publish) else { return }
            keys.remove(number)
            // A record that stays is published once more, which notifyd knows.
            try? await services.store.write([.remove(key)])
            updateBacklog()
        }
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

    private func updateBacklog() { services.status.setBacklog(UInt64(keys.count)) }
}
