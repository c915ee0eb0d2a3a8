import Journal
import Routing

/// Where the journal is kept, with a ballast beside it that can be given up when there is no room left.
protocol Disk {
    /// What people know it by.
    var name: String { get }
    func openJournal() throws(JournalError) -> any EventStore
    var isBallastFull: Bool { get }
    func fillBallast()
    func giveUpBallast()
}

/// The state directory.
struct StateDirectory: Disk {
    let name: String
    private let limits: Limits
    private let ballast: Ballast

    init(_ path: String, limits: Limits) {
        name = path
        self.limits = limits
        ballast = Ballast(directory: path)
    }

    func openJournal() throws(JournalError) -> any EventStore { try Journal(directory: name, limits: limits) }
    var isBallastFull: Bool { ballast.isFull }
    func fillBallast() { ballast.fill() }
    func giveUpBallast() { ballast.giveUp() }
}
