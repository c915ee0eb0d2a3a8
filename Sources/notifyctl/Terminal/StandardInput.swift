import Dispatch

/// What somebody types, or a script writes.
enum StandardInput {
    /// The lines until the end of the input. They are read on a thread of their own, because reading blocks.
    static var lines: AsyncStream<String> {
        AsyncStream { continuation in
            DispatchQueue(label: "org.notifyd.input").async {
                while let line = readLine() { continuation.yield(line) }
                continuation.finish()
            }
        }
    }
}
