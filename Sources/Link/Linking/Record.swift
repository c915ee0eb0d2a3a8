import NotifyText

/// What is kept on disk of a line. A record replaces the one of the same key.
public enum Record: Equatable, Sendable {
    /// There is one.
    case line(LineRecord)
    /// What is known about another device; `nil` if nothing is any more.
    case device(Device, DeviceRecord?)
    /// A value or removal that began on this device and is current as far as is known; `nil` if there is none any more.
    case value(Digest, ValueRecord?)
}

/// How far a line has got with its own journal.
public struct LineRecord: Equatable, Sendable {
    /// A place in the stream of this device.
    struct Cursor: Equatable {
        /// Rows up to this one are done.
        var scanned: UInt64
        /// The number of the last row that was sent.
        var sent: UInt64
    }

    /// Where the stream began.
    var first: UInt64
    /// What the broker has acknowledged.
    var cursor: Cursor
    /// The highest number of the journal that was ever read. If it lies in a gap between two runs of notifyd, the
    /// journal was restored from a backup.
    public internal(set) var seen: UInt64
    /// The number of the last connection.
    var connection: UInt64
    /// Of the last description.
    var counter: UInt64
    /// Whether the present that a new device begins with is known.
    var hasJoined: Bool
    /// The version of the protocol of the program that wrote this.
    var version: Int

    /// The record after `notifyctl link reset`: under its new name, the device sends its whole stream again. Nobody
    /// knows what the second machine has hidden, and what somebody still misses of the old device nobody answers any
    /// more.
    public var reset: LineRecord {
        var record = self
        record.cursor = Cursor(scanned: first, sent: first)
        record.connection = 0
        record.counter = 0
        return record
    }
}

/// What is known about another device.
public struct DeviceRecord: Equatable, Sendable {
    /// How far its stream was in the journal at some time. If the journal is restored to a number above `own`,
    /// everything of the stream up to `theirs` is still in it.
    struct Checkpoint: Equatable {
        var own: UInt64
        var theirs: UInt64
    }

    /// Where this device began to listen to its stream; `nil` until anything of it is known.
    var start: UInt64?
    /// Whether `start` was taken from a message; the description may say that the stream began earlier.
    var isStartProvisional = false
    /// The highest number that was received.
    var received: UInt64 = 0
    /// What is missing below that; see `NumberSet`.
    var missing: [Range<UInt64>] = []
    /// What could not be understood; requested after an upgrade.
    var unknown: [Range<UInt64>] = []
    /// Newest last.
    var checkpoints: [Checkpoint] = []
    /// The key that was pinned on a channel.
    var signer: Signer?
    /// Its name, for people.
    var name = ""
    /// When the last message of it came, in microseconds since the epoch.
    var seen: Int64
    /// When its first message came, likewise; `nil` once it has sent an entry that was accepted. Where there are too
    /// many devices, those that have sent none are dropped first.
    var silentSince: Int64?
}

/// A current value that began on this device.
public struct ValueRecord: Equatable, Sendable {
    /// Its row in the journal.
    var number: UInt64
    var topic: Topic
    var stamp: ValueStamp
    /// When it ends, by this device's clock.
    var expires: Int64
    var isRemoval: Bool
}
