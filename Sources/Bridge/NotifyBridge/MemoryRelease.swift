import NotifyClient
import Systemd

/// Returns memory to the system after a flood of messages: the C library would keep what they took for as long as the
/// bridge runs.
///
/// It costs a bridge that does little nothing: no timer is armed before so many messages that they could have taken
/// megabytes.
package final class MemoryRelease: Sendable {
    private struct State {
        /// Messages since memory was returned last.
        var count = 0
        /// The same when the timer was armed; `nil` if it is not.
        var seen: Int?
    }

    private let loop: WorkLoop
    private let release: @Sendable () -> Void
    private let state = Locked(State())

    /// Fewer messages leave less than a megabyte behind.
    private static let minimum = 200
    /// So long nothing may come before memory is returned.
    private static let pause = Duration.seconds(2)

    init(_ loop: WorkLoop, release: @escaping @Sendable () -> Void = Memory.release) {
        self.loop = loop
        self.release = release
    }

    /// Tells that a message was dealt with.
    package func noteWork() {
        let isDue = state.withLock { state in
            state.count += 1
            guard state.count >= Self.minimum, state.seen == nil else { return false }
            state.seen = state.count
            return true
        }
        if isDue { arm() }
    }

    private func arm() {
        loop.perform(after: Self.pause) { [weak self] in self?.fire() }
    }

    private func fire() {
        let isQuiet = state.withLock { state in
            guard state.seen == state.count else {
                state.seen = state.count
                return false
            }
            state = State()
            return true
        }
        if isQuiet { release() } else { arm() }
    }
}
