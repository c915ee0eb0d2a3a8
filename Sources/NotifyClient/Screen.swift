/// "This is on screen": as long as it is open, events at or below its topic need no banner.
///
///     try await client.withScreen("/post/27") { screen in
///         try await showPost()
///     }
///
/// A screen ends with ``close()``, when the last reference to it is dropped, when its client is closed, and when this
/// program ends, however it ends. After a restart of the daemon or the bus it is opened again by itself, as it was last
/// updated.
///
/// Mode `auto` needs no round trip: even a program that is stopped keeps its screens, unless they have a lease.
public final class Screen: Sendable {
    /// Who decides about an event. More may come, so a `switch` over it needs a `default`.
    public struct Mode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// The daemon claims every event on arrival.
        public static let auto = Mode(rawValue: "auto")
        /// The program decides about each event: see ``Screen/questions``.
        public static let ask = Mode(rawValue: "ask")
    }

    /// How well the user sees it. More may come, so a `switch` over it needs a `default`.
    public struct State: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        public static let focused = State(rawValue: "focused")
        public static let visible = State(rawValue: "visible")
        /// Claims nothing, and is asked nothing.
        public static let hidden = State(rawValue: "hidden")
    }

    /// What the screen stands for: this topic and everything below it.
    public let topic: String
    /// The events to decide about in mode `ask`: answer each with ``NotifyClient/claim(_:)``,
    /// ``NotifyClient/claimProvisionally(_:within:)`` or ``NotifyClient/pass(_:)``, within its `window`. What gets no
    /// answer in time becomes a banner.
    ///
    /// In mode `auto`, and while the screen is hidden, nothing comes. The sequence is for one reader, and ends when the
    /// screen does.
    public let questions: Subscription<Event>

    let keeper: ScreenKeeper

    init(keeper: ScreenKeeper, questions: Subscription<Event>) {
        topic = keeper.topic
        self.keeper = keeper
        self.questions = questions
    }

    deinit {
        let keeper = keeper
        Task { await keeper.close() }
    }

    /// The number under which the daemon knows the screen; another one after a restart, `nil` while it is away.
    public var id: UInt64? {
        get async { await keeper.id }
    }

    /// Changes what is given and leaves the rest. While the daemon is away the change is kept for its return.
    ///
    /// - Parameters:
    ///   - state: to change to a state that suppresses banners claims what is there, as opening the screen does.
    ///   - mode: who decides about an event.
    ///   - lease: see ``NotifyClient/openScreen(_:mode:state:lease:clear:)``; zero: no lease.
    ///   - clear: `true` claims what is undecided or shown now; it also sets what happens at later changes.
    /// - Throws: `refused`, and then nothing has changed; `closed` when the screen has been closed.
    public func update(state: State? = nil, mode: Mode? = nil, lease: Duration? = nil, clear: Bool? = nil)
        async throws(NotifyError)
    {
        try await keeper.update(ScreenOptions(mode: mode, state: state, lease: lease, clear: clear))
    }

    /// Closes the screen; the daemon has forgotten it when this returns. What comes later gets its banner.
    public func close() async { await keeper.close() }
}

extension NotifyClient {
    /// Opens a screen. It stays open as long as somebody refers to what is returned, so keep it;
    /// ``withScreen(_:mode:state:lease:clear:isolation:_:)`` has a definite end.
    ///
    /// - Parameters:
    ///   - topic: `/` stands for every topic.
    ///   - mode: who decides about an event.
    ///   - state: how well the user sees it.
    ///   - lease: how long the screen outlives the last sign of life of this program; whole seconds. It is renewed by
    ///     itself, long before it ends, so it matters only for a program that hangs or is stopped. If `nil`, a screen
    ///     lives as long as its connection to the bus.
    ///   - clear: whether opening claims what is undecided and takes down what is shown. In mode `ask`, and while hidden,
    ///     nothing is.
    /// - Throws: `refused` with `InvalidTopic`, with `LimitExceeded` when this client has 256 screens or all have 10,000, or
    ///   with `AccessDenied` when the daemon's policy does not let this program claim there.
    public func openScreen(
        _ topic: String, mode: Screen.Mode = .auto, state: Screen.State = .focused, lease: Duration? = nil,
        clear: Bool = true
    ) async throws(NotifyError) -> Screen {
        let options = ScreenOptions(mode: mode, state: state, lease: lease, clear: clear)
        _ = try options.values()
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: Event.self, bufferingPolicy: .bufferingOldest(4096))
        let keeper = ScreenKeeper(
            topic: topic, filter: try TopicFilter(topic), options: options, link: link, questions: continuation)
        try await keeper.open()
        return Screen(keeper: keeper, questions: Subscription(stream: stream))
    }

    /// Runs `body` with an open screen, which is closed when `body` ends, or at once when the calling task is cancelled.
    ///
    /// The parameters are those of ``openScreen(_:mode:state:lease:clear:)``.
    public func withScreen<Result>(
        _ topic: String, mode: Screen.Mode = .auto, state: Screen.State = .focused, lease: Duration? = nil,
        clear: Bool = true, isolation: isolated (any Actor)? = #isolation, _ body: (Screen) async throws -> Result
    ) async throws -> Result {
        let screen = try await openScreen(topic, mode: mode, state: state, lease: lease, clear: clear)
        let keeper = screen.keeper
        return try await withTaskCancellationHandler {
            do {
                let result = try await body(screen)
                await screen.close()
                return result
            } catch {
                await screen.close()
                throw error
            }
        } onCancel: {
            Task { await keeper.close() }
        }
    }
}
