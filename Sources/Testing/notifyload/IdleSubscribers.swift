import Glibc
import NotifyClient
import NotifyRehearsal

/// Subscribers that receive every event and discard it without decoding. They cost the bus as much as other
/// subscribers, and the machine as little as possible, so that they do not distort the measurement.
///
/// Each is a connection that authenticates and subscribes according to the
/// [specification](https://dbus.freedesktop.org/doc/dbus-specification.html), and then only reads.
final class IdleSubscribers: Sendable {
    /// The pause between reads, in microseconds.
    private static let pause: useconds_t = 5000

    private let hasLeft = Locked(false)

    init(_ count: Int, on bus: PrivateBus) throws {
        let path = String(bus.address.dropFirst("unix:path=".count))
        let sockets = try (0..<count).map { _ in try subscribe(path) }
        guard count > 0 else { return }
        let hasLeft = hasLeft
        onOwnThread {
            var polled = sockets.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            var bytes = [UInt8](repeating: 0, count: 1 << 16)
            while !hasLeft.withLock({ $0 }) {
                _ = poll(&polled, nfds_t(polled.count), 100)
                for socket in polled where socket.revents != 0 {
                    _ = recv(socket.fd, &bytes, bytes.count, CInt(MSG_DONTWAIT))
                }
                usleep(Self.pause)
            }
            for socket in sockets { close(socket) }
        }
    }

    func leave() { hasLeft.withLock { $0 = true } }
}

/// Returns a connection on which the bus has acknowledged the subscription.
private func subscribe(_ path: String) throws -> CInt {
    let connection = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard withSocketAddress(of: path, { connect(connection, $0, $1) }) == 0 else {
        throw RehearsalError("The bus takes no more subscribers: \(String(cString: strerror(errno)))")
    }
    let identity = String(getuid()).utf8.map { String($0, radix: 16) }.joined()
    try write(Array("\0AUTH EXTERNAL \(identity)\r\n".utf8), to: connection)
    while try read(1, from: connection) != [UInt8(ascii: "\n")] {}
    try write(Array("BEGIN\r\n".utf8), to: connection)
    let rule = MatchRule(interface: Router.interface, member: "Event").text
    var subscription = Message.toBus("AddMatch", [.string(rule)])
    subscription.serial = 2
    try write(try Message.toBus("Hello").wire() + subscription.wire(), to: connection)
    // The answer to Hello, the signal NameAcquired, and the answer to AddMatch.
    for _ in 0..<3 {
        let header = try read(16, from: connection)
        let fields = number(header[12...])
        _ = try read((fields + 7) / 8 * 8 + number(header[4...]), from: connection)
    }
    return connection
}

private func number(_ bytes: ArraySlice<UInt8>) -> Int {
    bytes.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
}

private func write(_ bytes: [UInt8], to connection: CInt) throws {
    guard send(connection, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count else { throw IdleSubscribers.refused }
}

private func read(_ count: Int, from connection: CInt) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    guard count == 0 || recv(connection, &bytes, count, CInt(MSG_WAITALL)) == count else {
        throw IdleSubscribers.refused
    }
    return bytes
}

extension IdleSubscribers {
    fileprivate static let refused = RehearsalError("The bus has refused a subscriber.")
}
