import Logging
import Systemd

/// Starts the commands of buttons as units of the user's service manager; org.freedesktop.systemd1(5),
/// `StartTransientUnit`.
///
/// What notifyd's own unit forbids would hold its children too: no network, no files, no display. A unit has the
/// environment of the session instead, and outlives notifyd. How it ends is in the manager's journal.
struct CommandUnits {
    private static let manager = "org.freedesktop.systemd1"

    let bus: BusConnection
    let logger: Logger

    /// Starts a command.
    ///
    /// - Parameter instead: called where the manager is not on this bus.
    func start(_ command: ButtonCommand, orElse instead: @escaping () -> Void) {
        call(bus.question("GetNameOwner", about: Self.manager), command.data) { [self] answer in
            guard let failure = answer.failure else {
                return start(command, as: 1, by: (try? answer.readString()) ?? Self.manager)
            }
            if failure.isNoOwner { return instead() }
            logger.record(.commandNotStarted, command.data.merging(["error": "\(failure)"]) { $1 })
        }
    }

    /// There are as many names as commands may run at a time, and the manager refuses one that is in use: then the next
    /// is tried.
    ///
    /// - Parameter owner: the unique name of the manager.
    private func start(_ command: ButtonCommand, as number: Int, by owner: String) {
        guard number <= ActionRunner.commandsAtOnce else {
            return logger.record(.tooManyCommands, command.data)
        }
        let unit = "notifyd-button-\(number).service"
        let data = command.data.merging(["unit": "\(unit)"]) { $1 }
        call(startingCall(of: command, unit, to: owner), data) { [self] answer in
            guard let failure = answer.failure else {
                return logger.record(.commandStarted, data)
            }
            if failure.name == "\(Self.manager).UnitExists" {
                start(command, as: number + 1, by: owner)
            } else {
                logger.record(.commandNotStarted, data.merging(["error": "\(failure)"]) { $1 })
            }
        }
    }

    private func call(
        _ call: consuming BusMessage, _ data: Logger.Metadata, _ answer: @escaping (borrowing BusMessage) -> Void
    ) {
        do throws(SystemdError) {
            try bus.call(call, timeout: .seconds(25), answer)
        } catch {
            logger.record(.commandNotStarted, data.merging(["error": "\(error)"]) { $1 })
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
            to: owner, path: "/org/freedesktop/systemd1", interface: "\(Self.manager).Manager",
            member: "StartTransientUnit")
        call.append(unit)
        call.append("fail")
        call.appendContainer("a", "(sv)") { properties in
            properties.appendProperty("Description", "s") { $0.append(command.description) }
            properties.appendProperty("Type", "s") { $0.append("exec") }
            // What the command starts in the background, as xdg-open does, belongs to it and stays.
            properties.appendProperty("ExitType", "s") { $0.append("cgroup") }
            properties.appendProperty("CollectMode", "s") { $0.append("inactive-or-failed") }
            properties.appendProperty("Environment", "as") {
                $0.append(command.environment.map { "\($0.name)=\(Self.permitted($0.value))" })
            }
            properties.appendProperty("ExecStartEx", "a(sasas)") { value in
                value.appendContainer("a", "(sasas)") { commands in
                    commands.appendContainer("r", "sasas") { line in
                        line.append(command.vector[0])
                        line.append(command.vector)
                        // Else the manager would put the text of an event in the place of ${NOTIFYD_TITLE}, for a shell to read.
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
    fileprivate func appendProperty(_ name: String, _ type: String, _ value: (borrowing BusMessage) -> Void) {
        appendContainer("r", "sv") { property in
            property.append(name)
            property.appendContainer("v", type, value)
        }
    }
}
