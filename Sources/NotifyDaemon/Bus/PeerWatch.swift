import Systemd

/// Hears of every connection that leaves the bus.
///
/// One rule names them all, and the bus keeps order: the news comes after the last message of the one that left. It has to
/// be there before the daemon can be called, for a caller may be gone before the daemon gets to reading its call.
final class PeerWatch {
    /// Called on the loop, with the unique name.
    var onLeave: (String) -> Void = { _ in }
    private var slot: BusSlot?

    init(_ bus: BusConnection) throws(SystemdError) {
        slot = try bus.matchOwners("arg2=''") { [unowned self] name, _ in
            if name.hasPrefix(":") { onLeave(name) }
        }
    }
}
