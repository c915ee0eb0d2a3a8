import NotifyClient
import NotifyRehearsal

/// An X server without a screen, and a window manager on it.
final class XServer: Sendable {
    let display: String
    private let server: ChildProcess
    private let folder: TemporaryFolder
    private let manager = Locked<ChildProcess?>(nil)

    /// - Parameter display: such as `:781`; `nil`: a free one.
    init(display: String? = nil) async throws {
        folder = try TemporaryFolder()
        var arguments = ["-displayfd", "1", "-screen", "0", "800x600x24", "-nolisten", "tcp"]
        if let display { arguments.insert(display, at: 0) }
        server = try ChildProcess(
            "Xvfb", arguments, environment: ChildProcess.currentEnvironment, capturing: [1])
        guard let number = await server.lines(of: 1).next(within: .seconds(30)) else {
            await server.end()
            throw RehearsalError("Xvfb does not start.")
        }
        self.display = ":" + number
    }

    /// - Parameters:
    ///   - name: the window manager.
    ///   - arguments: what it is given.
    func startManager(_ name: String = "openbox", _ arguments: [String] = ["--sm-disable"]) throws {
        var environment = ChildProcess.currentEnvironment
        environment["DISPLAY"] = display
        environment["HOME"] = folder.path
        let child = try ChildProcess(name, arguments, environment: environment)
        manager.withLock { $0 = child }
    }

    func stopManager() async { _ = await manager.withLock { $0 }?.end() }

    func stop() async {
        await stopManager()
        await server.end()
        folder.remove()
    }
}

/// Runs with an X server and openbox.
func withXServer(_ body: (XServer) async throws -> Void) async throws {
    let server = try await XServer()
    try await finally {
        await server.stop()
    } after: {
        try server.startManager()
        try await body(server)
    }
}

/// Runs with a notifyd-focus that follows the windows of an X server.
func withWindows(_ body: (FocusRig, X11Client, XServer) async throws -> Void) async throws {
    try await withXServer { server in
        try await FocusRig.with(["DISPLAY": server.display]) { rig in
            try await rig.start()
            try await body(rig, try X11Client(display: server.display), server)
        }
    }
}
