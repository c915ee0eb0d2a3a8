import Glibc
import Journal
import Routing
import Systemd
import UserFiles

/// Gives the journal a new number, and with it a new `Device`: for two machines that share one, because the disk of one
/// was copied.
///
/// - Parameter state: the state directory; `nil`: that of the user.
/// - Returns: the exit code, and the new `Device` or what is wrong.
public func takeNewDevice(state: String?) -> (code: CInt, text: String) {
    let folder = state.map { BaseDirectories.absolute(path: $0) } ?? BaseDirectories().state
    guard access(folder + "/" + Journal.fileName, F_OK) == 0 else {
        return (
            ExitCode.noJournal,
            "There is no journal in \(folder). The first start of notifyd makes one, with a device of its own."
        )
    }
    do throws(JournalError) {
        let journal = try Journal(directory: folder)
        defer { journal.close() }
        if let seed = journal.seed {
            try journal.makeNewSeed(namingEarlierEvents: Origin.source(of: Machine.mix(seed)))
        }
        guard let seed = journal.seed else { throw .damaged }
        return (ExitCode.success, Machine.mix(seed))
    } catch {
        if error == .inUse {
            return (
                ExitCode.nameTaken,
                "The journal in \(folder) is in use. Stop notifyd first: systemctl --user stop notifyd-mqtt notifyd"
            )
        }
        return (ExitCode.systemFailure, "The journal in \(folder) cannot be changed: \(error)")
    }
}
