public import LinkMessages
public import Routing

/// A row of `Changes`: something that was committed to the journal. org.notifyd.Router1(5).
public struct Change: Equatable, Sendable {
    /// Grows strictly.
    public var number: UInt64
    /// The line by which it came in; empty where it began on this device.
    public var via: String
    public var kind: Kind

    public init(number: UInt64, via: String = "", kind: Kind) {
        self.number = number
        self.via = via
        self.kind = kind
    }

    /// The kinds of rows.
    public enum Kind: Equatable, Sendable {
        /// `event`.
        case event(SaidEvent)
        /// `outcome` (claimed, retracted, dismissed or withdrawn) and `read`.
        case claim(SaidClaim)
        /// `removed` with cause `publisher`.
        case removal(SaidRemoval)
        /// Any other outcome or cause, and kinds that are not known: nothing of it leaves the device.
        case other
        /// `start`: notifyd has started, and the highest number that this journal had given out before was `last`. A
        /// journal that was restored from a backup has a gap here: numbers above `last` that this module has seen are
        /// lost.
        case start(last: UInt64)
    }
}

/// An answer of `Changes`.
public struct ChangesPage: Equatable, Sendable {
    /// In ascending order.
    public var changes: [Change]
    /// Whether there are no further rows.
    public var isLast: Bool

    public init(changes: [Change], isLast: Bool) {
        self.changes = changes
        self.isLast = isLast
    }
}

/// The signal `Event`.
public struct Announced: Equatable, Sendable {
    public var id: EventID
    public var name: GlobalName
    public var topic: Topic
    /// The line by which it came in; empty where it began on this device.
    public var via: String
    /// Whether claims are awaited: there will be a banner.
    public var hasWindow: Bool

    public init(id: EventID, name: GlobalName, topic: Topic, via: String = "", hasWindow: Bool) {
        self.id = id
        self.name = name
        self.topic = topic
        self.via = via
        self.hasWindow = hasWindow
    }
}
