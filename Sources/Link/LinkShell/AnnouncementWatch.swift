import NotifyBridge
import NotifyClient

/// Asks for the signals `Event` and `Resolved` while a line may hold banners, and only then: for each of them the bus
/// and the bridge work as much as for the event itself.
///
/// Everything runs on the loop of the connection.
final class AnnouncementWatch: @unchecked Sendable {
    // Proof: everything but `init` runs on the loop.

    private let services: BridgeServices
    private let handler: @Sendable (DaemonNotice) -> Void
    private var observation: DaemonObservation?
    private var isWanted = false
    private var end: WorkTimer?

    /// A line that is behind for a moment is soon behind again.
    private static let linger: Duration = .seconds(1)

    init(_ services: BridgeServices, _ handler: @escaping @Sendable (DaemonNotice) -> Void) {
        self.services = services
        self.handler = handler
    }

    /// Calls that are submitted after this have their signals delivered.
    func want(_ isWanted: Bool) {
        guard isWanted != self.isWanted else { return }
        self.isWanted = isWanted
        end?.cancel()
        end = nil
        if isWanted {
            observation = observation ?? services.daemon.observe([.event, .resolved], handler)
        } else {
            end = services.loop.perform(after: Self.linger) { [weak self] in self?.observation = nil }
        }
    }
}
