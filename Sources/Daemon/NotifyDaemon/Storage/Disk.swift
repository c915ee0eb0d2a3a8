import Journal
import Routing

/// Where the journal is.
protocol Disk {
    /// Its name in messages.
    var name: String { get }
    /// Describes an error and, where known, its cause.
    func explanation(of error: JournalError) -> String
    func openJournal() throws(JournalError) -> any EventStore
    /// Opens a journal that cannot be written, read-only.
    func openJournalForReading() throws(JournalError) -> any EventStore
}

/// The state directory.
struct StateDirectory: Disk {
    let name: String
    private let limits: Limits

    init(_ path: String, limits: Limits) {
        name = path
        self.limits = limits
    }

    func explanation(of error: JournalError) -> String {
        guard error == .readOnly, let obstacle = WriteObstacle.description(of: name) else { return "\(error)" }
        return "\(error): \(obstacle)"
    }

    func openJournal() throws(JournalError) -> any EventStore { try Journal(directory: name, limits: limits) }
    func openJournalForReading() throws(JournalError) -> any EventStore {
        try Journal(readingIn: name, limits: limits)
    }
}
