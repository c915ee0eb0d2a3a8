import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import NotifyText
import ScreenHolding

/// Stands in for a browser with the extension: starts the host, sends it tabs and reads what it reports.
final class StandInBrowser: Sendable {
    /// A tab as the extension describes it.
    static func tab(
        _ id: Int, _ address: String, topic: String? = nil, focused: Bool = true, visible: Bool = true
    ) -> JSON {
        let tab: [JSON.Member] = [
            ("id", .integer(id)), ("address", .string(address)), ("focused", .boolean(focused)),
            ("visible", .boolean(visible)),
        ]
        return .object(tab + (topic.map { [("topic", .string($0))] } ?? []))
    }

    let host: ChildProcess
    let reports = Mailbox<JSON>()
    private let socket: Locked<CInt?>

    /// - Parameter home: the folder with `browser.toml` in `notifyd`.
    init(on bus: PrivateBus, configuration: TemporaryFolder, reads: Bool = true) throws {
        var pair: [CInt] = [-1, -1]
        guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0 else {
            throw RehearsalError("socketpair failed")
        }
        defer { Glibc.close(pair[1]) }
        // A browser uses pipes; one socket for both directions is the same to the host.
        host = try ChildProcess(
            "/bin/sh", ["-c", "exec \"$0\" chrome-extension://stand-in/ >&0", BuiltPrograms.notifydBrowser],
            environment: [
                "DBUS_SESSION_BUS_ADDRESS": bus.address, "XDG_CONFIG_HOME": configuration.path, "HOME": "/nonexistent",
            ].merging(ChildProcess.sanitizerEnvironment) { $1 },
            capturing: [2], input: pair[1])
        let own = pair[0]
        socket = Locked(own)
        let reports = reports
        if reads { onOwnThread { Self.read(own, into: reports) } }
    }

    deinit { close() }

    private static func read(_ descriptor: CInt, into reports: Mailbox<JSON>) {
        var reader = FrameReader()
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            reader.append(buffer[..<count])
            while case .message(let message)? = try? reader.next(), let report = try? JSONParser.parse(message) {
                reports.put(report)
            }
        }
    }

    /// Sends the tabs in front of all windows.
    func show(_ tabs: JSON...) {
        send(JSON.object([("version", .integer(1)), ("tabs", .array(tabs))]).bytes)
    }

    func send(_ message: [UInt8]) { sendRaw(FrameReader.frame(message)) }

    func sendRaw(_ bytes: [UInt8]) {
        guard let descriptor = socket.withLock({ $0 }) else { return }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress!, $0.count, CInt(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Ends as a killed browser does: its ends of the pipes are closed.
    func close() {
        let descriptor = socket.withLock { socket in
            defer { socket = nil }
            return socket
        }
        guard let descriptor else { return }
        shutdown(descriptor, CInt(SHUT_RDWR))
        Glibc.close(descriptor)
    }

    /// The next report about a tab that is as wanted.
    func report(
        of id: Int = 1, within limit: Duration = .seconds(30), where isWanted: @escaping @Sendable (JSON) -> Bool
    ) async -> JSON? {
        let report = await reports.next(within: limit) { report in
            report["tabs"]?.elements?.contains { $0["id"] == .integer(id) && isWanted($0) } == true
        }
        return report?["tabs"]?.elements?.first { $0["id"] == .integer(id) }
    }
}
