/// Pausing and muting banners. Subscribers receive every event as before. A change takes effect at once, and survives a
/// restart of the daemon unless ``degradation()`` says that the journal cannot be written.
extension NotifyClient {
    /// Stops banners at or below a topic for a while. Events that arrive meanwhile get the outcome `muted` and are not
    /// shown later. Banners that are already shown stay.
    ///
    /// - Parameters:
    ///   - topic: `/` stands for every topic.
    ///   - time: whole seconds; zero ends the mute of exactly this topic, and a schedule of it until it begins again.
    ///   Others
    ///     may still cover it: see ``quiet()``.
    /// - Throws: `refused` with `InvalidTopic` or `LimitExceeded`.
    public func mute(_ topic: String, for time: Duration) async throws(NotifyError) {
        let seconds = try time.argument(in: .seconds(1), "A topic is muted for 0 seconds to 136 years.")
        _ = try await call("Mute", [.string(topic), seconds])
    }

    /// Stops all banners for a while.
    ///
    /// - Parameter time: whole seconds; zero: until ``setPaused(_:)`` ends it.
    /// - Throws: `refused` with `AccessDenied`.
    public func pause(for time: Duration = .zero) async throws(NotifyError) {
        _ = try await call("Pause", [try time.argument(in: .seconds(1), "A pause is 0 seconds to 136 years long.")])
    }

    /// Lets the banner of an event come back later. Its banner is closed now, or no longer shows it; the event stays
    /// unread.
    ///
    /// A claim of any kind but a provisional one, `MarkRead`, `Withdraw` or a later event with the same `collapse` ends
    /// the snooze. It survives a restart of the daemon.
    ///
    /// - Parameters:
    ///   - id: an unread event that was shown or muted.
    ///   - time: whole seconds, from a minute to seven days.
    /// - Throws: `refused` with `UnknownEvent`, `InvalidEvent` or `LimitExceeded`.
    public func snooze(_ id: EventID, for time: Duration) async throws(NotifyError) {
        let seconds = try time.argument(in: .seconds(1), "An event is snoozed for 60 seconds to 7 days.")
        _ = try await call("Snooze", [.uint64(id.rawValue), seconds])
    }

    /// The pause, the mutes and the schedules that are in force. This does not start the daemon.
    public func quiet() async throws(NotifyError) -> [Quiet] { try await property("Quiet", Quiet.list) }

    /// Whether all banners are paused.
    public func paused() async throws(NotifyError) -> Bool { try await property("Paused", \.boolean) }

    /// Pauses all banners, or ends the pause. Events that arrive during a pause are not shown later.
    public func setPaused(_ flag: Bool) async throws(NotifyError) {
        let call = Message.toProperties("Set", ["Paused", .variant(.boolean(flag))])
        _ = try await connections.connection().call(call)
    }
}
