extension NotifyClient {
    /// Says "I handle this event": no banner for it, and if it is showing already, it is taken down.
    @discardableResult
    public func claim(_ id: EventID) async throws(NotifyError) -> Verdict {
        try await call("Claim", [.uint64(id.rawValue)]).verdict()
    }

    /// Holds an event: no banner for now. If ``complete(_:)`` does not follow in time, or ``release(_:)`` does, or this
    /// client leaves the bus, the banner is shown after all.
    ///
    /// - Parameters:
    ///   - id: an event that is undecided.
    ///   - limit: how long the hold lasts; whole milliseconds, from 1 ms to 10 minutes.
    /// - Returns: `suppressed` when the event is now held; `recorded` when it is not, because it has been shown, claimed
    ///   or held already, or never gets a banner.
    /// - Throws: `refused` with `UnknownEvent` or `LimitExceeded`.
    public func claimProvisionally(_ id: EventID, within limit: Duration) async throws(NotifyError) -> Verdict {
        let time = try limit.argument(in: .milliseconds(1), "The time to confirm a claim is 1 ms to 10 minutes long.")
        return try await call("ClaimProvisionally", [.uint64(id.rawValue), time]).verdict()
    }

    /// Confirms a provisional claim of this client: the event is claimed for good.
    ///
    /// - Throws: `refused` with `NotClaimant` when this client does not hold the event, or does no more.
    public func complete(_ id: EventID) async throws(NotifyError) {
        _ = try await call("Complete", [.uint64(id.rawValue)])
    }

    /// Gives a provisional claim of this client up: the banner comes at once if the window of the event is over, else at
    /// its end.
    ///
    /// - Throws: `refused` with `NotClaimant` when this client does not hold the event, or does no more.
    public func release(_ id: EventID) async throws(NotifyError) {
        _ = try await call("Release", [.uint64(id.rawValue)])
    }

    /// Says "not mine" for all screens of this client that are asked about an event. It does nothing without one.
    ///
    /// A route may end the window of an event as soon as all screens have answered; where none does so, the full window
    /// is awaited all the same.
    ///
    /// - Throws: `refused` with `UnknownEvent`.
    public func pass(_ id: EventID) async throws(NotifyError) {
        _ = try await call("Pass", [.uint64(id.rawValue)])
    }

    /// Claims everything undecided and takes down everything shown at or below a topic, and goes on claiming what comes
    /// there for a while. It is what to call when the user opens something.
    ///
    /// - Parameters:
    ///   - topic: `/` stands for every topic.
    ///   - grace: how long to go on, even after this client has left the bus; whole milliseconds, at most 10 s. It covers
    ///     the app that learned of an event by its own means before the push came.
    /// - Returns: how many events were claimed at once.
    /// - Throws: `refused` with `InvalidTopic` or `LimitExceeded`.
    @discardableResult
    public func claimTopic(_ topic: String, grace: Duration = .zero) async throws(NotifyError) -> Int {
        let time = try grace.argument(in: .milliseconds(1), "A grace is 0 to 10 seconds long.")
        let reply = try await call("ClaimTopic", [.string(topic), time])
        guard let count: Int = reply.arguments.first?.integer() else { throw .strangeReply }
        return count
    }
}

extension NotifyClient {
    /// Says that everything at or below a topic has been seen: what is undecided or shown is claimed, and what is muted or
    /// expired counts as read and keeps its outcome.
    ///
    /// - Parameters:
    ///   - topic: `/` stands for every topic.
    ///   - last: events with higher ids stay as they are; 0 means all. A list that shows events gives the highest id that it
    ///     shows.
    /// - Returns: how many events were unread.
    /// - Throws: `refused` with `InvalidTopic`, `LimitExceeded` or `StorageUnavailable`.
    @discardableResult
    public func markRead(_ topic: String = "/", upTo last: EventID = 0) async throws(NotifyError) -> Int {
        // A million events take the daemon a minute, a few at a time.
        let reply = try await call(
            "MarkRead", [.string(topic), .uint64(last.rawValue)], patience: .seconds(600))
        guard let count: Int = reply.arguments.first?.integer() else { throw .strangeReply }
        return count
    }
}

extension Message {
    fileprivate func verdict() throws(NotifyError) -> Verdict {
        guard case .string(let verdict)? = arguments.first else { throw .strangeReply }
        return Verdict(rawValue: verdict)
    }
}
