/// A banner that an earlier run left up.
public struct RestoredBanner: Sendable {
    /// An event that stands in it: shown, and claimed by nobody.
    public struct Shown: Sendable {
        /// With the route that its topic has today.
        public let event: Event
        /// How long ago it was accepted.
        public let age: Duration

        public init(_ event: Event, age: Duration) {
            self.event = event
            self.age = age
        }
    }

    /// The server's number.
    public let id: BannerID
    /// The first event that it showed, which names it.
    public let first: EventID
    /// Whether it is the one that a storm is folded into.
    public let isSummary: Bool
    /// In the order of their ids; empty where all are decided otherwise.
    public let events: [Shown]

    public init(_ id: BannerID, first: EventID, isSummary: Bool, events: [Shown]) {
        self.id = id
        self.first = first
        self.isSummary = isSummary
        self.events = events
    }
}
