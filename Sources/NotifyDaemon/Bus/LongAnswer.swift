import Routing
import Systemd

/// An answer that may be long. It is made in portions, and between two of them others have their turns.
final class LongAnswer {
    /// Adds to the reply until the moment is over, and answers whether that was all.
    typealias Portion = (_ reply: borrowing BusMessage, _ end: Instant) throws(BusFailure) -> Bool

    fileprivate let call: HeldMessage
    fileprivate let reply: HeldMessage
    /// About how long the reply is so far.
    var bytes = 0
    fileprivate var portion: Portion?
    private unowned let interface: RouterInterface

    /// - Parameter interface: counts how many there are, until they are sent or their callers have left.
    fileprivate init(_ call: HeldMessage, _ reply: HeldMessage, of interface: RouterInterface) {
        self.call = call
        self.reply = reply
        self.interface = interface
        interface.longAnswers += 1
    }

    deinit { interface.longAnswers -= 1 }
}

extension RouterInterface {
    /// So many are made at a time: each is in memory until it is sent. A caller has one of them, for the rest of it stands
    /// at the head of the caller's line.
    private static let longAnswersAtOnce = 2
    /// For how long a portion is made.
    private static let portionLength: Duration = .milliseconds(1)

    /// Answers a call in portions, now or when fewer such answers are being made.
    ///
    /// - Parameter begin: fixes what is to be said, and says how it is said.
    func answer(
        _ call: borrowing BusMessage,
        _ begin: @escaping (LongAnswer, _ reply: borrowing BusMessage) throws(BusFailure) -> LongAnswer.Portion
    ) throws(BusFailure) {
        let held = HeldMessage(retaining: call)
        guard longAnswers < Self.longAnswersAtOnce else {
            rest = { [unowned self] in
                attempt(held.message) { [unowned self] call throws(BusFailure) in try self.answer(call, begin) }
            }
            return
        }
        let answer = LongAnswer(held, HeldMessage(bus.methodReturn(to: call)), of: self)
        answer.portion = try begin(answer, answer.reply.message)
        try goOn(with: answer)
    }

    private func goOn(with answer: LongAnswer) throws(BusFailure) {
        let end = daemon.host.now.instant + Self.portionLength
        guard let portion = answer.portion, try !portion(answer.reply.message, end) else {
            answeredBytes += answer.bytes
            return daemon.leave(HeldMessage(answer.reply, bytes: answer.bytes), to: answer.call)
        }
        rest = { [unowned self] in
            attempt(answer.call.message) { [unowned self] _ throws(BusFailure) in try goOn(with: answer) }
        }
    }
}
