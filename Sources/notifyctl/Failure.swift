import ArgumentParser
import NotifyClient
import NotifyRehearsal

/// The exit codes of `notifyctl`, after sysexits.h.
extension ExitCode {
    /// Nothing matched, or time ran out.
    static let nothing = ExitCode(1)
    static let badData = ExitCode(65)
    static let notReachable = ExitCode(69)
    static let refused = ExitCode(77)
}

/// Runs the work of a command. What goes wrong is said on standard error and becomes an exit code.
func reportingFailures(_ work: () async throws -> Void) async throws {
    do {
        try await work()
    } catch let error as NotifyError {
        Terminal.complain(error.advice)
        throw error.exitCode
    } catch let error as RehearsalError {
        Terminal.complain(error.description)
        throw ExitCode.notReachable
    }
}

extension NotifyError {
    var exitCode: ExitCode {
        switch (code, name?.split(separator: ".").last) {
        case (.invalidArgument, _): .badData
        case (.timedOut, _): .nothing
        case (.refused, "UnknownEvent"), (.refused, "UnknownScreen"): .nothing
        case (.refused, "InvalidTopic"), (.refused, "InvalidEvent"), (.refused, "TooLarge"),
            (.refused, "InvalidArgs"):
            .badData
        case (.refused, _): .refused
        default: .notReachable
        }
    }

    /// What was wrong, and what would be right.
    var advice: String {
        switch code {
        case .notReachable where name?.hasPrefix("org.freedesktop.DBus.Error.Spawn.") == true:
            "notifyd could not be started by the bus: \(Terminal.plain(message)) “notifyctl doctor” says more."
        case .notReachable where name != nil:
            "notifyd is not on this bus. Start it with “systemctl --user start notifyd”, or by running notifyd."
        case .notReachable:
            "\(Terminal.plain(message)) Is a session bus running? Name another with --address."
        case .refused where name == "org.freedesktop.DBus.Error.UnknownMethod":
            "\(Terminal.plain(description)). The running notifyd is older than this notifyctl."
        default: Terminal.plain(description)
        }
    }
}
