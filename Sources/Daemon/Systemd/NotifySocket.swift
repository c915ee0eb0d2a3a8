import Glibc

/// The service manager's socket; its protocol is that of sd_notify(3).
///
/// sd_notify(3) itself blocks while the manager does not read.
package final class NotifySocket {
    package enum Outcome {
        case sent
        /// The socket buffer is full.
        case full
        /// There is no such manager.
        case failed
    }

    private let descriptor: CInt
    private let address: sockaddr_un
    private let length: socklen_t

    /// - Parameter name: `$NOTIFY_SOCKET`: a path, or `@` and an abstract name.
    package init?(_ name: String) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(name.utf8)
        let isAbstract = bytes.first == UInt8(ascii: "@")
        guard isAbstract || bytes.first == UInt8(ascii: "/"), bytes.count > 1 else { return nil }
        if isAbstract { bytes[0] = 0 }
        // A path ends with a NUL, an abstract name with its last byte.
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let kind = CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { return nil }
        self.address = address
        let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path)!
        length = socklen_t(offset + bytes.count + (isAbstract ? 0 : 1))
    }

    deinit { close(descriptor) }

    package func send(_ statement: String) -> Outcome {
        var bytes = Array(statement.utf8)
        while true {
            let count = withUnsafePointer(to: address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    sendto(descriptor, &bytes, bytes.count, CInt(MSG_NOSIGNAL), $0, length)
                }
            }
            if count >= 0 { return .sent }
            switch errno {
            case EINTR: continue
            case EAGAIN, ENOBUFS, ENOMEM: return .full
            default: return .failed
            }
        }
    }
}

/// Statements that the service manager has not taken yet: the newest of each kind, in order. There are at most five,
/// and the newest of a kind is never lost.
package struct StatementQueue {
    package enum Kind {
        case ready, reloading, stopping, status, watchdog
    }

    private var statements: [(kind: Kind, text: String)] = []

    package init() {}

    package var isEmpty: Bool { statements.isEmpty }

    package mutating func put(_ kind: Kind, _ text: String) {
        statements.removeAll { $0.kind == kind }
        statements.append((kind, text))
    }

    /// Sends as many as possible.
    ///
    /// - Parameter send: returns whether a statement is done: sent, or impossible to send.
    package mutating func flush(_ send: (String) -> Bool) {
        while let first = statements.first, send(first.text) { statements.removeFirst() }
    }
}
