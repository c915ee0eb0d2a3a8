/// Why what a browser sends is not understood; the host ends then.
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
    /// The longest message in bytes. The extension keeps below it.
    package static let longest = 64 * 1024

    private var bytes: [UInt8] = []

    package init() {}

    package mutating func append(_ more: some Sequence<UInt8>) {
        bytes += more
    }

    /// The next message; `nil` until it is complete.
    package mutating func next() throws(FrameError) -> [UInt8]? {
        guard bytes.count >= 4 else { return nil }
        let length = Int(bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) })
        guard length <= Self.longest else {
            throw FrameError("a message of \(length) bytes was announced; it has at most \(Self.longest)")
        }
        guard bytes.count >= 4 + length else { return nil }
        let frame = Array(bytes[4..<4 + length])
        bytes.removeFirst(4 + length)
        return frame
    }

    /// A message with its length before it.
    package static func frame(_ message: [UInt8]) -> [UInt8] {
        withUnsafeBytes(of: UInt32(message.count)) { Array($0) } + message
    }
}
