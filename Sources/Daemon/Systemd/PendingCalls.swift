/// The calls of a connection that wait for their replies.
///
/// sd-bus matches replies with calls by serial number alone, and a bus may deliver unrequested replies: dbus-daemon
/// does so with the usual policy of a session bus. Here replies are matched by serial number and sender. A reply of
/// another sender is ignored.
struct PendingCalls {
    typealias Answer = (borrowing BusMessage) -> Void

    private struct Pending {
        /// `nil` if the call does not time out.
        let call: RetainedMessage?
        let destination: String
        let deadline: UInt64
        let answer: Answer
    }

    private var pending: [UInt64: Pending] = [:]
    /// The earliest deadline of a call; microseconds of the monotonic clock.
    private(set) var earliestDeadline = UInt64.max

    mutating func add(
        _ cookie: UInt64, _ call: RetainedMessage?, to destination: String, deadline: UInt64, _ answer: @escaping Answer
    ) {
        pending[cookie] = Pending(call: call, destination: destination, deadline: deadline, answer: answer)
        earliestDeadline = min(earliestDeadline, deadline)
    }

    /// Removes the call that this message replies to; `nil` if there is none, or its reply has to come from another
    /// connection.
    mutating func take(_ cookie: UInt64, from sender: String, isError: Bool) -> Answer? {
        guard let call = pending[cookie], ExpectedSender.mayReply(sender, callTo: call.destination, isError: isError)
        else { return nil }
        pending[cookie] = nil
        if pending.isEmpty { earliestDeadline = .max }
        return call.answer
    }

    /// Removes the calls whose deadline has passed, in the order in which they were made.
    mutating func takeDue(at now: UInt64) -> [(call: RetainedMessage, answer: Answer)] {
        guard now >= earliestDeadline else { return [] }
        let due = pending.filter { $0.value.deadline <= now }.sorted { $0.key < $1.key }
        for (cookie, _) in due { pending[cookie] = nil }
        earliestDeadline = pending.values.map(\.deadline).min() ?? .max
        return due.compactMap { entry in entry.value.call.map { ($0, entry.value.answer) } }
    }
}
