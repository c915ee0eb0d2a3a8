/// The calls and signals of the daemon as messages, for a program that sends many calls at once over a ``Connection``
/// of its own.
extension Message {
    /// A call of the daemon, whose texts are checked as those of ``NotifyClient``.
    ///
    /// - Throws: `invalidArgument`.
    package static func checkedToRouter(
        _ member: String, _ arguments: [Value], autoStart: Bool
    ) throws(NotifyError) -> Message {
        try NotifyClient.checkTexts(arguments)
        return toRouter(member, autoStart: autoStart, arguments)
    }
}

/// A signal of the daemon, read.
package enum RouterSignal: Sendable {
    case event(Event)
    case resolved(Outcome)
    case removed(Removal)
    case attention(Attention)
    case action(Action)

    /// - Returns: `nil` for every other message, and for one of the wrong form. The sender is not checked.
    package init?(_ message: Message) {
        guard message.kind == .signal, message.interface == Router.interface else { return nil }
        let arguments = message.arguments
        let signal: RouterSignal? =
            switch message.member {
            case Event.signal: Event(arguments: arguments).map(Self.event)
            case Outcome.signal: Outcome(arguments: arguments).map(Self.resolved)
            case Removal.signal: Removal(arguments: arguments).map(Self.removed)
            case Attention.signal: Attention(arguments: arguments).map(Self.attention)
            case Action.signal: Action(arguments: arguments).map(Self.action)
            default: nil
            }
        guard let signal else { return nil }
        self = signal
    }
}

extension JournalChange {
    /// The answer to the call `Changes`; `nil` if it has another form.
    package static func page(of answer: [Value]) -> (oldest: UInt64, changes: [JournalChange])? {
        guard let oldest: UInt64 = answer.first?.integer(), let rows = answer.dropFirst().first?.elements else {
            return nil
        }
        let changes = rows.compactMap { JournalChange($0) }
        return changes.count == rows.count ? (oldest, changes) : nil
    }
}
