/// What stops banners. Nothing here changes what subscribers hear.
extension NotifyClient {
    /// Stops banners at or below a topic for a while. What comes in the meantime gets the outcome `muted` and is not shown
    /// later; banners that are up stay.
    ///
    /// - Parameters:
    ///   - topic: `/` stands for every topic.
    ///   - time: whole seconds; zero ends what was said of this very topic. Another mute may still cover it: see ``quiet()``.
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

    /// What holds banners back now: the pause and the mutes, each of which ends by itself. Asking starts nothing.
    public func quiet() async throws(NotifyError) -> [Quiet] { Quiet.list(try await property("Quiet")) }

    /// Whether all banners are paused.
    public func paused() async throws(NotifyError) -> Bool {
        guard let flag = try await property("Paused").boolean else { throw .strangeReply }
        return flag
    }

    /// Stops all banners, or lets them appear again. What comes while they are paused is not shown later.
    public func setPaused(_ flag: Bool) async throws(NotifyError) {
        _ = try await callProperties("Set", [.string(Router.interface), "Paused", .variant(.boolean(flag))])
    }
}
