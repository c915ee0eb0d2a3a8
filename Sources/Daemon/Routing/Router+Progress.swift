/// Where an undecided event is.
public enum Progress: Hashable, Sendable {
    /// Claims are awaited.
    case window
    /// A connection, named by its unique name, has claimed it provisionally.
    case held(by: String)
    /// Its window has ended and its banner waits to be sent; `nil`: nothing delays it.
    case waiting(BannerDelay?)
    /// The notification server has been asked for its banner.
    case asked
}

extension Router {
    /// Where an undecided event is; `nil` for any other event and for one that is not restored yet.
    public func progress(of id: EventID) -> Progress? {
        guard let tracked = events[id], tracked.isUndecided else { return nil }
        if let hold = holds[id].first { return .held(by: hold.claimant) }
        switch tracked.place {
        case .window: return .window
        case .waiting(let key): return .waiting(delay(to: key))
        case .inFlight: return .asked
        case .held, .shown, .gone, .snoozed: return nil
        }
    }

    /// When an undecided event was accepted (`nil` in an earlier boot), and when its window opened and ends or ended.
    public func window(of id: EventID) -> (accepted: Instant?, opened: Instant, deadline: Instant)? {
        guard let tracked = events[id], tracked.isUndecided else { return nil }
        let accepted = tracked.isOfEarlierBoot ? nil : tracked.accepted
        guard case .window(let key) = tracked.place, let window = windows[key] else {
            return (accepted, tracked.opened, tracked.deadline)
        }
        return (accepted, window.opened, window.deadline)
    }

    private func delay(to key: CoalescingKey) -> BannerDelay? {
        guard server.isServerThere else { return server.isServerFound ? .busy : .absent }
        if server.isCircuitOpen { return .resting }
        if key == .summary, banners.summaryTimer != nil { return .limited }
        return server.allowsCall && banners[key]?.call == nil ? nil : .busy
    }
}
