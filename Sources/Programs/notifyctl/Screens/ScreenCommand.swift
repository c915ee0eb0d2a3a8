import ArgumentParser
import Glibc
import NotifyClient
import NotifyText

struct ScreenCommand: BusCommand {
    static let configuration = CommandConfiguration(
        commandName: "screen", abstract: "Hold a screen open: events there get no banner.",
        usage: "notifyctl screen TOPIC [--mode MODE] [--state STATE] [--lease TIME] [--no-clear] [-- COMMAND ...]",
        discussion: """
            The screen is open while COMMAND runs, and notifyctl ends with its exit code. Without a command the screen \
            is open until Ctrl-C or SIGTERM.

            With --mode ask notifyctl prints each event and reads the answer from a line of standard input: “claim ID” \
            or “pass ID”. An event without an answer in time becomes a banner.

            Examples:
              notifyctl screen /post/27
              notifyctl screen /post/27 --state visible -- vim post-27.txt
              notifyctl screen /chat --mode ask
            """)

    enum Mode: String, ExpressibleByArgument, CaseIterable { case auto, ask }
    enum State: String, ExpressibleByArgument, CaseIterable { case focused, visible, hidden }

    @Argument(help: "A topic, such as /post/27; / means every topic.", completion: Completion.prefixes)
    var topic: String
    @Argument(parsing: .postTerminator, help: "A command and its arguments, after --.") var command: [String] = []

    @Option(help: "Who decides about an event: auto claims each one, ask asks.") var mode = Mode.auto
    @Option(help: "focused, visible or hidden.") var state = State.focused
    @Option(
        parsing: .unconditional,
        help: "How long the screen stays open if notifyctl hangs or is stopped; whole seconds.",
        transform: DurationArgument.parse(in: .seconds(1)))
    var lease: Duration?
    @Flag(help: "Do not claim existing events.") var noClear = false

    @OptionGroup var common: CommonOptions

    func validate() throws {
        if mode == .ask, !command.isEmpty {
            throw ValidationError("--mode ask reads standard input, so it takes no command.")
        }
        if output.json != .off, !command.isEmpty {
            throw ValidationError("With a command nothing is printed: leave out -j and --json.")
        }
    }

    func run() async throws {
        if command.isEmpty { try await hold() } else { throw try await runCommand() }
    }

    private func open(_ client: NotifyClient) async throws(NotifyError) -> Screen {
        try await client.openScreen(
            topic, mode: Screen.Mode(rawValue: mode.rawValue), state: Screen.State(rawValue: state.rawValue),
            lease: lease, clear: !noClear)
    }

    // MARK: Without a command

    private func hold() async throws {
        let client = try await bus.connect()
        try await TerminationSignals.run(isForReader: false) {
            let screen = try await open(client)
            let id = await screen.id
            output.write(["screen": id, "topic": topic], text: "The screen on \(Terminal.plain(topic)) is open.")
            let answers = Task { if mode == .ask { await answerQuestions(client) } }
            let listing = Listing()
            // In mode auto there are none, and this waits for a signal.
            try await withOrderedOutput(BannerTexts(client)) { (event: Event, text) in
                output.write(event, nil, text, in: listing)
            } _: { put in
                for try await event in screen.questions { await put(event, event.needsText ? event.id : nil) }
            }
            answers.cancel()
            await screen.close()
        }
    }

    private func answerQuestions(_ client: NotifyClient) async {
        for await line in StandardInput.lines {
            let words = line.split(separator: " ")
            guard words.count == 2, let id = UInt64(words[1]), words[0] == "claim" || words[0] == "pass" else {
                Terminal.complain("“\(Terminal.plain(line))” is not an answer. Write “claim ID” or “pass ID”.")
                continue
            }
            do throws(NotifyError) {
                if words[0] == "claim" {
                    try await client.claim(EventID(rawValue: id))
                } else {
                    try await client.pass(EventID(rawValue: id))
                }
            } catch {
                Terminal.complain(error.advice)
            }
        }
        if !Task.isCancelled {
            Terminal.complain("Standard input has ended, so this screen answers no event any more.")
        }
    }

    // MARK: With a command

    private func runCommand() async throws -> ExitCode {
        let client = try await bus.connect()
        let child = Locked<ChildProcess?>(nil)
        let opening = Task { try await open(client) }
        let interruption = TerminationSignals([SIGINT, SIGTERM, SIGHUP]) { number in
            opening.cancel()
            // The terminal has sent the signal to the command as well.
            if number == SIGINT, ownsTerminal() { return }
            child.withLock { $0 }?.signal(number)
        }
        let screen: Screen
        do {
            screen = try await opening.value
        } catch let error as NotifyError where error.code == .cancelled && interruption.hasCome {
            return ExitCode(128 + SIGTERM)
        }
        let exit: ChildProcess.Exit?
        do throws(ProcessError) {
            let process = try ChildProcess(
                command[0], Array(command.dropFirst()), environment: ChildProcess.currentEnvironment)
            child.withLock { $0 = process }
            if interruption.hasCome { process.signal(SIGTERM) }
            exit = await process.waitForExit(within: .seconds(366 * 86400))
        } catch {
            await screen.close()
            Terminal.complain(error.description)
            // The exit code of shells for a program ended by a signal.
            return ExitCode(127)
        }
        await screen.close()
        switch exit {
        case .code(let code)?: return ExitCode(code)
        case .signal(let number)?: return ExitCode(128 + number)
        case nil: return .nothing
        }
    }
}

/// Whether Ctrl-C on the terminal reaches this process and its children.
private func ownsTerminal() -> Bool { tcgetpgrp(STDIN_FILENO) == getpgrp() }

/// The names of programs that hold screens, in the form of `why`. The bus is asked once about each connection.
struct ScreenOwners: Sendable {
    /// The most connections that are looked up at a time; the others keep their unique names.
    private static let limit = 100

    /// By unique name; `nil` if the name is not known.
    private var known: [String: String?] = [:]

    var programs: [String: String] { known.compactMapValues(\.self) }

    /// Looks up new owners of screens, and removes former owners.
    mutating func update(_ screens: [ListedScreen], _ client: NotifyClient) async {
        let owners = Set(screens.map(\.owner))
        known = known.filter { owners.contains($0.key) }
        for owner in owners.subtracting(known.keys).sorted().prefix(Self.limit) {
            known[owner] = .some(await client.process(of: owner).flatMap(Self.program))
        }
    }

    private static func program(process: UInt32) -> String? {
        let unit = FileFacts.text(of: "/proc/\(process)/cgroup").flatMap(userUnit)
        var command = command(of: "\(process)")
        if command == ProgramName.browserHost, let parent = ProcessFacts.parent(of: "\(process)"), parent != "1" {
            command = Self.command(of: parent) ?? command
        }
        return ProgramName.make(unit: unit, command: command)
    }

    private static func command(of process: String) -> String? {
        FileFacts.text(of: "/proc/\(process)/comm").map { String($0.prefix { $0 != "\n" }) }
    }

    /// The unit of the user's service manager in the text of `/proc/PID/cgroup`, as sd_pid_get_user_unit(3) finds it:
    /// the first part of the path after the manager that is not a slice.
    static func userUnit(inControlGroup text: String) -> String? {
        let line = text.split(separator: "\n").first { $0.contains("::") || $0.contains(":name=systemd:") }
        let parts = line?.split(separator: "/").drop { !($0.hasPrefix("user@") && $0.hasSuffix(".service")) } ?? []
        guard let unit = parts.dropFirst().first(where: { !$0.hasSuffix(".slice") }), unit.contains(".") else {
            return nil
        }
        return String(unit.hasPrefix("_") ? unit.dropFirst() : unit)
    }
}
