import Glibc

/// The name of this machine.
package enum HostName {
    /// As gethostname(2) tells it; empty if it does not.
    package static var current: String {
        var bytes = [UInt8](repeating: 0, count: 256)
        let isKnown = bytes.withUnsafeMutableBytes { room in
            gethostname(room.baseAddress!.assumingMemoryBound(to: CChar.self), room.count - 1) == 0
        }
        return isKnown ? String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) : ""
    }
}
