import Glibc
import NotifyClient
import NotifyRehearsal

/// Stands in for a Wayland compositor, and says what no real one says: it speaks as much of the protocol as one window
/// needs.
final class WaylandServer: Sendable {
    /// What it does with a connection, after what it did with those before.
    enum Act {
        /// Takes it and never answers.
        case silence
        /// Shows a window, which is focused.
        case window(app: String, title: String)
        /// Says that the client has made a mistake.
        case error(String)
    }

    private enum Name {
        static let display: UInt32 = 1
        static let registry: UInt32 = 2
        static let callback: UInt32 = 3
        static let manager: UInt32 = 4
        static let window: UInt32 = 0xFF00_0000
    }

    private let folder: TemporaryFolder
    private let listener: CInt
    /// The newest connection.
    private let connection = Locked<CInt>(-1)

    /// The variable for programs that find it.
    var environment: [String: String] { ["WAYLAND_DISPLAY": folder.path + "/wayland"] }

    init(_ acts: [Act]) throws {
        folder = try TemporaryFolder()
        listener = try listeningSocket(at: folder.path + "/wayland")
        let (listener, connection) = (listener, connection)
        onOwnThread {
            for act in acts {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                connection.withLock { $0 = client }
                Self.play(act, client)
            }
        }
    }

    deinit {
        shutdown(listener, CInt(SHUT_RDWR))
        close(listener)
        let client = connection.withLock { $0 }
        if client >= 0 { close(client) }
    }

    /// Says that no more is told about windows, and keeps the connection.
    func finish() {
        Self.send(Self.message(Name.manager, 1, []), to: connection.withLock { $0 })
    }

    private static func play(_ act: Act, _ client: CInt) {
        switch act {
        case .silence: break
        case .error(let text):
            skip(12 + 12, client)
            send(message(Name.display, 0, number(Name.registry) + number(1) + string(text)), to: client)
        case .window(let app, let title):
            // wl_display.get_registry and wl_display.sync.
            skip(12 + 12, client)
            let global = number(1) + string("zwlr_foreign_toplevel_manager_v1") + number(1)
            send(message(Name.registry, 0, global) + message(Name.callback, 0, number(0)), to: client)
            // wl_registry.bind.
            skip(8 + 4 + 4 + 36 + 4 + 4, client)
            // An array of one state, which is 2.
            let activated = number(4) + number(2)
            send(
                message(Name.manager, 0, number(Name.window)) + message(Name.window, 0, string(title))
                    + message(Name.window, 1, string(app)) + message(Name.window, 4, activated)
                    + message(Name.window, 5, []), to: client)
        }
    }

    // MARK: The wire

    private static func number(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }

    private static func string(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8) + [0]
        return number(UInt32(bytes.count)) + bytes + [UInt8](repeating: 0, count: -bytes.count & 3)
    }

    private static func message(_ object: UInt32, _ code: UInt32, _ arguments: [UInt8]) -> [UInt8] {
        number(object) + number(UInt32(8 + arguments.count) << 16 | code) + arguments
    }

    private static func send(_ bytes: [UInt8], to client: CInt) {
        _ = bytes.withUnsafeBytes { Glibc.send(client, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
    }

    /// Reads so many bytes of requests.
    private static func skip(_ count: Int, _ client: CInt) {
        var bytes = [UInt8](repeating: 0, count: count)
        _ = recv(client, &bytes, count, CInt(MSG_WAITALL))
    }
}
