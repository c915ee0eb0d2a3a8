import ChildProcesses
import Glibc
import NotifyClient
import NotifyJSON

/// The shell command that `listen` runs for an event. The event is in its environment and on its standard input.
struct EventCommand {
    private let command: String

    init(_ command: String) { self.command = command }

    /// Returns whether the command ended with 0. A failure is reported, and does not affect other events.
    ///
    /// - Parameter text: what the banner of the event says.
    func run(for event: Event, _ answer: ClaimAnswer?, _ text: BannerText?) async -> Bool {
        let shell: ChildProcess
        do {
            shell = try start(event, answer, text)
        } catch {
            Terminal.complain("The command for event \(event.id) cannot be started: \(error.description)")
            return false
        }
        // On a termination signal the command gets one too, and notifyctl waits for it.
        let end = await withTaskCancellationHandler {
            await Task { await shell.waitForExit(within: .seconds(366 * 86400)) }.value
        } onCancel: {
            shell.signal(SIGTERM)
        }
        switch end {
        case .code(0)?: return true
        case .code(let code)?: Terminal.complain("The command ended with \(code) for event \(event.id).")
        case .signal(let number)? where !Task.isCancelled:
            Terminal.complain("The command was ended by signal \(number) for event \(event.id).")
        default: break
        }
        return false
    }

    private func start(
        _ event: Event, _ answer: ClaimAnswer?, _ text: BannerText?
    ) throws(ProcessError) -> ChildProcess {
        let members = event.members(verdict: answer?.verdict, isHeld: answer?.isHeld ?? false, text: text)
        let json = JSON.object(members).text(pretty: false)
        let variables = EventEnvironment(event, answer?.verdict, text, json: json)
        let own = ChildProcess.currentEnvironment.filter { !$0.key.hasPrefix("NOTIFYD_") }
        func start(isSmall: Bool) throws(ProcessError) -> ChildProcess {
            let input = try Self.file(with: json + "\n")
            defer { close(input) }
            let environment = own.merging(variables.variables(isSmall: isSmall)) { $1 }
            return try ChildProcess(
                "/bin/sh", ["-c", command], environment: environment, input: input, inOwnGroup: true)
        }
        do {
            return try start(isSmall: false)
        } catch {
            // The total size of an environment is limited by the stack size; execve(2).
            guard error.number == E2BIG else { throw error }
            return try start(isSmall: true)
        }
    }

    /// A file in memory. Unlike a pipe it never blocks if the command does not read.
    private static func file(with text: String) throws(ProcessError) -> CInt {
        let name = "/notifyctl-\(UInt64.random(in: .min ... .max))"
        let file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0o600)
        guard file >= 0 else { throw ProcessError("its input cannot be made", number: errno) }
        shm_unlink(name)
        guard write(file, text, text.utf8.count) == text.utf8.count else {
            defer { close(file) }
            throw ProcessError("its input cannot be written", number: errno)
        }
        lseek(file, 0, SEEK_SET)
        return file
    }
}
