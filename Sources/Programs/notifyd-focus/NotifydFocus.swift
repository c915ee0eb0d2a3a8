import Glibc
import NotifyText
import TOMLTables
import Watching

/// The command line. The event loop owns the main thread. Without ArgumentParser, which brings Foundation, and would
/// take more memory than all the rest.
@main
enum NotifydFocus {
    static func main() {
        openStandardStreams()
        do throws(UsageMistake) {
            exit(run(try Options(CommandLine.arguments.dropFirst())))
        } catch {
            complain(error.description)
            exit(ExitStatus.wrongUsage)
        }
    }

    /// The first file or socket would get the number of a stream that is closed, and logs would go there.
    private static func openStandardStreams() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", O_RDWR)
        }
    }

    private static func run(_ options: Options) -> Int32 {
        if options.isHelp { return write(Options.help) }
        if options.isVersion { return write(projectVersion + "\n") }
        if options.isForTmux { return holdPanes(options) }
        let file = RulesFile(options.configuration)
        guard options.checksConfiguration else {
            return FocusProgram(file: file, address: options.address, logLevel: options.logLevel).run()
        }
        do throws(ConfigurationError) {
            let count = try file.read().rules.count
            return write("\(file.path) is good: \(count) rule\(count == 1 ? "" : "s").\n")
        } catch {
            for line in error.lines { complain(line) }
            return ExitStatus.badConfiguration
        }
    }

    private static func holdPanes(_ options: Options) -> Int32 {
        guard let server = getenv("TMUX").flatMap({ TmuxServer(variable: String(cString: $0)) }) else {
            complain(
                "--tmux is for tmux. Write into ~/.tmux.conf: "
                    + "set -g focus-events on; run-shell -b 'notifyd-focus --tmux'")
            return ExitStatus.wrongUsage
        }
        return PaneProgram(server: server, address: options.address).run()
    }

    /// - Returns: the exit code.
    private static func write(_ text: String) -> Int32 {
        isWritten(text, to: STDOUT_FILENO) ? ExitStatus.success : ExitStatus.outputFailed
    }

    private static func complain(_ text: String) {
        _ = isWritten("notifyd-focus: " + text.visible() + "\n", to: STDERR_FILENO)
    }

    private static func isWritten(_ text: String, to descriptor: CInt) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno != EINTR { return false }
            rest = rest.dropFirst(max(0, count))
        }
        return true
    }
}
