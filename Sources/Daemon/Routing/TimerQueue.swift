import HeapModule

/// Timers by deadline; those with the same deadline fire in the order in which they were scheduled.
///
/// Timers are cancelled lazily. The owner of a timer keeps its id while the timer is armed. An entry whose id has no owner is
/// stale: it is skipped when it comes up, and removed by compaction when there are too many.
struct TimerQueue<Deadline: Comparable, Timer> {
    /// Tells apart the entries for equal timers.
    struct TimerID: Hashable {
        fileprivate let serial: UInt64
    }

    struct Entry: Comparable {
        let deadline: Deadline
        let id: TimerID
        let timer: Timer

        static func < (left: Entry, right: Entry) -> Bool {
            left.deadline == right.deadline ? left.id.serial < right.id.serial : left.deadline < right.deadline
        }

        static func == (left: Entry, right: Entry) -> Bool {
            left.id == right.id
        }
    }

    private var heap = Heap<Entry>()
    private var lastSerial: UInt64 = 0
    private var compactionThreshold = 64

    /// All entries in no particular order, stale ones included.
    var entries: [Entry] { heap.unordered }
    /// The entry with the earliest deadline; it may be stale.
    var next: Entry? { heap.min }
    /// Whether more than half of the entries may be stale.
    var needsCompaction: Bool { heap.count > compactionThreshold }

    mutating func schedule(_ timer: Timer, at deadline: Deadline) -> TimerID {
        lastSerial += 1
        let id = TimerID(serial: lastSerial)
        heap.insert(Entry(deadline: deadline, id: id, timer: timer))
        return id
    }

    mutating func removeNext() {
        heap.removeMin()
    }

    /// - Parameter armed: `entries` without the stale ones.
    mutating func compact(keeping armed: [Entry]) {
        heap = Heap(armed)
        compactionThreshold = 2 * armed.count + 64
    }
}
