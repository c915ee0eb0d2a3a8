import BrowserHost
import Glibc
import NotifyVersion
import Systemd
import UserFiles

/// The native-messaging host that browsers start; notifyd-browser(8). Without ArgumentParser, Foundation and concurrency, which
/// would need more memory than all the rest.
@main
enum NotifydBrowser {
    private static let help = """
        Browsers start this program for the extension of notifyd: it holds the screens of the tabs that are looked at.
        The rules are in ~/.config/notifyd/browser.toml; see notifyd-browser(8).

        USAGE: notifyd-browser [--version] [--help]

        To tell your browsers of it: notifyctl browser install

        """

    static func main() {
        // Browsers pass who has called: the extension's origin, or a file and the extension's id.
        if CommandLine.arguments.contains("--version") { return print(projectVersion) }
        if CommandLine.arguments.contains("--help") || CommandLine.arguments.contains("-h") {
            return print(help, terminator: "")
        }
        guard isatty(STDIN_FILENO) == 0 else {
            writeError("browsers start this program, which speaks with their extension; see notifyd-browser --help")
            exit(EX_USAGE)
        }
        EventLoop.ignoreFailureSignals()
        guard let address = BaseDirectories().sessionBusAddress else {
            writeError("there is no session bus: neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR is set")
            exit(EX_UNAVAILABLE)
        }
        do throws(SystemdError) {
            exit(try run(on: address))
        } catch {
            writeError("the session bus \(address) cannot be used: \(error)")
            exit(EX_UNAVAILABLE)
        }
    }

    private static func run(on address: String) throws(SystemdError) -> CInt {
        let loop = try EventLoop()
        let bus = try BusConnection(address: address)
        try bus.attach(to: loop)
        let end = try bus.onDisconnect {
            writeError("the session bus has closed the connection")
            loop.exit(EX_UNAVAILABLE)
        }
        let host = try BrowserHost(
            loop: loop, bus: bus, rules: BaseDirectories().configuration + "/browser.toml", input: STDIN_FILENO,
            output: STDOUT_FILENO)
        return try withExtendedLifetime((end, host)) { () throws(SystemdError) -> CInt in try loop.run() }
    }
}
