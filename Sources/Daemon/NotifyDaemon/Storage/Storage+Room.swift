import Journal
import Routing

/// What the journal may take of a disk, in bytes. Whatever it takes, there is room to write its log to the file, and then for
/// deletions.
struct DiskLimits {
    /// For the log. A checkpoint follows the transaction that exceeds it, and may make the file larger by as much as the log has.
    let log: Int
    /// The number of undecided events, and the bytes that they take.
    var undecided = (events: 0, bytes: 0)

    /// For the events of a transaction.
    var transaction: Int { min(1 << 20, log / 2) }
    /// Entries of a transaction. Each may be on a page of its own, and so may its entries in the indexes; and an outcome writes the
    /// whole row of its event.
    var entries: Int { max(8, log / ((16 << 10) + undecided.bytes / max(1, undecided.events))) }
    /// The last event of a transaction may be a large one, and there are the indexes.
    private var largestTransaction: Int { transaction * 3 / 2 + (96 << 10) }
    /// What new events leave free: for the log, and for the file.
    var margin: Int { 2 * (log + largestTransaction) + outcomes }
    /// The same where the file does not become larger.
    var marginForLog: Int { log + largestTransaction }
    /// With so much free in the file it does not become larger.
    var freeInFile: Int { max(128 << 10, 2 * transaction) + outcomes }
    /// What is kept for deletions on a disk that others have filled.
    var forDeletions: Int { 2 * log }

    /// For the outcomes of all undecided events. Where rows grow, the pages that they are on are split in two. The row of a large
    /// event has pages of its own, and may take one more.
    private var outcomes: Int { min(undecided.bytes, Self.outcomes(undecided.events)) }

    /// The bytes that so many outcomes take at most.
    static func outcomes(_ count: Int) -> Int { count * (Journal.pageSize + 512) }
}

/// What `Storage` knows of the room on the disk.
struct Room {
    var limits: DiskLimits
    /// Whether there is no reserve, because the disk has no room for it.
    var lacksReserve = false
    /// Whether what is left is for outcomes and deletions.
    var isShort = false
    /// Whether what is left is for deletions.
    var isLow = false
    /// Whether the last failure was that the disk is full.
    var isDiskFull = false
    /// Bytes written since it was last checked.
    var unchecked = 0
    /// When the disk was last looked at for room for a reserve.
    var lastLook = Instant(microseconds: 0)
}

/// The room on the disk: new events are refused before there is none.
extension Storage {
    func releaseReserve() {
        disk.releaseReserve()
        room.lacksReserve = true
    }

    /// - Parameter isRetry: whether new events may be accepted again, and the reserve made again.
    func checkRoom(isRetry: Bool = false) throws(JournalError) {
        room.limits = DiskLimits(log: disk.logLimit, undecided: undecidedSize())
        let limits = room.limits
        room.unchecked = 0
        // A little more is needed to go on than to stop.
        let slack = isRetry && room.isShort ? limits.margin / 8 : 0
        var hasRoom = disk.hasRoom(for: limits.margin + slack, isTried: isRetry)
        var isInFile = false
        if !hasRoom || isRetry && disk.missingReserve > 0 {
            let free = try journal?.freeBytes ?? 0
            isInFile = free >= limits.freeInFile + (slack > 0 ? limits.freeInFile / 4 : 0)
        }
        if !hasRoom, isInFile {
            if isRetry, disk.hasReserve, !disk.hasRoom(for: limits.marginForLog, isTried: true) {
                // Deletions need no more than the log does.
                releaseReserve()
            }
            hasRoom = disk.hasRoom(for: limits.marginForLog, isTried: isRetry)
        }
        guard isRetry || !hasRoom else { return }
        let missing = disk.missingReserve
        if isRetry, missing > 0 {
            // Afterwards there is as much left as is needed to go on.
            let left = isInFile ? limits.marginForLog : limits.margin + limits.margin / 8
            let isReserved = disk.hasRoom(for: left + missing, isTried: true) && disk.fillReserve()
            room.lacksReserve = !isReserved
        }
        room.isShort = !hasRoom
        room.isLow =
            room.lacksReserve && !hasRoom && !isInFile
            && !disk.hasRoom(for: limits.forDeletions, isTried: isRetry)
        if room.isShort { say(.diskFull) }
    }

    /// Whether so many outcomes can be written, and deletions still have room.
    func hasRoom(forOutcomes count: Int) throws(JournalError) -> Bool {
        guard let journal else { return false }
        let bytes = DiskLimits.outcomes(count)
        let needed = try room.limits.forDeletions + journal.unwrittenGrowth
        if disk.hasRoom(for: needed + bytes, isTried: true) { return true }
        guard disk.hasRoom(for: needed, isTried: true) else { return false }
        return try journal.freeBytes >= room.limits.freeInFile + bytes
    }

    /// Makes a reserve that was released, once there is room. Called at the ends of turns, it looks once a second.
    func refillReserve(at moment: Instant) {
        guard room.lacksReserve, acceptsEvents, moment - room.lastLook >= .seconds(1) else { return }
        room.lastLook = moment
        do throws(JournalError) { try checkRoom(isRetry: true) } catch { degrade(error) }
    }
}
