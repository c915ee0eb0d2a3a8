import HeapModule

/// What is due when, the earliest first, and at the same moment in the order in which it was put down.
///
/// Nothing is ever struck off. Who puts a matter down keeps the ticket for as long as it stands, and an entry whose ticket
/// nobody has is stale: it is passed over when it comes up, and swept out when there are too many of its kind.
struct Agenda<Moment: Comparable, Matter> {
    /// Tells the entries of a matter apart: only its last one counts.
    struct Ticket: Hashable {
        fileprivate let serial: UInt64
    }

    struct Entry: Comparable {
        let moment: Moment
        let ticket: Ticket
        let matter: Matter

        static func < (left: Entry, right: Entry) -> Bool {
            left.moment == right.moment ? left.ticket.serial < right.ticket.serial : left.moment < right.moment
        }

        static func == (left: Entry, right: Entry) -> Bool {
            left.ticket == right.ticket
        }
    }

    private var heap = Heap<Entry>()
    private var lastSerial: UInt64 = 0
    private var roomBeforeSweep = 64

    /// Everything that was put down and has not come up, in no order, stale or not.
    var entries: [Entry] { heap.unordered }
    /// The entry that comes up next.
    var next: Entry? { heap.min }
    /// Whether so much has been added since the last sweep that there may be more stale entries than others.
    var isCrowded: Bool { heap.count > roomBeforeSweep }

    mutating func put(_ matter: Matter, at moment: Moment) -> Ticket {
        lastSerial += 1
        let ticket = Ticket(serial: lastSerial)
        heap.insert(Entry(moment: moment, ticket: ticket, matter: matter))
        return ticket
    }

    mutating func removeNext() {
        heap.removeMin()
    }

    /// - Parameter current: what is left of `entries` without those that are stale.
    mutating func sweep(leaving current: [Entry]) {
        heap = Heap(current)
        roomBeforeSweep = 2 * current.count + 64
    }
}
