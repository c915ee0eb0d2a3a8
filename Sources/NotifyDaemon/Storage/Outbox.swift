import Routing

/// What leaves the daemon at the end of a turn: replies, and then signals and what is asked of the notification server, each
/// in the order in which it was decided. All of it leaves after the commit, but for banners that need not wait for that.
///
/// All replies come before all signals: so those who called are woken once for many of them, and those who listen likewise,
/// where they would take turns otherwise. A reply can thus come before signals of what was there earlier; a reader tells
/// from the ids that it has them already.
final class Outbox<Message, Call> {
    /// The reply to a call, and the event that it acknowledges.
    struct Reply {
        let message: Message
        let call: Call
        let accepted: EventID?
    }

    enum Item {
        /// A signal, the event without which it has nothing to say, and when it was decided on.
        case signal(FanOut.Signal, about: EventID?, at: Instant)
        case show(BannerRequest)
        case close(BannerID)
        /// A button that was pressed, with what lets an application raise its window.
        case relay(Event, action: String, token: String?)
    }

    private var replies: [Reply] = []
    private var items: [Item] = []
    /// Whether anything is asked of the notification server.
    private var hasBanners = false
    /// The oldest event that is to be announced.
    private var oldest: EventID?

    func put(_ reply: Reply) {
        replies.append(reply)
    }

    func put(_ item: Item) {
        switch item {
        case .signal(.event, about: let id?, at: _): oldest = min(oldest ?? id, id)
        case .show, .close: hasBanners = true
        case .signal, .relay: break
        }
        items.append(item)
    }

    /// Takes what is asked of the notification server and need not wait for the commit, for a later run could make it good:
    /// banners that speak of nothing that is still to be announced, and thus of nothing that is still to be written; and
    /// the end of banners. One that was to be closed and is not stays up for good, for once that is written down nobody
    /// looks after it any more; one that is closed too early is closed again by the next claim.
    func takeReadyBanners() -> [Item] {
        guard hasBanners else { return [] }
        var ready: [Item] = []
        items.removeAll { item in
            switch item {
            case .show(let request):
                guard oldest.map({ request.newest.id < $0 }) ?? true else { return false }
            case .close: break
            case .signal, .relay: return false
            }
            ready.append(item)
            return true
        }
        return ready
    }

    func takeReplies() -> [Reply] {
        defer { replies = [] }
        return replies
    }

    /// Takes everything but the replies.
    func takeItems() -> [Item] {
        defer {
            items = []
            hasBanners = false
            oldest = nil
        }
        return items
    }
}
