import Routing

/// What leaves the daemon at the end of a turn, in the order in which it was decided: replies, signals, and what is asked of
/// the notification server. All of it leaves after the commit, but for banners that have nothing to do with that.
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
    /// The oldest event that is to be announced.
    private var oldest: EventID?

    func put(_ item: Item) {
        if case .signal(.event, about: let id?, at: _) = item { oldest = min(oldest ?? id, id) }
        items.append(item)
    }

    /// Takes the banners that speak of nothing that is still to be announced, and thus of nothing that is still to be
    /// written: they need not wait for the commit.
    func takeReadyBanners() -> [BannerRequest] {
        var ready: [BannerRequest] = []
        items.removeAll { item in
            guard case .show(let request) = item, oldest.map({ request.newest.id < $0 }) ?? true else { return false }
            ready.append(request)
            return true
        }
        return ready
    }

    func takeAll() -> [Item] {
        defer {
            items = []
            oldest = nil
        }
        return items
    }
}
