import Glibc
import NotifyClient
import NotifyRehearsal

/// A socket that talks as sway's does; sway-ipc(7). It takes one connection.
final class StandInSway: Sendable {
    /// The event of a key that has run a command.
    static let binding: UInt32 = 0x8000_0005

    let path: String
    private let folder: TemporaryFolder
    private let listener: CInt
    private let state: Locked<(tree: String, connection: CInt?, kinds: String)>

    init(tree: String) throws {
        folder = try TemporaryFolder()
        path = folder.path + "/sway.sock"
        state = Locked((tree, nil, ""))
        listener = try listeningSocket(at: path)
        onOwnThread { [self] in serve() }
    }

    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        state.withLock { if let connection = $0.connection { _ = shutdown(connection, Int32(SHUT_RDWR)) } }
        folder.remove()
    }

    /// What is subscribed to, in JSON.
    var subscription: String { state.withLock(\.kinds) }

    /// Has another tree from now on, of which it does not tell.
    func change(_ tree: String) { state.withLock { $0.tree = tree } }

    /// Sends an event.
    func send(_ kind: UInt32, _ payload: String) {
        if let connection = state.withLock(\.connection) { Self.send(kind, payload, to: connection) }
    }

    private func serve() {
        let connection = accept(listener, nil, nil)
        defer { close(listener) }
        guard connection >= 0 else { return }
        state.withLock { $0.connection = connection }
        while let header = Self.read(14, from: connection) {
            let (length, kind) = header.withUnsafeBytes { bytes in
                (
                    bytes.loadUnaligned(fromByteOffset: 6, as: UInt32.self),
                    bytes.loadUnaligned(fromByteOffset: 10, as: UInt32.self)
                )
            }
            guard let payload = Self.read(Int(length), from: connection) else { break }
            if kind == 2 {
                state.withLock { $0.kinds = String(decoding: payload, as: UTF8.self) }
                Self.send(2, #"{"success":true}"#, to: connection)
            } else {
                Self.send(kind, state.withLock(\.tree), to: connection)
            }
        }
        state.withLock { $0.connection = nil }
        close(connection)
    }

    private static func read(_ count: Int, from connection: CInt) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let result = bytes.withUnsafeMutableBytes {
                recv(connection, $0.baseAddress! + done, count - done, 0)
            }
            guard result > 0 else { return nil }
            done += result
        }
        return bytes
    }

    private static func send(_ kind: UInt32, _ payload: String, to connection: CInt) {
        var bytes = Array("i3-ipc".utf8)
        withUnsafeBytes(of: UInt32(payload.utf8.count)) { bytes += $0 }
        withUnsafeBytes(of: kind) { bytes += $0 }
        bytes += payload.utf8
        _ = Glibc.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }
}
