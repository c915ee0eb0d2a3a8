import Glibc
import NotifyClient
import NotifyText

/// The shell command that `listen` runs for an event. The event is in its environment and on its standard input.
struct EventCommand {
    let command: String

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
        let own = ChildProcess.currentEnvironment.filter { !$0.key.hasPrefix("NOTIFYD_") }
        func start(isSmall: Bool) throws(ProcessError) -> ChildProcess {
            let input = try ChildProcess.file(with: json + "\n")
            defer { close(input) }
            let variables = EventEnvironment.variables(of: event, answer?.verdict, text, json: json, isSmall: isSmall)
            return try ChildProcess(
                "/bin/sh", ["-c", command], environment: own.merging(variables) { $1 }, input: input, inOwnGroup: true)
        }
        do {
            return try start(isSmall: false)
        } catch {
            // The total size of an environment is limited by the stack size; execve(2).
            guard error.number == E2BIG else { throw error }
            return try start(isSmall: true)
        }
    }
}

extension ChildProcess {
    /// A file in memory as the input of a process. Unlike a pipe it never blocks, whether the process reads or not, and
    /// unlike arguments others cannot read it. The caller closes it.
    static func file(with text: String) throws(ProcessError) -> CInt {
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

/// The environment variables for the command that handles an event.
private enum EventEnvironment {
    /// The longest environment string on Linux, with its NUL; `MAX_ARG_STRLEN` in execve(2).
    private static let longest = 128 << 10

    /// - Parameters:
    ///   - text: what the banner of the event says.
    ///   - isSmall: leaves out variables that can be long, because the whole environment was too large.
    static func variables(
        of event: Event, _ verdict: Verdict?, _ text: BannerText?, json: String, isSmall: Bool
    ) -> [String: String] {
        // The limits of an event keep these short.
        let short: [String: String?] = [
            "ID": "\(event.id)", "TOPIC": event.topic, "TITLE": event.title, "BODY": event.body,
            "PUBLISHED": event.published.map { String($0) },
            "WINDOW": event.window.map { JSON.milliseconds($0).text(pretty: false) }, "SENDER": event.sender,
            "SOURCE": event.source, "EVENT_ID": event.eventID, "VERDICT": verdict?.rawValue,
        ]
        var result: [String: String] = [:]
        for (name, value) in short { result["NOTIFYD_" + name] = value }
        let banner: [(name: String, value: String)] =
            text.map { [("NOTIFYD_SUMMARY", $0.title), ("NOTIFYD_TEXT", $0.body)] } ?? []
        var omitted: [String] = []
        for (name, value) in banner + [("NOTIFYD_JSON", json)] + fields(of: event) {
            if isSmall || name.utf8.count + value.utf8.count + 2 > Self.longest {
                omitted.append(name)
            } else {
                result[name] = value
            }
        }
        // Limited, because a message can have thousands of fields.
        if !omitted.isEmpty { result["NOTIFYD_OMITTED"] = omitted.prefix(64).joined(separator: " ") }
        return result
    }

    /// Names are in capitals, with `_` for other characters, as for the commands of buttons. If two names become the
    /// same, the first counts.
    private static func fields(of event: Event) -> [(name: String, value: String)] {
        var names: Set<String> = []
        var result: [(name: String, value: String)] = []
        func add(_ key: String, _ value: String) {
            let name = "NOTIFYD_FIELD_" + key
            if names.insert(name).inserted { result.append((name, value)) }
        }
        let texts = event.fields.map { (key: $0.key, value: $0.value.text) }
        for (key, value) in texts { add(String(key.uppercased().map { $0.isPartOfName ? $0 : "_" }), value) }
        // The unchanged name, for scripts written for earlier versions.
        for (key, value) in texts where key.allSatisfy(\.isPartOfName) { add(key, value) }
        return result
    }
}

extension Character {
    fileprivate var isPartOfName: Bool { self == "_" || isASCII && (isLetter || isNumber) }
}
