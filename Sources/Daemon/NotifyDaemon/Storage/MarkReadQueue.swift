import DequeModule
import Journal
import Routing

/// A job that marks events up to an id as read. It is done in batches, one per turn, because it may concern the whole
/// history.
struct MarkReadJob {
    let topic: TopicPrefix
    let upTo: EventID
    /// Who marks, and by which call.
    let claimant: String
    let form: ClaimForm
    /// Whose limit it counts for.
    let owner: String
    /// The call that waits for the count.
    let call: (any MethodCall)?
    /// Unread events found so far.
    var count: Int
    var position: Journal.UnreadPosition

    init(
        _ topic: TopicPrefix, upTo: EventID, by claimant: String, as form: ClaimForm, owner: String,
        call: (any MethodCall)?, count: Int
    ) {
        self.topic = topic
        self.upTo = upTo
        self.claimant = claimant
        self.form = form
        self.owner = owner
        self.call = call
        self.count = count
        position = Journal.UnreadPosition(before: topic)
    }
}

/// The running jobs, served round robin.
struct MarkReadQueue {
    /// Events marked per turn.
    static var portion: Int { 128 }
    static var limit: Int { 10_000 }
    static var limitPerProgram: Int { 1_000 }

    private var marks = Deque<MarkReadJob>()
    private var calls = CallCounter()

    var isEmpty: Bool { marks.isEmpty }
    var count: Int { marks.count }

    /// - Throws: `Refusal.limitExceeded` at a limit.
    func requireRoom(for owner: String) throws(Refusal) {
        guard marks.count < Self.limit, calls[owner] < Self.limitPerProgram else {
            throw .limitExceeded(
                "topics that are being marked as read: \(Self.limit), or \(Self.limitPerProgram) of one program, are "
                    + "waiting already; try again in a moment")
        }
    }

    mutating func put(_ mark: MarkReadJob) {
        marks.append(mark)
        calls.add(mark.owner)
    }

    mutating func takeNext() -> MarkReadJob? {
        guard let mark = marks.popFirst() else { return nil }
        calls.remove(mark.owner)
        return mark
    }
}
