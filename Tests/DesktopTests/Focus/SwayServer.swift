import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// A sway without a screen, with sockets in a folder of its own.
final class SwayServer: Sendable {
    private let folder: TemporaryFolder
    private let process: ChildProcess

    /// The variables for programs that find sway by its socket.
    var environment: [String: String] { ["SWAYSOCK": socket, "XDG_RUNTIME_DIR": folder.path] }

    /// The variables for programs that know Wayland alone; sway takes the first free name.
    var waylandEnvironment: [String: String] { ["WAYLAND_DISPLAY": "wayland-1", "XDG_RUNTIME_DIR": folder.path] }

    private var socket: String { folder.path + "/sway.sock" }

    init() async throws {
        folder = try TemporaryFolder()
        let configuration = try folder.write("xwayland disable\noutput * resolution 800x600\n", to: "config")
        var environment = ChildProcess.currentEnvironment
        for name in ["DISPLAY", "WAYLAND_DISPLAY", "I3SOCK"] { environment[name] = nil }
        environment.merge([
            "HOME": folder.path, "SWAYSOCK": folder.path + "/sway.sock", "WLR_BACKENDS": "headless",
            "WLR_LIBINPUT_NO_DEVICES": "1", "WLR_RENDERER": "pixman", "XDG_RUNTIME_DIR": folder.path,
        ]) { $1 }
        var command = ["sway", "--config", configuration]
        // It refuses to run as root, so root is somebody else there.
        if getuid() == 0 { command = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] + command }
        process = try ChildProcess(
            command[0], Array(command.dropFirst()), environment: environment, capturing: [1, 2])
        try await until("sway answers") { try await ask("get_version") != nil }
    }

    /// Runs a command of sway.
    func command(_ words: String...) async throws {
        let result = try await message(words)
        guard result.code == 0 else { throw RehearsalError("sway does not do this: \(words). \(result.output)") }
    }

    /// Asks for something.
    func ask(_ kind: String) async throws -> String? {
        let result = try await message(["-t", kind])
        return result.code == 0 ? result.output.joined(separator: "\n") : nil
    }

    private func message(_ words: [String]) async throws -> CommandResult {
        try await ChildProcess.run(
            "swaymsg", ["--socket", socket] + words, environment: ChildProcess.currentEnvironment, within: .seconds(30))
    }

    /// Opens a window, and returns when sway has it.
    func open(_ title: String, app: String) async throws -> TerminalWindow {
        let window = try TerminalWindow(title, app: app, environment: waylandEnvironment)
        try await until("the window “\(title)” is there") {
            try await ask("get_tree")?.contains("\"\(title)\"") == true
        }
        return window
    }

    func stop() async {
        await process.end()
        folder.remove()
    }

    private func until(_ fact: String, _ isTrue: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(30) * Timeouts.factor
        while try await !isTrue() {
            guard ContinuousClock.now < deadline, process.exit == nil else {
                throw RehearsalError("It did not come true that \(fact): \(process.lines(of: 2).all.suffix(5))")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}

/// Runs with a sway, and ends it.
func withSway(_ body: (SwayServer) async throws -> Void) async throws {
    let server = try await SwayServer()
    try await finally {
        await server.stop()
    } after: {
        try await body(server)
    }
}

extension Trait where Self == Fixture {
    static var sway: Self { Fixture(withSway) }
}

/// A window of the terminal foot, whose shell shows titles that it finds in a file.
final class TerminalWindow: Sendable {
    private static let shell = #"""
        while :; do
            if [ -e "$TITLE" ]; then printf '\033]0;%s\007' "$(cat "$TITLE")"; rm "$TITLE"; fi
            sleep 0.05
        done
        """#

    private let folder: TemporaryFolder
    private let process: ChildProcess

    init(_ title: String, app: String, environment: [String: String]) throws {
        folder = try TemporaryFolder()
        var all = ChildProcess.currentEnvironment.merging(environment) { $1 }
        all["TITLE"] = folder.path + "/title"
        process = try ChildProcess(
            "foot", ["--config=/dev/null", "--app-id=\(app)", "--title=\(title)", "sh", "-c", Self.shell],
            environment: all, capturing: [1, 2])
    }

    func rename(_ title: String) throws {
        let file = try folder.write(title, to: "new")
        guard Glibc.rename(file, folder.path + "/title") == 0 else {
            throw RehearsalError("The title cannot be written.")
        }
    }

    func close() async {
        await process.end()
        folder.remove()
    }
}
