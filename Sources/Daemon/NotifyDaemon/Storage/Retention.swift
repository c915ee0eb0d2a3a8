/// How long decided events stay in the journal.
struct Retention: Equatable, Sendable {
    /// The greatest age that can be set, in days.
    static let maximumDays = 3650
    /// The numbers of events that can be set.
    static let eventRange = 1000...10_000_000

    /// The age at which they are deleted.
    var age: Duration = .seconds(30 * 24 * 3600)
    /// The number of events beyond which the oldest are deleted.
    var events = 1_000_000
}
