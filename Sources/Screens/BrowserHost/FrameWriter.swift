import Glibc
import Systemd

/// Writes messages to a browser without waiting for it. Each message says everything, so of those that the browser has
/// not taken only the newest is kept.
final class FrameWriter {
    private let descriptor: CInt
    /// The rest of the frame that is being written.
    private var rest: ArraySlice<UInt8> = []
    private var newest: [UInt8]?
    private var writable: EventSource?
    private let onFailure: () -> Void

    /// - Parameter onFailure: called when nobody reads any more.
    init(_ descriptor: CInt, loop: EventLoop, onFailure: @escaping () -> Void) throws(SystemdError) {
        self.descriptor = descriptor
        self.onFailure = onFailure
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        writable = try loop.output(descriptor) { [unowned self] in write() }
    }

    func send(_ message: [UInt8]) {
        newest = message
        if rest.isEmpty { write() }
    }

    private func write() {
        while true {
            if rest.isEmpty {
                guard let message = newest else { return }
                rest = FrameReader.frame(message)[...]
                newest = nil
            }
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress!, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                writable?.trigger()
                return
            } else if errno != EINTR {
                rest = []
                newest = nil
                return onFailure()
            }
        }
    }
}
