import Glibc

/// A value that is protected by a mutex.
///
/// It is a pthread mutex, because ThreadSanitizer does not understand `Synchronization.Mutex` on Linux and reports a
/// race whenever two threads contend for one.
package final class Locked<State: Sendable>: @unchecked Sendable {
    // Proof: `state` is accessed only while `mutex` is held, and `mutex` is constant.
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
