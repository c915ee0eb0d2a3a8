import ArgumentParser
import Glibc
import NotifyClient
import TOMLTables
import UserFiles

/// The exit codes of `notifyctl`, after sysexits.h.
extension ExitCode {
    /// Nothing matched, or time ran out.
    static let nothing = ExitCode(1)
    static let badData = ExitCode(ExitStatus.badData)
    static let notReachable = ExitCode(ExitStatus.nameTaken)
    static let refused = ExitCode(77)
    static let badConfiguration = ExitCode(ExitStatus.badConfiguration)
}

/// Why a command cannot do what it is told to do, and its exit code.
struct Complaint: Error {
    /// For people: what is wrong, and what to do about it.
    let lines: [String]
    let code: ExitCode

    /// - Parameter line: any text; control characters are replaced.
    init(_ code: ExitCode, _ line: String) { self.init(code, lines: [line]) }

    init(_ code: ExitCode, lines: [String]) { (self.code, self.lines) = (code, lines.map(Terminal.plain)) }
}

/// Prints an error on standard error. It becomes an exit code.
func reported(_ error: any Error) -> any Error {
    let (lines, code): ([String], ExitCode)
    switch error {
    case let error as Complaint: (lines, code) = (error.lines, error.code)
    case let error as NotifyError: (lines, code) = ([error.advice], error.exitCode)
    case let error as ProcessError: (lines, code) = ([error.description], .notReachable)
    case let error as ConfigurationError: (lines, code) = (error.lines, .badConfiguration)
    default: return error
    }
    for line in lines { Terminal.complain(line) }
    return code
}

extension NotifyError {
    var exitCode: ExitCode {
        switch (code, name?.split(separator: ".").last) {
        case (.invalidArgument, _): .badData
        case (.timedOut, _): .nothing
        case (.refused, "UnknownEvent"), (.refused, "UnknownScreen"), (.refused, "UnknownDevice"): .nothing
        case (.refused, "NotConnected"): .notReachable
        case (.refused, "InvalidTopic"), (.refused, "InvalidEvent"), (.refused, "TooLarge"),
            (.refused, "InvalidArgs"):
            .badData
        case (.refused, _): .refused
        case (.notReachable, _) where name == Self.badConfiguration: .badConfiguration
        default: .notReachable
        }
    }

    /// What to do if there is no bus, or none that takes this user. The usual causes are told: sudo(8) has kept the
    /// address of somebody else's bus, or this is root, on whom a session bus hangs up.
    static func busAdvice(_ environment: @escaping (String) -> String? = BaseDirectories.environment) -> String {
        let own = BaseDirectories { $0 == "DBUS_SESSION_BUS_ADDRESS" ? nil : environment($0) }.sessionBusAddress
        let kept = BaseDirectories(environment: environment).sessionBusAddress
        let prefix = "unix:path="
        let path = kept.map { $0.hasPrefix(prefix) ? String($0.dropFirst(prefix.count)) : "" } ?? ""
        var status = stat()
        let isForeign = stat(path, &status) == 0 && status.st_uid != geteuid()
        var sentences = [
            isForeign
                ? "\(path) belongs to user \(status.st_uid), and its bus takes nobody else, such as user \(geteuid())."
                : "Is a session bus running?"
        ]
        if let own, own != kept {
            sentences.append("DBUS_SESSION_BUS_ADDRESS does not name yours: --address \(own).")
        } else {
            sentences.append("Name another with --address unix:path=….")
        }
        if geteuid() == 0 {
            sentences.append(
                "As root name the user, whose bus takes nobody else: --user NAME with “send” and “status”; for other "
                    + "commands: sudo -u NAME notifyctl …")
        }
        return sentences.joined(separator: " ")
    }

    /// What is wrong, and how to correct it.
    var advice: String {
        switch code {
        case .notReachable where name == Self.badConfiguration:
            message.split(separator: "\n").map { Terminal.plain(String($0)) }.joined(separator: "\n")
                + "\nCorrect it, and try again. “notifyctl config check” checks it."
        case .notReachable where name.map(Self.saysThatNothingStarted) == true:
            "notifyd could not be started by the bus: \(Terminal.plain(message)) “notifyctl doctor” says more."
        case .notReachable where name == NotifyError.noReply:
            "notifyd ended before it answered. Try again; “systemctl --user status notifyd” says why it ended."
        case .notReachable where name != nil:
            "notifyd is not on this bus. Start it with “systemctl --user start notifyd”, or by running notifyd."
        case .notReachable:
            "\(Terminal.plain(message)) \(Self.busAdvice())"
        case .timedOut:
            "\(Terminal.plain(message)) notifyd is busy or hangs; see “systemctl --user status notifyd”."
        case .readerTooSlow:
            "The reader of the output is too slow: events were missed. With --since ID none is missed."
        case .refused where name == NotifyError.unknownMethod:
            "The running notifyd is older than this notifyctl. Start the new one: “systemctl --user restart notifyd”."
        case .refused where name?.hasSuffix(".Error.UnknownEvent") == true:
            "\(Terminal.plain(message)). “notifyctl history” lists the events that there are, with their ids."
        // The exit code tells the kind; the name would tell a user nothing more.
        case .refused where name?.hasPrefix("org.notifyd.") == true: Terminal.plain(message)
        default: Terminal.plain(description)
        }
    }
}

/// The folder that `HOME` names.
enum UserHome {
    /// Why nothing may be written into it; `nil` if something may.
    static var flaw: String? {
        for name in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "ZDOTDIR"] {
            if let value = getenv(name), String(validatingCString: value) == nil {
                return "\(name) is not text in UTF-8: files would be written into another folder"
            }
        }
        var status = stat()
        let home = BaseDirectories().home
        guard getuid() == 0, stat(home, &status) == 0, status.st_uid != 0 else { return nil }
        return "HOME is \(home), which belongs to user \(status.st_uid), and you are root: its owner "
            + "could not use what root writes there. Run this as that user, or with the HOME of root"
    }

    /// - Throws: `Complaint` if a file is in a home that must not be written into.
    static func requireOwn(for path: String) throws {
        guard path.hasPrefix(BaseDirectories().home + "/"), let flaw else { return }
        throw Complaint(.refused, "\(path) was not written. \(flaw).")
    }
}

extension WholeFile {
    /// Makes a folder and those above it. One that could not be made shows when a file is written into it.
    static func makeFolder(_ path: String) {
        guard access(path, F_OK) != 0, let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return }
        makeFolder(String(path[..<slash]))
        mkdir(path, 0o700)
    }

    /// Writes the file, and makes its folder.
    ///
    /// - Throws: `Complaint`
    static func replace(_ path: String, with bytes: [UInt8], mode: mode_t = 0o600) throws {
        try UserHome.requireOwn(for: path)
        if let slash = path.lastIndex(of: "/") { makeFolder(String(path[..<slash])) }
        do throws(WholeFile.Failure) {
            try write(bytes, to: path, mode: mode)
        } catch {
            throw Complaint(.refused, "\(path) cannot be written: \(error).")
        }
    }
}
