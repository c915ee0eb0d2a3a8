import Glibc
import Logging
import Mapping
import NotifyClient

/// Opens addresses and copies texts for the user. Addresses are opened by the portal of the desktop, or where there is
/// none with xdg-open(1). The service manager starts it, outside of the sandbox; without one there is no sandbox, and
/// the bridge starts it itself.
struct Opener: Sendable {
    /// The address of the bus.
    let bus: String
    let logger: Logger
    /// xdg-open(1).
    var program = "/usr/bin/xdg-open"

    /// For Wayland, and for X.
    var copyCommands = [["/usr/bin/wl-copy"], ["/usr/bin/xclip", "-selection", "clipboard"]]

    /// A program that has not failed for so long has opened the address, and may be the browser itself.
    private static let timeout: Duration = .seconds(10)
    /// How long the user may choose a program.
    private static let portalTimeout: Duration = .seconds(300)

    /// - Returns: whether it is opened, as far as that can be known. Why not is in the log.
    func open(_ address: String) async -> Bool {
        guard let address = OpenableAddress.openable(address) else {
            logger.notice("An address of a message is of a kind that is not opened")
            return false
        }
        switch await PortalOpening(bus: bus).open(address, timeout: Self.portalTimeout) {
        case .opened: return true
        case .cancelled:
            logger.info("An address was not opened: the user has cancelled it")
            return false
        case .unknown:
            // To open it once more could open it twice.
            logger.warning("An address may not be opened: the desktop portal does not say what became of it")
            return false
        case .failed:
            logger.notice("The desktop portal could not open an address; xdg-open is tried")
        case .noPortal: break
        }
        guard access(program, X_OK) == 0 else {
            logger.warning("An address cannot be opened: there is neither a desktop portal nor \(program)")
            return false
        }
        switch await OpeningUnit(bus: bus, program: program, arguments: [address]).run(timeout: Self.timeout) {
        case .opened: return true
        case .failed:
            // Its log has what it has said.
            logger.warning("An address cannot be opened: xdg-open has failed; the journal of the user says why")
            return false
        case .notStarted: return await start(address)
        }
    }

    /// Puts a text on the clipboard. It is the input of a program and not an argument, which everybody on the machine
    /// could read.
    ///
    /// - Returns: whether it is there. Why not is in the log.
    func copy(_ text: String) async -> Bool {
        for command in copyCommands {
            let unit = OpeningUnit(bus: bus, program: command[0], arguments: Array(command.dropFirst()), input: text)
            if case .opened = await unit.run(timeout: Self.timeout) { return true }
        }
        logger.warning(
            """
            A text cannot be copied: that needs wl-clipboard or xclip, and the service manager, which knows the display
            """)
        return false
    }

    private func start(_ address: String) async -> Bool {
        let child: ChildProcess
        do throws(ProcessError) {
            child = try ChildProcess(
                program, [address], environment: ChildProcess.currentEnvironment, inOwnGroup: true)
        } catch {
            logger.warning("An address cannot be opened", metadata: ["error": "\(error)"])
            return false
        }
        guard let exit = await child.waitForExit(within: Self.timeout) else { return true }
        if exit == .code(0) { return true }
        logger.warning("An address cannot be opened", metadata: ["error": "xdg-open ended with \(exit)"])
        return false
    }
}

/// Runs a program as a service of the user's service manager, and says how it has ended. It has a connection to the bus
/// of its own, for the one signal that it waits for.
struct OpeningUnit: Sendable {
    /// What has become of the program.
    enum Result {
        /// It has ended without an error, or still runs: it may be the browser itself.
        case opened
        /// It has ended with an error.
        case failed
        /// There is no service manager, or it does not start the program.
        case notStarted
    }

    /// Of the bus.
    let bus: String
    let program: String
    let arguments: [String]
    /// Its standard input.
    var input: String?

    private static let manager = "org.freedesktop.systemd1"
    private static let path = "/org/freedesktop/systemd1"

    func run(timeout: Duration) async -> Result {
        let (ends, continuation) = AsyncStream.makeStream(of: (job: String, result: String).self)
        let connection = try? await Connection.open(
            bus,
            onSignal: { signal in
                guard signal.member == "JobRemoved", signal.interface == Self.manager + ".Manager",
                    signal.arguments.count == 4, case .objectPath(let job) = signal.arguments[1],
                    let result = signal.arguments[3].string
                else { return }
                continuation.yield((job, result))
            }, onClose: { continuation.finish() })
        guard let connection else { return .notStarted }
        defer { connection.close() }
        // The manager sends the signal to the caller, who need not subscribe.
        guard let reply = try? await connection.call(starting),
            case .objectPath(let job)? = reply.arguments.first
        else { return .notStarted }
        let alarm = connection.loop.perform(after: timeout) { continuation.finish() }
        defer { alarm.cancel() }
        for await end in ends where end.job == job { return end.result == "done" ? .opened : .failed }
        return .opened
    }

    /// org.freedesktop.systemd1(5), `StartTransientUnit`.
    private var starting: Message {
        let name = program.split(separator: "/").last.map(String.init) ?? program
        let command = Value.structure([.string(program), .strings([name] + arguments), .boolean(false)])
        var properties: [(String, Value)] = [
            ("Description", "A button of a message of ntfy"),
            // The job of such a unit ends when the program does, with its result.
            ("Type", "oneshot"),
            // What the program has started, such as a browser, goes on.
            ("KillMode", "process"), ("CollectMode", "inactive-or-failed"),
            ("ExecStart", .array([command], of: command.type)),
        ]
        if let input { properties += [("StandardInput", "data"), ("StandardInputData", .bytes(Array(input.utf8)))] }
        let pair = ValueType.structure([.string, .variant])
        let unit = "notifyd-ntfy-open-\(UInt32.random(in: 0 ... .max)).service"
        return Message.call(
            "StartTransientUnit", of: Self.manager + ".Manager", at: Self.path, on: Self.manager,
            [
                .string(unit), .string("fail"),
                .array(properties.map { .structure([.string($0), .variant($1)]) }, of: pair),
                .array([], of: .structure([.string, .array(of: pair)])),
            ])
    }
}

/// Has the portal of the desktop open an address, and says what became of it. The call is answered when the request
/// begins, and the signal `Response` says how it has ended. It has a connection to the bus of its own, for that one
/// signal.
///
/// [org.freedesktop.portal.Request](https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.Request.html)
struct PortalOpening {
    /// What has become of the request.
    enum Result {
        case opened
        /// The user was asked for a program, and did not want one.
        case cancelled
        /// It has ended in some other way: nothing was opened.
        case failed
        /// It has not ended in time, or the portal has: whether something was opened is not known.
        case unknown
        /// There is no portal, or it does not take the request.
        case noPortal
    }

    /// Of the bus.
    let bus: String

    private static let name = "org.freedesktop.portal.Desktop"
    private static let path = "/org/freedesktop/portal/desktop"
    private static let requests = "org.freedesktop.portal.Request"

    /// - Parameter timeout: how long the user may take for an answer, if the portal asks for a program.
    func open(_ address: String, timeout: Duration) async -> Result {
        let (responses, continuation) = AsyncStream.makeStream(
            of: Message.self, bufferingPolicy: .bufferingNewest(64))
        let connection = try? await Connection.open(
            bus,
            onSignal: { signal in
                if signal.interface == Self.requests, signal.member == "Response" {
                    continuation.yield(signal)
                } else if signal.ownerChange?.name == Self.name {
                    continuation.finish()
                }
            }, onClose: { continuation.finish() })
        guard let connection else { return .noPortal }
        let alarm = connection.loop.perform(after: timeout) { continuation.finish() }
        defer {
            alarm.cancel()
            connection.close()
        }
        // The request may end before the call is answered.
        connection.requestMatch(MatchRule(sender: Self.name, interface: Self.requests, member: "Response"))
        let call = Message.call(
            "OpenURI", of: "org.freedesktop.portal.OpenURI", at: Self.path, on: Self.name,
            [.string(""), .string(address), .variants([:])])
        guard let reply = try? await connection.call(call), case .objectPath(let request)? = reply.arguments.first
        else { return .noPortal }
        // Only now: to start the portal changes the owner of its name, too.
        connection.requestMatch(.ownerChanged(of: Self.name))
        for await response in responses where response.sender == reply.sender && response.path == request {
            switch response.arguments.first?.integer(as: UInt32.self) {
            case 0: return .opened
            case 1: return .cancelled
            default: return .failed
            }
        }
        return .unknown
    }
}
