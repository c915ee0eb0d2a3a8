import NotifyClient

/// Calls an action at a fixed rate, however long what it begins may take.
///
/// - Parameter loop: where the action runs. What it sends on a connection of this loop leaves without a change of
///   threads, as in a program with one thread.
func pace(
    _ rate: Double, for time: Duration, on loop: WorkLoop, _ action: @escaping @Sendable (_ number: Int) -> Void
) async {
    let start = ContinuousClock.now
    await loop.task {
        var number = 0
        while start.duration(to: .now) < time {
            number += 1
            action(number)
            let next = start + .seconds(Double(number) / rate)
            await loop.sleep(for: ContinuousClock.now.duration(to: next))
        }
    }.value
}

/// Polls a condition that no signal announces.
func waits(within limit: Duration, _ isTrue: () async throws -> Bool) async throws -> Bool {
    let deadline = ContinuousClock.now + limit
    while try await !isTrue() {
        guard ContinuousClock.now < deadline else { return false }
        try await Task.sleep(for: .milliseconds(5))
    }
    return true
}
