import ChildProcesses
import Dispatch
import NotifyClient

/// Calls an action at a fixed rate, however long what it begins may take.
func pace(_ rate: Double, for time: Duration, _ action: @escaping @Sendable (_ number: Int) -> Void) async throws {
    let number = Locked(0)
    let timer = DispatchSource.makeTimerSource(flags: .strict, queue: DispatchQueue(label: "org.notifyd.pace"))
    timer.schedule(deadline: .now(), repeating: 1 / rate, leeway: .nanoseconds(0))
    timer.setEventHandler {
        action(
            number.withLock { number in
                number += 1
                return number
            })
    }
    timer.activate()
    try await Task.sleep(for: time)
    timer.cancel()
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
