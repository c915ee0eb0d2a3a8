import Glibc

/// A value that only one thread at a time gets at.
///
/// `Synchronization.Mutex` would do as well, but ThreadSanitizer does not see through it on Linux, and reports a race
/// whenever two threads really meet at one.
package final class Guarded<State: Sendable>: @unchecked Sendable {
    // Proof: `state` is touched only while `mutex` is held, and `mutex` is constant.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var state: State

    package init(_ state: State) {
        self.state = state
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    package func withLock<Result, Failure: Error>(_ body: (inout State) throws(Failure) -> Result) throws(Failure)
        -> Result
    {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state)
    }
}
