import DequeModule
import Journal
import Routing

/// A call of `Forget`. It is done in portions, one per turn, because it may concern the whole history.
struct ForgetJob {
    let topic: TopicPrefix
    let upTo: EventID
    /// Whose limit it counts for.
    let owner: String
    let call: any MethodCall
    /// Events deleted so far.
    var count = 0
    /// Where the next portion begins; `nil` when all events are deleted.
    var position: Journal.UnreadPosition?

    var isDeleted: Bool { position == nil }

    init(_ topic: TopicPrefix, upTo: EventID, by owner: String, call: any MethodCall) {
        self.topic = topic
        self.upTo = upTo
        self.owner = owner
        self.call = call
        position = Journal.UnreadPosition(before: topic)
    }
}

/// The calls that are under way.
///
/// The journal is scrubbed once for all calls that wait at the same time: first the events of each are deleted, then
/// the pages are scrubbed, then all are answered. Later calls wait for the next batch, so that none waits for ever.
struct ForgetQueue {
    /// Events deleted per turn.
    static var portion: Int { 128 }
    static var limit: Int { 1_000 }
    static var limitPerProgram: Int { 100 }

    private var waiting = Deque<ForgetJob>()
    /// The jobs of the current batch whose events are being deleted, served round robin.
    private var deleting = Deque<ForgetJob>()
    /// The jobs of the current batch whose events are deleted.
    private var deleted: [ForgetJob] = []
    private var calls = CallCounter()

    var isEmpty: Bool { calls.isEmpty }

    /// - Throws: `Refusal.limitExceeded` at a limit.
    mutating func add(_ job: ForgetJob) throws(Refusal) {
        let count = waiting.count + deleting.count + deleted.count
        guard count < Self.limit, calls[job.owner] < Self.limitPerProgram else {
            throw .limitExceeded(
                "calls of Forget: \(Self.limit), or \(Self.limitPerProgram) of one program, are under way "
                    + "already; wait for their answers")
        }
        calls.add(job.owner)
        waiting.append(job)
    }

    /// The next job with events to delete; `nil` once the events of the batch are deleted. `put` puts it back.
    mutating func takeNext() -> ForgetJob? {
        if deleting.isEmpty, deleted.isEmpty { swap(&waiting, &deleting) }
        return deleting.popFirst()
    }

    mutating func put(_ job: ForgetJob) {
        if job.isDeleted { deleted.append(job) } else { deleting.append(job) }
    }

    /// Begins the batch again: more events can be deleted now.
    mutating func repeatDeleted() {
        for var job in deleted {
            job.position = Journal.UnreadPosition(before: job.topic)
            deleting.append(job)
        }
        deleted = []
    }

    /// Ends the batch, whose events are deleted.
    mutating func takeDeleted() -> [ForgetJob] {
        for job in deleted { calls.remove(job.owner) }
        defer { deleted = [] }
        return deleted
    }

    /// All jobs, because the journal has failed.
    mutating func takeAll() -> [ForgetJob] {
        defer { self = ForgetQueue() }
        return deleted + deleting + waiting
    }
}
