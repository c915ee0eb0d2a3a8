import Routing

/// What leaves the daemon at the end of a turn, after the commit, in the order in which it was decided: replies, signals,
/// and what is asked of the notification server.
final class Outbox<Message, Call> {
    enum Item {
        /// The reply to a call, and the event that it acknowledges.
        case reply(Message, to: Call, accepting: EventID?)
        /// A signal, the event without which it has nothing to say, and when it was decided on.
        case signal(FanOut.Signal, about: EventID?, at: Instant)
        case show(BannerRequest)
        case close(BannerID)
        /// A button that was pressed, with what lets an application raise its window.
        case relay(Event, action: String, token: String?)
    }

    private var items: [Item] = []

    func put(_ item: Item) {
        items.append(item)
    }

    func takeAll() -> [Item] {
        defer { items = [] }
        return items
    }
}
