import ChildProcesses
package import NotifyRehearsal

/// Polls a condition that no signal announces. If it does not become true in time, the error has its description and the log of
/// the daemon.
package func waitUntil(
    _ fact: String, within limit: Duration, _ daemon: DaemonProcess, _ isTrue: () async throws -> Bool
) async throws {
    guard try await becomesTrue(within: limit, isTrue) else {
        throw RehearsalError("It did not come true that \(fact). The daemon: \(daemon.log)")
    }
}

/// Polls a condition until it is true or the time is up, which is `limit` times ``Timeouts/factor``.
func becomesTrue(within limit: Duration, _ isTrue: () async throws -> Bool) async throws -> Bool {
    let deadline = ContinuousClock.now + limit * Timeouts.factor
    while try await !isTrue() {
        guard ContinuousClock.now < deadline else { return false }
        try await Task.sleep(for: .milliseconds(10))
    }
    return true
}
