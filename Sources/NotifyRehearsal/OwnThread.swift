import Glibc

/// Runs what blocks for long. Dispatch has 255 threads at most, for everything: enough children that are waited for would
/// leave none to any connection.
package func onOwnThread(_ work: @escaping @Sendable () -> Void) {
    let context = Unmanaged.passRetained(Work(work)).toOpaque()
    var thread = pthread_t()
    guard pthread_create(&thread, nil, run, context) == 0 else { fatalError("no thread can be made") }
    pthread_detach(thread)
}

private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

/// Takes over the reference to the work that `onOwnThread` made.
private let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
    if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body() }
    return nil
}
