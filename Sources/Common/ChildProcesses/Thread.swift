import Glibc

/// Runs work that blocks for long on a thread of its own. Dispatch has at most 255 threads for the whole process:
/// waiting for that many children would leave none for connections.
package func onOwnThread(_ work: @escaping @Sendable () -> Void) {
    let context = Unmanaged.passRetained(Work(work)).toOpaque()
    var thread = pthread_t()
    guard pthread_create(&thread, nil, run, context) == 0 else { fatalError("no thread can be created") }
    pthread_detach(thread)
}

private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

/// Releases the reference that `onOwnThread` retained.
private let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
    if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body() }
    return nil
}
