import LinkMessages
import Routing

/// Another device on the line.
struct Peer {
    var record: DeviceRecord
    /// What was not taken yet, below `record.taken`: what is missing, and what notifyd has not answered yet. On disk
    /// both are the same.
    var open: RangeSet
    /// What notifyd has not answered yet.
    var pending = RangeSet()
    /// What is asked for only after an upgrade.
    var unknown: RangeSet

    /// Its stream begins during this connection.
    var isBegun = false

    // Presence.
    var isOnline = false
    var connection: UInt64 = 0
    var counter: UInt64 = 0
    /// The highest number of its descriptions.
    var described: UInt64 = 0
    var first: UInt64?
    var attended: Set<Digest> = []
    var heard: Uptime?
    /// The same by the wall clock, in microseconds since the epoch. On disk it is an hour old, at most, while the
    /// device is online.
    var heardAt: Int64?
    var offset = ClockOffset()
    var roundTrip: Duration?

    // Trouble.
    /// notifyd refuses its events until then.
    var blockedUntil: Uptime?
    var refusals = 0
    /// It is not asked before.
    var askAgain: Uptime?
    var unanswered = 0
    var unreadable = 0
    var events: TokenBucket?
    var values = 0

    init(_ record: DeviceRecord, limits: LinkLimits) {
        self.record = record
        open = RangeSet(record.missing, limit: limits.missingRanges)
        unknown = RangeSet(record.unknown, limit: limits.missingRanges)
    }

    /// What could be asked for.
    var missing: RangeSet.Range? { open.first(notIn: pending) }

    var isBehind: Bool { isOnline && record.start != nil && (described > record.taken || missing != nil) }

    /// Whether nothing but its key on a channel is known: it has left.
    var isKeyOnly: Bool { record.signer != nil && record.start == nil && record.name.isEmpty && !isOnline }

    /// Everything up to this number was taken.
    var floor: UInt64 { open.first?.after ?? record.taken }

    /// As it goes to disk.
    var stored: DeviceRecord {
        var record = record
        record.missing = open.ranges
        record.unknown = unknown.ranges
        return record
    }
}
