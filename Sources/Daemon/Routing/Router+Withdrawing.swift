/// `Withdraw`: a publisher takes an event back.
extension Router {
    /// A decided event keeps its outcome, unless it is shown or was shown.
    mutating func withdraw(_ id: EventID, by publisher: String, at now: Now) throws(Refusal) {
        try requireKnown(id)
        guard remembers(id) else { return }
        let tracked = take(id)
        markOutdated(tracked)
        decide(tracked, Resolution(.withdrawn, claimant: publisher, banner: tracked.number))
        closeBannerIfEmpty(without: tracked)
        if let window = tracked.window { closeWindowIfDone(window, at: now) }
        sendBanners(at: now)
    }
}
