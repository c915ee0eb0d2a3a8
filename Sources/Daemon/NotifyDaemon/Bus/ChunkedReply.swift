import Routing
import Systemd

/// A reply that may be long. It is made in chunks, and other callers are served between two of them.
final class ChunkedReply {
    /// Appends to the reply until `end`, and returns whether it is complete.
    typealias Portion = (_ reply: borrowing BusMessage, _ end: Instant) throws(Refusal) -> Bool

    fileprivate let call: RetainedMessage
    fileprivate let reply: RetainedMessage
    /// About how long the reply is so far.
    var bytes = 0
    fileprivate var portion: Portion?
    private unowned let interface: RouterInterface

    /// - Parameter interface: counts the replies that are neither complete nor dropped.
    fileprivate init(_ call: RetainedMessage, _ reply: RetainedMessage, of interface: RouterInterface) {
        self.call = call
        self.reply = reply
        self.interface = interface
        interface.chunkedReplies += 1
    }

    deinit { interface.chunkedReplies -= 1 }
}

extension RouterInterface {
    /// Replies made at a time, because each is in memory until it is sent. A caller has at most one: its rest is first
    /// in the caller's queue.
    private static let chunkedReplyLimit = 2
    /// How long one chunk takes.
    private static let portionLength: Duration = .milliseconds(1)

    /// Replies to a call in chunks, now or once fewer such replies are being made.
    ///
    /// - Parameter begin: takes the snapshot that the reply describes, and returns what writes it.
    func answer(
        _ call: borrowing BusMessage,
        _ begin: @escaping (ChunkedReply, _ reply: borrowing BusMessage) throws(Refusal) -> ChunkedReply.Portion
    ) throws(Refusal) {
        let held = RetainedMessage(retaining: call)
        guard chunkedReplies < Self.chunkedReplyLimit else {
            continuation = { [unowned self] in
                attempt(held.message) { [unowned self] call throws(Refusal) in try self.answer(call, begin) }
            }
            return
        }
        let chunked = ChunkedReply(held, RetainedMessage(bus.methodReturn(to: call)), of: self)
        chunked.portion = try begin(chunked, chunked.reply.message)
        try writeChunk(of: chunked)
    }

    private func writeChunk(of chunked: ChunkedReply) throws(Refusal) {
        let end = host.now.instant + Self.portionLength
        guard let portion = chunked.portion, try !portion(chunked.reply.message, end) else {
            repliedBytes += chunked.bytes
            return daemon.sendAfterCommit(.encoded(RetainedMessage(chunked.reply, bytes: chunked.bytes)))
        }
        continuation = { [unowned self] in
            attempt(chunked.call.message) { [unowned self] _ throws(Refusal) in try writeChunk(of: chunked) }
        }
    }
}
