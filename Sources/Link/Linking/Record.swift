public import NotifyText

/// What is kept on disk of a line. A record replaces the one of the same key.
public enum Record: Equatable, Sendable {
    /// There is one.
    case line(LineRecord)
    case device(Device, DeviceRecord)
    case deviceDropped(Device)
    /// A value or removal that began on this device and is current as far as is known.
    case value(Digest, ValueRecord)
    case valueDropped(Digest)

    var isLine: Bool { if case .line = self { true } else { false } }
}

/// How far a line has got with its own journal.
public struct LineRecord: Equatable, Sendable {
    /// A place in the stream of this device.
    public struct Cursor: Equatable, Sendable {
        /// Rows up to this one are dealt with.
        public var scanned: UInt64
        /// The number of the last row that was said.
        public var said: UInt64

        public init(scanned: UInt64, said: UInt64) {
            self.scanned = scanned
            self.said = said
        }
    }

    /// Where the stream began.
    public var first: UInt64
    /// What the broker has acknowledged.
    public var cursor: Cursor
    /// The highest number of the journal that was ever read. If it lies in a gap between two runs of notifyd, the
    /// journal was restored from a backup.
    public var seen: UInt64
    /// The number of the last connection.
    public var connection: UInt64
    /// Of the last description.
    public var counter: UInt64
    /// Whether the present that a new device begins with is known.
    public var hasJoined: Bool
    /// The version of the protocol of the program that wrote this.
    public var version: Int

    public init(
        first: UInt64, cursor: Cursor, seen: UInt64, connection: UInt64, counter: UInt64, hasJoined: Bool, version: Int
    ) {
        self.first = first
        self.cursor = cursor
        self.seen = seen
        self.connection = connection
        self.counter = counter
        self.hasJoined = hasJoined
        self.version = version
    }

    /// The record after `notifyctl link reset`: under its new name, the device says its whole stream again. Nobody
    /// knows what the second machine has hidden, and what somebody still misses of the old device nobody answers any
    /// more.
    public var reset: LineRecord {
        var record = self
        record.cursor = Cursor(scanned: first, said: first)
        record.connection = 0
        record.counter = 0
        return record
    }
}

/// What is known about another device.
public struct DeviceRecord: Equatable, Sendable {
    /// How far its stream was in the journal at some time. If the journal is restored to a number above `own`,
    /// everything of the stream up to `theirs` is still in it.
    public struct Checkpoint: Equatable, Sendable {
        public var own: UInt64
        public var theirs: UInt64

        public init(own: UInt64, theirs: UInt64) {
            self.own = own
            self.theirs = theirs
        }
    }

    /// Where this device began to listen to its stream; `nil` until anything of it is known.
    public var start: UInt64?
    /// Whether `start` was taken from a message; the description may say that the stream began earlier.
    public var isStartProvisional = false
    /// The highest number that was received.
    public var taken: UInt64 = 0
    /// What is missing below that.
    public var missing: [RangeSet.Range] = []
    /// What could not be understood; asked for after an upgrade.
    public var unknown: [RangeSet.Range] = []
    /// Newest last.
    public var checkpoints: [Checkpoint] = []
    /// The key that was pinned on a channel.
    public var signer: Signer?
    /// Its name, for people.
    public var name = ""
    /// When it was last heard, in microseconds since the epoch.
    public var seen: Int64
    /// When it was first heard, likewise; `nil` once it has said something that was taken. Where there are too many
    /// devices, those that have said nothing go first.
    public var silentSince: Int64?

    public init(seen: Int64) {
        self.seen = seen
    }
}

/// A current value that began on this device.
public struct ValueRecord: Equatable, Sendable {
    /// Its row in the journal.
    public var number: UInt64
    public var topic: Topic
    public var stamp: ValueStamp
    /// When it ends, by this device's clock.
    public var expires: Int64
    public var isRemoval: Bool

    public init(number: UInt64, topic: Topic, stamp: ValueStamp, expires: Int64, isRemoval: Bool) {
        self.number = number
        self.topic = topic
        self.stamp = stamp
        self.expires = expires
        self.isRemoval = isRemoval
    }
}

/// Which of two values of a topic is newer: the later one, and of two at the same time the one with the greater name,
/// bytewise. Every device decides the same; rule 7 of docs/link.md.
public struct ValueStamp: Comparable, Hashable, Sendable {
    /// Microseconds since the epoch.
    public var published: Int64
    public var name: GlobalName

    public init(published: Int64, name: GlobalName) {
        self.published = published
        self.name = name
    }

    public static func < (left: ValueStamp, right: ValueStamp) -> Bool {
        left.published == right.published ? left.name < right.name : left.published < right.published
    }
}

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
