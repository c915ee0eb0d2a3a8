import NotifyBridge

/// A registration that has no use any more, and that its distributor does not know of yet: its endpoint was removed, or
/// belongs to another distributor. It is kept on disk until it is ended.
struct FormerRegistration: Equatable, Sendable {
    let token: String
    /// The name on the bus.
    let distributor: String

    static let recordPrefix = "removed/"

    private var key: String { Self.recordPrefix + token + "/" + distributor }

    init(token: String, distributor: String) { (self.token, self.distributor) = (token, distributor) }

    // MARK: Its record

    var change: RecordChange { .put(key, text: distributor) }
    var removal: RecordChange { .remove(key) }

    /// `nil` if it is no record of one.
    init?(key: String) {
        let parts = key.dropFirst(Self.recordPrefix.count).split(separator: "/")
        guard key.hasPrefix(Self.recordPrefix), parts.count == 2 else { return nil }
        self.init(token: String(parts[0]), distributor: String(parts[1]))
    }
}
