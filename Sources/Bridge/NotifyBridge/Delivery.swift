public import NotifyClient

/// What has become of a message that was meant for notifyd.
public enum DeliveryResult: Sendable {
    /// notifyd has it on disk.
    case delivered
    /// notifyd never takes it. Its dead letter is on disk, or was given up and counted.
    case deadLettered
    /// notifyd is away or full; the same call may succeed later.
    case refusedForNow(NotifyError)
}

extension BridgeServices {
    /// Delivers a message to notifyd. When it returns, the message is dealt with, unless notifyd refuses it for now:
    /// only then may the other side be told that it has arrived.
    ///
    /// - Parameters:
    ///   - call: what notifyd is asked for. With a `source` and an `event-id`, it may be repeated.
    ///   - letter: what is kept of the message if notifyd never takes it. Its reason is that of notifyd.
    /// - Throws: `CancellationError` if the task was cancelled while the disk did not take the dead letter.
    public func deliver(_ call: DaemonCall, orKeep letter: DeadLetter) async throws(CancellationError) -> DeliveryResult
    {
        switch await daemon.perform(call) {
        case .done: return .delivered
        case .refusedForNow(let error): return .refusedForNow(error)
        case .refused(let error):
            try await deadLetters.keep(letter.because(error))
            return .deadLettered
        }
    }

    /// Reads the number of the last row of the journal that a bridge has dealt with. Before its first start there is
    /// none: then it is the newest row of all, and on disk, because what is past is not told to the other side.
    ///
    /// - Parameter key: of the record.
    public func cursor(_ key: String) async throws -> UInt64 { try await cursor(key, mayBeUnwritten: false) }

    /// - Parameter mayBeUnwritten: whether not to wait for a disk that takes nothing.
    package func cursor(_ key: String, mayBeUnwritten: Bool) async throws -> UInt64 {
        if let number = try await store.number(key) { return number }
        let newest = try await retrying(Backoff(upTo: .seconds(10))) { [daemon] in try? await daemon.newestChange() }
        return try await retrying { [store] () async throws -> UInt64? in
            do throws(StoreError) {
                try await store.write([.put(key, newest)])
                return newest
            } catch {
                // The status says that the disk takes nothing.
                if error.isDamage { throw error }
                return mayBeUnwritten ? newest : nil
            }
        }
    }
}

extension DeadLetter {
    /// The same letter with the reason of notifyd.
    package func because(_ error: NotifyError) -> DeadLetter {
        var letter = self
        letter.reason = "\(error)"
        return letter
    }
}

/// Messages that notifyd refuses for now. They are tried again one by one, the oldest first, after a pause that grows
/// with each refusal, and as soon as notifyd appears.
package final class RetryQueue<Item: Sendable>: Sendable {
    private let longestPause: Duration
    private let items = Locked<[(number: UInt64, item: Item)]>([])
    private let wakeups: Wakeups
    private let observation: DaemonObservation

    /// - Parameter longestPause: between two attempts.
    package init(_ daemon: DaemonLink, upTo longestPause: Duration) {
        self.longestPause = longestPause
        wakeups = Wakeups(daemon.connection.loop)
        observation = daemon.observe { [wakeups] in if case .appeared = $0 { wakeups.wake() } }
    }

    package var count: Int { items.withLock { $0.count } }
    package var isEmpty: Bool { items.withLock { $0.isEmpty } }

    package func contains(where isMeant: (Item) -> Bool) -> Bool {
        items.withLock { $0.contains { isMeant($0.item) } }
    }

    /// Queues a message.
    ///
    /// - Parameter number: its place: notifyd may refuse two messages in another order.
    package func insert(_ item: Item, _ number: UInt64) {
        let isOnly = items.withLock { items in
            items.insert((number, item), at: items.firstIndex { $0.number > number } ?? items.endIndex)
            return items.count == 1
        }
        // What others wait for is tried again in its time.
        if isOnly { wakeups.wake() }
    }

    /// Removes a message that is dealt with.
    package func remove(_ number: UInt64) { items.withLock { $0.removeAll { $0.number == number } } }

    /// Delivers what is queued, until the task is cancelled. For one task.
    ///
    /// - Parameter deliver: removes the message when it is dealt with; otherwise it is tried again.
    package func run(_ deliver: @Sendable (Item, _ number: UInt64) async -> Void) async {
        var backoff = Backoff(upTo: longestPause)
        for await _ in wakeups {
            wakeups.cancelAlarm()
            while let (number, item) = items.withLock({ $0.first }), !Task.isCancelled {
                await deliver(item, number)
                guard items.withLock({ $0.first?.number == number }) else {
                    backoff.reset()
                    continue
                }
                wakeups.wake(after: backoff.next() + .milliseconds(100))
                break
            }
        }
        wakeups.cancelAlarm()
    }
}

/// The newest of many things. An `OrderedSet` of swift-collections would move all others for each that is forgotten.
package struct RecentSet<Element: Hashable> {
    private let capacity: Int
    private var known: Set<Element> = []
    /// A ring in the order in which they came.
    private var order: [Element] = []
    private var oldest = 0

    package init(capacity: Int) { self.capacity = capacity }

    package func contains(_ element: Element) -> Bool { known.contains(element) }

    /// Adds something. If there is too much, the oldest is forgotten.
    ///
    /// - Returns: whether it was not there.
    @discardableResult
    package mutating func insert(_ element: Element) -> Bool {
        guard known.insert(element).inserted else { return false }
        guard order.count == capacity else {
            order.append(element)
            return true
        }
        known.remove(order[oldest])
        order[oldest] = element
        oldest = (oldest + 1) % capacity
        return true
    }
}
