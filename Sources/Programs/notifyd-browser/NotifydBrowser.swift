import Glibc
import NotifyText
import ScreenHolding
import Systemd
import TOMLTables
import UserFiles
import Watching

/// The native-messaging host that browsers start; notifyd-browser(8). Without ArgumentParser, Foundation and
/// concurrency, which would need more memory than all the rest.
@main
enum NotifydBrowser {
    /// The configuration is bad.
    private static let badConfiguration: Int32 = 78

    static func main() {
        do throws(UsageMistake) {
            switch try Options(CommandLine.arguments.dropFirst()) {
            case .version: print(projectVersion)
            case .help: print(Options.helpText, terminator: "")
            case .check(let file): exit(check(file))
            case .host: exit(try host())
            }
        } catch {
            writeError(error.description)
            exit(EX_USAGE)
        }
    }

    /// - Returns: the exit code.
    private static func check(_ name: String?) -> Int32 {
        let file = name.map { BaseDirectories.absolute(path: $0) } ?? rules
        do throws(ConfigurationError) {
            let text = try ConfigurationText.read(file)
            guard text != nil || name == nil else {
                throw ConfigurationError(file: file, line: 0, column: 0, reason: "there is no such file")
            }
            let rules = try TabRules.read(file: file, text: text ?? "")
            let count = rules.sites.count + rules.pages.count
            print("\(file) is good: \(count) rule\(count == 1 ? "" : "s").")
            return EX_OK
        } catch {
            for line in error.lines { writeError(line) }
            return badConfiguration
        }
    }

    private static var rules: String { BaseDirectories().configuration + "/browser.toml" }

    // MARK: The host

    private static func host() throws(UsageMistake) -> Int32 {
        // The loop can wait for nothing else.
        guard isPipe(STDIN_FILENO), isPipe(STDOUT_FILENO) else { throw UsageMistake(UsageMistake.notByHand) }
        EventLoop.ignoreFailureSignals()
        guard let address = BaseDirectories().sessionBusAddress else {
            writeError("no session bus is known: \(BaseDirectories().noSessionBus)")
            return EX_UNAVAILABLE
        }
        do throws(SystemdError) {
            return try run(on: address)
        } catch {
            writeError("the session bus \(address) cannot be used: \(error)")
            return EX_UNAVAILABLE
        }
    }

    private static func isPipe(_ descriptor: CInt) -> Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return false }
        return [S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT)
    }

    private static func run(on address: String) throws(SystemdError) -> CInt {
        let loop = try EventLoop()
        let bus = try BusConnection(address: address)
        try bus.attach(to: loop)
        let end = try bus.onDisconnect {
            writeError("the session bus has closed the connection")
            loop.exit(EX_UNAVAILABLE)
        }
        let host = try BrowserHost(loop: loop, bus: bus, rules: rules, input: STDIN_FILENO, output: STDOUT_FILENO)
        let release = try Memory.releaseAllAfterStart(on: loop)
        return try withExtendedLifetime((end, host, release)) { () throws(SystemdError) -> CInt in try loop.run() }
    }
}
