import NotifyClient

/// The inbox in short, for a status bar.
struct InboxStatus: Hashable, Sendable {
    /// How many of the newest events it has.
    static let named = 5

    /// Whether notifyd is there.
    var isRunning = false
    /// Why notifyd accepts nothing now; empty if it does.
    var degradation = ""
    var unread = 0
    /// The newest first, at most ``named``.
    var newest: [InboxEntry] = []
    /// What holds banners of the topic back for the longest time; `nil` if nothing.
    var quiet: Quiet?

    /// - Parameter quiet: everything that holds banners back.
    static func quiet(_ quiet: [Quiet], at topic: String) -> Quiet? {
        quiet.filter { $0.covers(topic) }.max { ($0.until ?? .max) < ($1.until ?? .max) }
    }

    /// Whether pushes are not seen, or not even accepted, until somebody does something.
    var isInTrouble: Bool { !isRunning || !degradation.isEmpty }

    var isUrgent: Bool { newest.contains { $0.urgency == .critical } }
}
