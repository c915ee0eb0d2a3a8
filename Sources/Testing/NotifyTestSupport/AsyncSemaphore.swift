/// A counting semaphore for tasks.
package actor AsyncSemaphore {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    package init(_ places: Int) {
        free = places
    }

    package func withPermit<Result: Sendable>(_ body: @Sendable () async throws -> Result) async rethrows -> Result {
        if free > 0 { free -= 1 } else { await withCheckedContinuation { waiting.append($0) } }
        defer {
            if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
        }
        return try await body()
    }
}
