/// The calls of a connection that are not answered yet.
///
/// sd-bus matches answers with calls by the number alone, and a bus may hand on answers that nobody asked for: dbus-daemon
/// does with the policy of a usual session bus. So answers are matched here, by number and sender. An answer from a stranger
/// is ignored, and the true one is still awaited.
struct BusCalls {
    typealias Answer = (borrowing BusMessage) -> Void

    private struct Pending {
        let call: HeldMessage
        let destination: String
        let deadline: UInt64
        let answer: Answer
    }

    private var pending: [UInt64: Pending] = [:]
    /// No call is due earlier; microseconds of the monotonic clock.
    private(set) var earliestDeadline = UInt64.max

    mutating func add(
        _ cookie: UInt64, _ call: HeldMessage, to destination: String, deadline: UInt64, _ answer: @escaping Answer
    ) {
        pending[cookie] = Pending(call: call, destination: destination, deadline: deadline, answer: answer)
        earliestDeadline = min(earliestDeadline, deadline)
    }

    /// Takes what waits for this answer; `nil` where nothing does, or where another connection has to give it.
    mutating func take(_ cookie: UInt64, from sender: String, isError: Bool) -> Answer? {
        guard let call = pending[cookie],
            Speaker.mayAnswer(sender, callTo: call.destination, isError: isError)
        else { return nil }
        pending[cookie] = nil
        if pending.isEmpty { earliestDeadline = .max }
        return call.answer
    }

    /// Takes the calls that are due, in the order in which they were made.
    mutating func takeDue(at now: UInt64) -> [(call: HeldMessage, answer: Answer)] {
        guard now >= earliestDeadline else { return [] }
        let due = pending.filter { $0.value.deadline <= now }.sorted { $0.key < $1.key }
        for (cookie, _) in due { pending[cookie] = nil }
        earliestDeadline = pending.values.map(\.deadline).min() ?? .max
        return due.map { ($0.value.call, $0.value.answer) }
    }
}
