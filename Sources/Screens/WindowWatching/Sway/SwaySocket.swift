import Glibc
import Systemd

/// A connection to the socket of sway or i3, with the framing of sway-ipc(7).
final class SwaySocket {
    /// The types of messages that are used.
    enum Kind: UInt32 {
        case subscribe = 2
        case tree = 4
        case workspaceEvent = 0x8000_0000
        case windowEvent = 0x8000_0003
        case bindingEvent = 0x8000_0005
        case shutdownEvent = 0x8000_0006
    }

    private static let magic = Array("i3-ipc".utf8)
    private static let headerBytes = 14
    /// A thousand windows are a few MiB.
    private static let longest = 32 << 20

    private let descriptor: CInt
    private var source: EventSource?
    private var buffer: [UInt8] = []
    private let received: (Kind, [UInt8]) -> Void
    private let lost: (String) -> Void

    /// - Parameters:
    ///   - received: a message has come. Whoever takes it may drop the object that it belongs to.
    ///   - lost: the connection is gone, with the reason. The object may be dropped then.
    init(
        path: String, loop: EventLoop, received: @escaping (Kind, [UInt8]) -> Void, lost: @escaping (String) -> Void
    ) throws(SourceFailure) {
        self.received = received
        self.lost = lost
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SourceFailure("no socket: \(String(cString: strerror(errno)))") }
        do throws(SourceFailure) {
            try connect(to: path)
            do throws(SystemdError) {
                source = try loop.input(descriptor) { [unowned self] in read() }
            } catch {
                throw SourceFailure("\(error)")
            }
        } catch {
            close(descriptor)
            throw error
        }
    }

    deinit {
        source = nil
        close(descriptor)
    }

    private func connect(to path: String) throws(SourceFailure) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        let isShort = withUnsafeMutableBytes(of: &address.sun_path) { room in
            guard bytes.count < room.count else { return false }
            room.copyBytes(from: bytes)
            return true
        }
        guard isShort else { throw SourceFailure("the path \(path) is too long for a socket") }
        // A compositor that takes no connections must not be waited for.
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            throw SourceFailure("the socket \(path) cannot be reached: \(String(cString: strerror(errno)))")
        }
    }

    // MARK: Messages

    /// - Returns: whether it could be sent.
    @discardableResult
    func send(_ kind: Kind, _ payload: String = "") -> Bool {
        var bytes = Self.magic
        withUnsafeBytes(of: UInt32(payload.utf8.count)) { bytes += $0 }
        withUnsafeBytes(of: kind.rawValue) { bytes += $0 }
        bytes += payload.utf8
        // A few bytes always fit, unless the other side does not read any more.
        return bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            == bytes.count
    }

    private func read() {
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = chunk.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                buffer += chunk[..<count]
                guard handle() else { return end("the compositor sends what is no message") }
                continue
            }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { return }
            return end("the compositor has ended the connection")
        }
    }

    private func end(_ reason: String) {
        source = nil
        lost(reason)
    }

    /// Handles all messages that are complete.
    private func handle() -> Bool {
        var start = 0
        while buffer.count - start >= Self.headerBytes {
            guard buffer[start..<start + Self.magic.count].elementsEqual(Self.magic) else { return false }
            let length = Int(number(at: start + 6))
            guard length <= Self.longest else { return false }
            let end = start + Self.headerBytes + length
            guard buffer.count >= end else { break }
            if let kind = Kind(rawValue: number(at: start + 10)) {
                received(kind, Array(buffer[(start + Self.headerBytes)..<end]))
            }
            start = end
        }
        buffer.removeFirst(start)
        // A long message is not kept for ever.
        if buffer.isEmpty, start > 1 << 20 { buffer = [] }
        return true
    }

    private func number(at place: Int) -> UInt32 {
        buffer.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: place, as: UInt32.self) }
    }
}
