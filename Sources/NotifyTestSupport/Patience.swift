package import NotifyRehearsal

/// Asks again and again, for what nobody announces. What does not become true in time is an error, which says what it was and
/// what the daemon has logged.
package func waitUntil(
    _ fact: String, within limit: Duration, _ daemon: DaemonProcess, _ isTrue: () async throws -> Bool
) async throws {
    guard try await comesTrue(within: limit, isTrue) else {
        throw RehearsalError("It did not come true that \(fact). The daemon: \(daemon.log)")
    }
}

/// Asks again and again until the answer is yes, or time is up, which is `limit` with all ``Slack``.
func comesTrue(within limit: Duration, _ isTrue: () async throws -> Bool) async throws -> Bool {
    let deadline = ContinuousClock.now + limit * Slack.factor
    while try await !isTrue() {
        guard ContinuousClock.now < deadline else { return false }
        try await Task.sleep(for: .milliseconds(10))
    }
    return true
}
