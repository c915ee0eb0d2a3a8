import Journal
import Routing

/// Where the journal is.
struct StateDirectory {
    /// Its path.
    let name: String
    let limits: Limits
    /// Makes the disk of the log; tests make up others.
    var logDisk: (String) -> any LogDisk = { DirectoryDisk($0) }
    /// Microseconds since the epoch.
    var realtime: () -> Int64 = Journal.now

    init(_ path: String, limits: Limits) {
        name = path
        self.limits = limits
    }

    /// Describes an error and, where known, its cause.
    func explanation(of error: JournalError) -> String {
        guard error == .readOnly, let obstacle = WriteObstacle.description(of: name) else { return "\(error)" }
        return obstacle
    }

    func openJournal() -> Journal { Journal(in: name, limits: limits, realtime: realtime, logDisk(name)) }
}
