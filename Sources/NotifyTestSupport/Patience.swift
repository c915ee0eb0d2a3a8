package import NotifyRehearsal

/// Asks again and again, for what nobody announces. What does not become true in time is an error, which says what it was and
/// what the daemon has logged.
package func waitUntil(
    _ fact: String, within limit: Duration, _ daemon: DaemonProcess, _ isTrue: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit * Slack.factor
    while try await !isTrue() {
        guard ContinuousClock.now < deadline else {
            throw RehearsalError("It did not come true that \(fact). The daemon: \(daemon.log)")
        }
        try await Task.sleep(for: .milliseconds(10))
    }
}
