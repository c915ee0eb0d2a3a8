import Glibc
import Systemd

/// Why what a browser sends is not understood.
package struct FrameError: Error, Equatable, CustomStringConvertible {
    /// Without anything of the contents.
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Divides what a browser writes into messages: each has its length before it, in 4 bytes of this machine's order.
/// [Native messaging](https://developer.chrome.com/docs/extensions/develop/concepts/native-messaging#native-messaging-host-protocol)
package struct FrameReader {
    /// What comes next.
    package enum Frame: Equatable {
        case message([UInt8])
        /// One of more than ``longest`` bytes, which is passed over.
        case tooLong(Int)
    }

    /// The longest message in bytes. The extension keeps below it.
    package static let longest = 64 * 1024
    /// Browsers send none that is longer: what announces one is not a length.
    package static let longestPossible = 64 << 20

    private var bytes: [UInt8] = []
    /// Bytes of a message that are still passed over.
    private var excess = 0

    package init() {}

    package mutating func append(_ more: some Collection<UInt8>) {
        let skipped = min(excess, more.count)
        excess -= skipped
        bytes += more.dropFirst(skipped)
    }

    /// The next message; `nil` until it is complete.
    ///
    /// - Throws: `FrameError` if messages cannot be told apart any more.
    package mutating func next() throws(FrameError) -> Frame? {
        guard bytes.count >= 4 else { return nil }
        let length = Int(bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) })
        guard length <= Self.longestPossible else {
            throw FrameError("a message of \(length) bytes was announced; it has at most \(Self.longest)")
        }
        guard length <= Self.longest else {
            let present = min(bytes.count, 4 + length)
            bytes.removeFirst(present)
            excess = 4 + length - present
            return .tooLong(length)
        }
        guard bytes.count >= 4 + length else { return nil }
        let message = Array(bytes[4..<4 + length])
        bytes.removeFirst(4 + length)
        return .message(message)
    }

    /// A message with its length before it.
    package static func frame(_ message: [UInt8]) -> [UInt8] {
        withUnsafeBytes(of: UInt32(message.count)) { Array($0) } + message
    }
}

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
