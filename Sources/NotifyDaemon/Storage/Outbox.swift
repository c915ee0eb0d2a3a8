import Routing

/// What leaves the daemon at the end of a turn, in the order in which it was decided: replies, signals, and what is asked of
/// the notification server. All of it leaves after the commit, but for banners that need not wait for that.
///
/// Were all replies to leave before all signals, the bus and its clients would be woken less often, and one event in twenty
/// more would go through. But whoever has all his replies, and listens from then on, would hear what he pushed before; and
/// whoever reads would read of what he has not heard yet.
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
    /// Whether anything is asked of the notification server.
    private var hasBanners = false
    /// The oldest event that is to be announced.
    private var oldest: EventID?
    /// Whether a banner is up of which that is still to be written: killed now, a later run would show it again.
    private var hasUnwrittenBanner = false

    func put(_ item: Item) {
        switch item {
        case .signal(.event, about: let id?, at: _): oldest = min(oldest ?? id, id)
        case .signal(.resolved(_, _, let resolution), about: _, at: _) where resolution.outcome == .shown:
            hasUnwrittenBanner = true
        case .show, .close: hasBanners = true
        case .reply, .signal, .relay: break
        }
        items.append(item)
    }

    /// Takes what is asked of the notification server and need not wait for the commit, for a later run could make it good:
    ///
    /// - Banners that speak of nothing that is still to be announced, and thus of nothing that is still to be written. But
    ///   while it is still to be written that another one is up, a kill would repeat both, and it is to repeat one at most.
    /// - The end of banners. One that was to be closed and is not stays up for good, for once that is written down nobody
    ///   looks after it any more; one that is closed too early is closed again by the next claim.
    func takeReadyBanners() -> [Item] {
        guard hasBanners else { return [] }
        var ready: [Item] = []
        items.removeAll { item in
            switch item {
            case .show(let request):
                guard !hasUnwrittenBanner, oldest.map({ request.newest.id < $0 }) ?? true else { return false }
            case .close: break
            case .reply, .signal, .relay: return false
            }
            ready.append(item)
            return true
        }
        return ready
    }

    func takeAll() -> [Item] {
        defer {
            items = []
            hasBanners = false
            oldest = nil
            hasUnwrittenBanner = false
        }
        return items
    }
}
