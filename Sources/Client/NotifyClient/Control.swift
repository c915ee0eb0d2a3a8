/// Pausing and muting banners. Subscribers receive every event as before. A change takes effect at once, and survives a restart
/// of the daemon unless ``degradation()`` says that the journal cannot be written.
extension NotifyClient {
    /// Stops banners at or below a topic for a while. Events that arrive meanwhile get the outcome `muted` and are not shown
    /// later. Banners that are already shown stay.
    ///
    /// - Parameters:
    ///   - topic: `/` stands for every topic.
    ///   - time: whole seconds; zero ends the mute of exactly this topic, and a schedule of it until it begins again. Others
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
