public import NotifyText

/// A pause of all banners, the desktop's own “do not disturb”, or a mute or a schedule for banners at or below a topic.
public struct Quiet: Hashable, Sendable {
    /// Why. More may come, so a `switch` over it needs a `default`.
    public struct Cause: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// All banners are paused.
        public static let paused = Cause(rawValue: "paused")
        /// The topic is muted.
        public static let muted = Cause(rawValue: "muted")
        /// A schedule of the configuration is on.
        public static let schedule = Cause(rawValue: "schedule")
        /// The desktop's own “do not disturb” is on. It is switched off there, and critical events come through.
        public static let desktop = Cause(rawValue: "desktop")
    }

    /// No banners appear at or below this topic; `/` stands for every topic.
    public var topic: String
    /// When it ends by itself, in microseconds since 1970-01-01 00:00 UTC; `nil` if it lasts until it is ended.
    public var until: Int64?
    /// Why.
    public var cause: Cause

    public init(topic: String, until: Int64? = nil, cause: Cause) {
        self.topic = topic
        self.until = until
        self.cause = cause
    }

    /// Whether it covers every topic at or below another one.
    public func covers(_ other: String) -> Bool { TopicFilter.covers(topic, other) }
}

extension Quiet {
    /// From the property `Quiet`: a(sxs).
    package static func list(_ value: Value?) -> [Quiet] {
        (value?.elements ?? []).compactMap { entry in
            guard let members = entry.elements, members.count >= 3, let topic = members[0].string,
                let until: Int64 = members[1].integer(), let cause = members[2].string
            else { return nil }
            return Quiet(topic: topic, until: until == 0 ? nil : until, cause: Cause(rawValue: cause))
        }
    }
}

/// Pausing and muting banners. Subscribers receive every event as before. A change takes effect at once, and survives a
/// restart of the daemon unless ``degradation()`` says that the journal cannot be written.
extension NotifyClient {
    /// Stops banners at or below a topic for a while. Events that arrive meanwhile get the outcome `muted` and are not
    /// shown later. Banners that are already shown stay.
    ///
    /// - Parameters:
    ///   - topic: `/` stands for every topic.
    ///   - time: whole seconds; zero ends the mute of exactly this topic, and a schedule of it until it begins again.
    ///     Others may still cover it: see ``quiet()``.
    /// - Throws: `refused` with `InvalidTopic` or `LimitExceeded`.
    public func mute(_ topic: String, for time: Duration) async throws(NotifyError) {
        let seconds = try time.argument(in: .seconds(1), "A mute must be 0 seconds to 136 years long.")
        _ = try await call("Mute", [.string(topic), seconds])
    }

    /// Stops all banners for a while.
    ///
    /// - Parameter time: whole seconds; zero: until ``setPaused(_:)`` ends it.
    /// - Throws: `refused` with `AccessDenied`.
    public func pause(for time: Duration = .zero) async throws(NotifyError) {
        let seconds = try time.argument(in: .seconds(1), "A pause must be 0 seconds to 136 years long.")
        _ = try await call("Pause", [seconds])
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
        let seconds = try time.argument(in: .seconds(1), "A snooze must be 60 seconds to 7 days long.")
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
