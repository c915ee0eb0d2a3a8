extension NotifyClient {
    /// Claims an event: it gets no banner, and a banner that is already shown is closed.
    @discardableResult
    public func claim(_ id: EventID) async throws(NotifyError) -> Verdict {
        try await call("Claim", [.uint64(id.rawValue)]).result { $0.string.map(Verdict.init) }
    }

    /// Claims an event by its global name, on behalf of somebody elsewhere: for programs that pass claims on between
    /// devices.
    ///
    /// An event that has not come yet is awaited until ``NamedClaimOptions/expires``, at least for 24 hours, over
    /// restarts of the daemon too. When it comes, it is claimed before there is any banner.
    ///
    /// - Parameters:
    ///   - source: the source of the event; for an event without source and event-id, `notifyd:` and the property
    ///   `Device`. - eventID: its event-id, or its id in decimal.
    ///   - options: what was done with the event, and where.
    /// - Throws: `refused` with `InvalidEvent`, `AccessDenied`, `LimitExceeded` or `StorageUnavailable`.
    @discardableResult
    public func claimNamed(
        source: String, eventID: String, options: NamedClaimOptions = NamedClaimOptions()
    ) async throws(NotifyError) -> Verdict {
        try await call("ClaimNamed", [.string(source), .string(eventID), .variants(options.values)]).result {
            $0.string.map(Verdict.init)
        }
    }

    /// Claims an event provisionally: it gets no banner for now. The banner is shown after all if ``complete(_:)`` does
    /// not follow in time, if ``release(_:)`` is called, or if this client leaves the bus.
    ///
    /// - Parameters:
    ///   - id: an event that is undecided.
    ///   - limit: how long the hold lasts; whole milliseconds, from 1 ms to 10 minutes.
    /// - Returns: `suppressed` when this client now holds the event; `recorded` when the event has already been shown,
    ///   claimed or held, or never gets a banner.
    /// - Throws: `refused` with `UnknownEvent` or `LimitExceeded`.
    public func claimProvisionally(_ id: EventID, within limit: Duration) async throws(NotifyError) -> Verdict {
        let time = try limit.argument(in: .milliseconds(1), "The time to confirm a claim is 1 ms to 10 minutes long.")
        return try await call("ClaimProvisionally", [.uint64(id.rawValue), time]).result { $0.string.map(Verdict.init) }
    }

    /// Confirms a provisional claim of this client: the event is claimed for good.
    ///
    /// - Throws: `refused` with `NotClaimant` when this client does not hold the event, or no longer holds it.
    public func complete(_ id: EventID) async throws(NotifyError) {
        _ = try await call("Complete", [.uint64(id.rawValue)])
    }

    /// Releases a provisional claim of this client: the banner appears at once if the window of the event has ended,
    /// and at the end of the window otherwise.
    ///
    /// - Throws: `refused` with `NotClaimant` when this client does not hold the event, or no longer holds it.
    public func release(_ id: EventID) async throws(NotifyError) {
        _ = try await call("Release", [.uint64(id.rawValue)])
    }

    /// Declines an event for all screens of this client that are asked about it. Without such a screen it does nothing.
    ///
    /// The window ends early only if the route has `wait = "screens"` and all screens have answered.
    ///
    /// - Throws: `refused` with `UnknownEvent`.
    public func pass(_ id: EventID) async throws(NotifyError) {
        _ = try await call("Pass", [.uint64(id.rawValue)])
    }

    /// Claims every undecided or shown event at or below a topic, and goes on claiming new events there for a while.
    /// Call it when the user opens something.
    ///
    /// - Parameters:
    ///   - topic: `/` stands for every topic.
    ///   - grace: how long to go on, even after this client has left the bus; whole milliseconds, at most 10 s. It
    ///   covers
    ///     an app that learns of an event in another way before notifyd announces it.
    /// - Returns: how many events were claimed at once.
    /// - Throws: `refused` with `InvalidTopic` or `LimitExceeded`.
    @discardableResult
    public func claimTopic(_ topic: String, grace: Duration = .zero) async throws(NotifyError) -> Int {
        let time = try grace.argument(in: .milliseconds(1), "A grace is 0 to 10 seconds long.")
        return try await call("ClaimTopic", [.string(topic), time]).result { $0.integer() }
    }

    /// Marks all events at or below a topic as read. Undecided and shown events are claimed. Muted and expired events
    /// keep their outcome.
    ///
    /// - Parameters:
    ///   - topic: `/` stands for every topic.
    ///   - last: events with higher ids are not changed; 0 means all events. A program that lists events gives the
    ///   highest id
    ///     in its list.
    /// - Returns: how many events were unread.
    /// - Throws: `refused` with `InvalidTopic`, `LimitExceeded` or `StorageUnavailable`.
    @discardableResult
    public func markRead(_ topic: String = "/", upTo last: EventID = 0) async throws(NotifyError) -> Int {
        // The daemon marks a few events at a time; a million take it a minute.
        try await call("MarkRead", [.string(topic), .uint64(last.rawValue)], timeout: .seconds(600)).result {
            $0.integer()
        }
    }
}

extension NotifyClient {
    /// Presses a button of an event, for programs that show events themselves. It is announced by `ActionInvoked`, and
    /// its command runs. Then the event is claimed, unless its banner stays up when a button is pressed (`resident`).
    ///
    /// - Parameters:
    ///   - action: the key of a button of the event; see ``InboxEntry/appearance``.
    ///   - id: an event that nobody has seen.
    /// - Throws: `refused` with `UnknownEvent`, with `InvalidEvent` if the event has no such button, with `NotClaimant`
    ///   if it was claimed or seen already, or with `AccessDenied`.
    public func press(_ action: String, of id: EventID) async throws(NotifyError) {
        _ = try await call("Press", [.uint64(id.rawValue), .string(action)])
    }

    /// Deletes the decided events at or below a topic from the journal. When it returns, their titles, bodies and
    /// fields are not in the file any more. Undecided events and current values stay; banners that show nothing else
    /// are closed.
    ///
    /// - Parameters:
    ///   - topic: `/` stands for every topic.
    ///   - last: events with higher ids stay; 0 means no event stays.
    /// - Returns: how many events were deleted.
    /// - Throws: `refused` with `InvalidTopic`, `LimitExceeded`, `AccessDenied` or `StorageUnavailable`. Some of the
    ///   events may be deleted then.
    @discardableResult
    public func forget(_ topic: String, upTo last: EventID = 0) async throws(NotifyError) -> Int {
        // The daemon deletes a few events at a time, and then reads the whole file.
        try await call("Forget", [.string(topic), .uint64(last.rawValue)], timeout: .seconds(600)).result {
            $0.integer()
        }
    }
}
