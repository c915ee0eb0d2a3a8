import ChildProcesses
import Glibc

/// Finds the `notifyd` that belongs to this `notifyctl`.
enum Daemon {
    /// The path of this `notifyctl`.
    static var ownPath: String? { FileFacts.link(at: "/proc/self/exe") }

    /// Beside this program, else in `$PATH`.
    ///
    /// - Parameters:
    ///   - name: of the program.
    ///   - option: names another one.
    static func locate(_ name: String = "notifyd", option: String = "--daemon") throws(ProcessError) -> String {
        var candidates: [String] = []
        if let own = ownPath, let slash = own.lastIndex(of: "/") { candidates.append(own[...slash] + name) }
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/local/bin:/usr/bin:/bin"
        candidates += path.split(separator: ":").map { $0 + "/" + name }
        guard let found = candidates.first(where: { access($0, X_OK) == 0 }) else {
            throw ProcessError(
                "No \(name) was found, neither beside notifyctl nor in $PATH. Install it, or name one with \(option).")
        }
        return found
    }

    /// Runs a notifyd to its end.
    ///
    /// - Returns: its exit code, and its lines: its output if the code is 0, otherwise its errors. There is one at
    ///   least: every notifyd says something.
    static func run(
        _ program: String, _ arguments: [String], environment: [String: String] = ChildProcess.currentEnvironment,
        within limit: Duration = .seconds(60)
    ) async throws(ProcessError) -> (code: CInt, lines: [String]) {
        let process = try ChildProcess(program, arguments, environment: environment, capturing: [1, 2])
        switch await process.waitForExit(within: limit) {
        case .code(let code)?:
            let lines = await process.allLines(of: code == 0 ? 1 : 2) ?? []
            if lines.isEmpty {
                throw ProcessError("\(program) ended with exit code \(code) and said nothing: it is not notifyd.")
            }
            return (code, lines)
        case .signal(let number)?: throw ProcessError("\(program) was ended by signal \(number).")
        case nil: throw ProcessError("\(program) did not end within \(limit.shortText).")
        }
    }
}
