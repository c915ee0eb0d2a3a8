import Glibc
import Logging
import Systemd

/// Starts the commands of buttons as transient units of the user's service manager; org.freedesktop.systemd1(5),
/// `StartTransientUnit`.
///
/// The sandbox of notifyd's own unit also applies to its children: no network, no files, no display. A transient unit
/// has the environment of the session instead, and outlives notifyd. The signal `JobRemoved` reports whether it was
/// started; its exit is in the manager's journal.
final class TransientUnits {
    private static let manager = "org.freedesktop.systemd1"
    private static let path = "/org/freedesktop/systemd1"
    private static let timeout: Duration = .seconds(25)
    /// Starts whose `JobRemoved` is awaited.
    private static let jobLimit = 64

    private let bus: BusConnection
    private let logger: Logger
    private let onEnd: (ButtonCommand, String?) -> Void
    /// The unique name of the manager at the last start.
    private var owner: String?
    /// Commands being started, by the object path of the manager's job.
    private var jobs: [String: ButtonCommand] = [:]
    private var slot: BusSlot?

    /// - Parameter onEnd: called for every command that was started, or with why it could not be started.
    init(bus: BusConnection, logger: Logger, onEnd: @escaping (ButtonCommand, String?) -> Void) {
        self.bus = bus
        self.logger = logger
        self.onEnd = onEnd
    }

    /// Starts a command.
    ///
    /// - Parameter fallback: called if the manager is not on this bus.
    func start(_ command: ButtonCommand, orElse fallback: @escaping () -> Void) {
        bus.call(bus.busCall("GetNameOwner", about: Self.manager), timeout: Self.timeout) { [self] answer in
            guard let failure = answer.failure else {
                let owner = (try? answer.readString()) ?? Self.manager
                watchJobs(of: owner, command)
                return askPath(command, of: owner)
            }
            if failure.isNoOwner { return fallback() }
            failed(command, "\(failure)")
        }
    }

    private func failed(_ command: ButtonCommand, _ error: String) {
        logger.record(.commandNotStarted, command.data.merging(["error": "\(error)"]) { $1 })
        onEnd(command, "could not be started: \(error)")
    }

    /// The manager itself looks for programs only where it was built to. Its `PATH`, which the desktop may have changed
    /// after notifyd was started, is what its other programs get.
    private func askPath(_ command: ButtonCommand, of owner: String) {
        let call = bus.methodCall(
            to: owner, path: Self.path, interface: "org.freedesktop.DBus.Properties", member: "Get")
        call.append("\(Self.manager).Manager")
        call.append("Environment")
        bus.call(call, timeout: Self.timeout) { [self] answer in
            var command = command
            if answer.failure == nil, let path = try? answer.readPath() { command.path = ProgramPath.folders(of: path) }
            start(command, as: 1, by: owner)
        }
    }

    /// The manager sends `JobRemoved` to the caller.
    private func watchJobs(of owner: String, _ command: ButtonCommand) {
        self.owner = owner
        guard slot == nil else { return }
        do throws(SystemdError) {
            slot = try bus.match(
                signal: "path='\(Self.path)',interface='\(Self.manager).Manager',member='JobRemoved'",
                from: .owner(of: Self.manager) { [self] in self.owner }
            ) { [self] message in
                guard (try? message.skip("u")) != nil, let job = try? message.readString(as: "o"),
                    (try? message.skip("s")) != nil, let result = try? message.readString()
                else { return }
                ended(job, result)
            }
        } catch {
            failed(command, "\(error)")
        }
    }

    private func ended(_ job: String, _ result: String) {
        guard let command = jobs.removeValue(forKey: job) else { return }
        guard result != "done" else {
            logger.record(.commandStarted, command.data)
            return onEnd(command, nil)
        }
        failed(command, "the service manager's job is “\(result)”; its journal says why")
    }

    /// There is one unit name per command that may run. The manager refuses a name in use, and the next one is tried.
    ///
    /// - Parameter owner: the unique name of the manager.
    private func start(_ command: ButtonCommand, as number: Int, by owner: String) {
        guard number <= ActionRunner.commandLimit else {
            logger.record(.tooManyCommands, command.data)
            return onEnd(command, "was not started: too many commands were running")
        }
        let unit = "notifyd-button-\(number).service"
        var started = command
        started.data = command.data.merging(["unit": "\(unit)"]) { $1 }
        bus.call(startingCall(of: command, unit, to: owner), timeout: Self.timeout) { [self, started] answer in
            guard let failure = answer.failure else {
                if jobs.count < Self.jobLimit, let job = try? answer.readString(as: "o") { jobs[job] = started }
                return
            }
            if failure.name == "\(Self.manager).UnitExists" {
                start(command, as: number + 1, by: owner)
            } else {
                failed(started, "\(failure)")
            }
        }
    }

    /// The manager refuses a unit with a control character in its environment, except tab and line feed.
    static func permitted(_ value: String) -> String {
        let isRefused = { (scalar: Unicode.Scalar) in
            scalar.value == 0x7f || (scalar.value < 0x20 && scalar != "\t" && scalar != "\n")
        }
        guard value.unicodeScalars.contains(where: isRefused) else { return value }
        var result = String.UnicodeScalarView()
        for scalar in value.unicodeScalars { result.append(isRefused(scalar) ? "\u{fffd}" : scalar) }
        return String(result)
    }

    private func startingCall(of command: ButtonCommand, _ unit: String, to owner: String) -> BusMessage {
        let call = bus.methodCall(
            to: owner, path: Self.path, interface: "\(Self.manager).Manager",
            member: "StartTransientUnit")
        call.append(unit)
        call.append("fail")
        call.appendContainer("a", "(sv)") { properties in
            properties.appendProperty("Description", "s") { $0.append(command.description) }
            properties.appendProperty("Type", "s") { $0.append("exec") }
            // Background processes of the command, such as those of xdg-open, keep the unit running.
            properties.appendProperty("ExitType", "s") { $0.append("cgroup") }
            properties.appendProperty("CollectMode", "s") { $0.append("inactive-or-failed") }
            // It becomes the command's PATH too, so that a terminal, for example, finds notifyctl.
            properties.appendProperty("ExecSearchPath", "as") { $0.append(command.path) }
            properties.appendProperty("Environment", "as") {
                $0.append(command.environment.map { "\($0.name)=\(Self.permitted($0.value))" })
            }
            properties.appendProperty("ExecStartEx", "a(sasas)") { value in
                value.appendContainer("a", "(sasas)") { commands in
                    commands.appendContainer("r", "sasas") { line in
                        line.append(command.vector[0])
                        line.append(command.vector)
                        // Otherwise the manager would expand ${NOTIFYD_TITLE} to the text of an event, which a shell
                        // might execute.
                        line.append(["no-env-expand"])
                    }
                }
            }
        }
        call.appendContainer("a", "(sa(sv))") { _ in }
        return call
    }
}

extension BusMessage {
    /// `PATH` in the value of the property `Environment`; `nil` if it is not set there.
    fileprivate func readPath() throws(SystemdError) -> String? {
        guard try enter("v", "as"), try enter("a", "s") else { return nil }
        while try peek() != nil {
            let variable = try readString()
            if variable.hasPrefix("PATH=") { return String(variable.dropFirst(5)) }
        }
        return nil
    }

    fileprivate func appendProperty(_ name: String, _ type: String, _ value: (borrowing BusMessage) -> Void) {
        appendContainer("r", "sv") { property in
            property.append(name)
            property.appendContainer("v", type, value)
        }
    }
}

/// The command of a pressed button.
struct ButtonCommand {
    /// The program and its arguments.
    let vector: [String]
    /// The folders in which the program is looked for.
    var path = ProgramPath.folders(of: getenv("PATH").map { String(cString: $0) })
    /// The description of the unit.
    let description: String
    /// Added to its environment.
    let environment: [(name: String, value: String)]
    /// Such as `“Join” of /run/{session}/invite`.
    let button: String
    /// Metadata of its log records.
    var data: Logger.Metadata
}
