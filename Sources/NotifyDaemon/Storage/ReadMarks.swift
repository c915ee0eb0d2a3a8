import DequeModule
import Journal
import Routing

/// What somebody has seen, up to an id, and how far that has been written down: a portion a turn, for it may be the whole
/// history.
struct ReadMark<Call> {
    let topic: TopicPrefix
    let upTo: EventID
    /// Who has seen it, and by which call.
    let claimant: String
    let form: ClaimForm
    /// The call that waits for the count.
    let call: Call?
    /// How many events were unread, so far.
    var count: Int
    var position: Journal.UnreadPosition

    init(
        _ topic: TopicPrefix, upTo: EventID, by claimant: String, as form: ClaimForm, call: Call?, count: Int
    ) {
        self.topic = topic
        self.upTo = upTo
        self.claimant = claimant
        self.form = form
        self.call = call
        self.count = count
        position = Journal.UnreadPosition(before: topic)
    }
}

/// The marks that are still to be written, which are served in turn.
struct ReadMarks<Call> {
    /// How many events are marked in a turn.
    static var portion: Int { 128 }
    static var limit: Int { 10_000 }
    static var limitPerConnection: Int { 1_000 }

    private var marks = Deque<ReadMark<Call>>()
    private var countByClaimant: [String: Int] = [:]

    var isEmpty: Bool { marks.isEmpty }
    var count: Int { marks.count }

    /// - Throws: `Refusal.limitExceeded` where one more of this connection would be too many.
    func requireRoom(for claimant: String) throws(Refusal) {
        guard marks.count < Self.limit, countByClaimant[claimant, default: 0] < Self.limitPerConnection else {
            throw .limitExceeded(
                "topics that are being marked as read: \(Self.limit), or \(Self.limitPerConnection) of one connection, are "
                    + "waiting already; try again in a moment")
        }
    }

    mutating func put(_ mark: ReadMark<Call>) {
        marks.append(mark)
        countByClaimant[mark.claimant, default: 0] += 1
    }

    /// Takes the mark whose turn it is.
    mutating func takeNext() -> ReadMark<Call>? {
        guard let mark = marks.popFirst() else { return nil }
        let count = countByClaimant[mark.claimant]!
        countByClaimant[mark.claimant] = count > 1 ? count - 1 : nil
        return mark
    }
}
