import NotifyText

/// A standing claim: while it is open, events at or below its topic get no banner.
///
///     try await client.withScreen("/post/27") { screen in
///         try await showPost()
///     }
///
/// A screen ends with ``close()``, when its last reference is released, when its client is closed, and when this
/// program exits or is killed. After a restart of the daemon or the bus it is opened again with its last options.
///
/// Mode `auto` needs no round trip: even a stopped program keeps its screens, unless they have a lease.
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

        /// The user is looking at it.
        public static let focused = State(rawValue: "focused")
        /// The user can see it beside other windows.
        public static let visible = State(rawValue: "visible")
        /// It claims nothing, and is not asked.
        public static let hidden = State(rawValue: "hidden")
    }

    /// The screen covers this topic and everything below it.
    public let topic: String
    /// The events to decide about in mode `ask`: answer each with ``NotifyClient/claim(_:)``,
    /// ``NotifyClient/claimProvisionally(_:within:)`` or ``NotifyClient/pass(_:)``, within its `window`. An event
    /// without an answer in time becomes a banner.
    ///
    /// In mode `auto`, and while the screen is hidden, there are none. The sequence is for one reader, and ends with
    /// the screen.
    public let questions: Subscription<Event>

    let keeper: ScreenSession

    init(keeper: ScreenSession, questions: Subscription<Event>) {
        topic = keeper.topic
        self.keeper = keeper
        self.questions = questions
    }

    deinit {
        let keeper = keeper
        Task { await keeper.close() }
    }

    /// The daemon's number for the screen. It changes after a restart of the daemon, and is `nil` while there is no
    /// daemon.
    public var id: UInt64? { get async { await keeper.id } }

    /// Changes the given options. While there is no daemon the change is kept for the next one.
    ///
    /// - Parameters:
    ///   - state: changing to a state that suppresses banners also claims existing events, as opening the screen does.
    ///   - mode: who decides about an event.
    ///   - lease: see ``NotifyClient/openScreen(_:mode:state:lease:clear:)``; zero: no lease.
    ///   - clear: `true` claims undecided and shown events now; it also applies to later changes.
    /// - Throws: `refused`, and nothing has changed; `closed` when the screen has been closed.
    public func update(state: State? = nil, mode: Mode? = nil, lease: Duration? = nil, clear: Bool? = nil)
        async throws(NotifyError)
    { try await keeper.update(ScreenOptions(mode: mode, state: state, lease: lease, clear: clear)) }

    /// Closes the screen. When this returns the daemon has removed it, and later events get their banners.
    public func close() async { await keeper.close() }
}

extension NotifyClient {
    /// Opens a screen. It stays open as long as the returned object is retained;
    /// ``withScreen(_:mode:state:lease:clear:isolation:_:)`` closes it at a defined point.
    ///
    /// - Parameters:
    ///   - topic: `/` stands for every topic.
    ///   - mode: who decides about an event.
    ///   - state: how well the user sees it.
    ///   - lease: how long the screen stays open after this program hangs or is stopped; whole seconds. The client
    ///     renews it long before it ends. If `nil`, the screen stays open as long as the connection to the bus.
    ///   - clear: whether opening claims undecided events and closes shown banners. It has no effect in mode `ask` and
    ///     while hidden.
    /// - Throws: `refused` with `InvalidTopic`, with `LimitExceeded` when this client has 256 screens or there are
    ///   10,000 in all, or with `AccessDenied` when the daemon's policy does not let this program claim there.
    public func openScreen(
        _ topic: String, mode: Screen.Mode = .auto, state: Screen.State = .focused, lease: Duration? = nil,
        clear: Bool = true
    ) async throws(NotifyError) -> Screen {
        let options = ScreenOptions(mode: mode, state: state, lease: lease, clear: clear)
        _ = try options.values()
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: Event.self, bufferingPolicy: .bufferingOldest(4096))
        let keeper = ScreenSession(
            topic: topic, filter: try TopicFilter(topic), options: options, connections: connections,
            questions: continuation)
        try await keeper.open()
        return Screen(keeper: keeper, questions: Subscription(stream: stream))
    }

    /// Runs `body` with an open screen, which is closed when `body` ends, or at once when the calling task is
    /// cancelled.
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

/// The options of `OpenScreen` and `UpdateScreen`; `nil` changes nothing.
struct ScreenOptions: Sendable {
    var mode: Screen.Mode?
    var state: Screen.State?
    var lease: Duration?
    var clear: Bool?

    func updated(by change: ScreenOptions) -> ScreenOptions {
        ScreenOptions(
            mode: change.mode ?? mode, state: change.state ?? state, lease: change.lease ?? lease,
            clear: change.clear ?? clear)
    }

    /// Whether the program answers for each event.
    var asks: Bool { mode == .ask && state != .hidden }

    func values() throws(NotifyError) -> Value {
        var values: [String: Value] = [:]
        values["mode"] = mode.map { .string($0.rawValue) }
        values["state"] = state.map { .string($0.rawValue) }
        values["lease"] = try lease?.argument(in: .seconds(1), "A lease must be 0 seconds to 136 years long.")
        values["clear"] = clear.map(Value.boolean)
        return .variants(values)
    }
}

/// An open screen of any program, as the daemon lists it.
public struct ListedScreen: Hashable, Sendable {
    /// The daemon's number for it.
    public var id: UInt64
    /// The screen covers this topic and everything below it.
    public var topic: String
    /// Who decides about its events.
    public var mode: Screen.Mode
    /// How well the user sees it.
    public var state: Screen.State
    /// The unique name of the connection that holds it.
    public var owner: String
}

extension NotifyClient {
    /// All open screens, of all programs, oldest first.
    public func screens() async throws(NotifyError) -> [ListedScreen] {
        try await notStarting.call("ListScreens", []).arguments.first.list(ListedScreen.init)
    }
}

extension ListedScreen {
    /// From `(tssss)`.
    init?(_ entry: Value) {
        guard let members = entry.elements, members.count >= 5,
            case .uint64(let id) = members[0],
            case .string(let topic) = members[1],
            case .string(let mode) = members[2],
            case .string(let state) = members[3],
            case .string(let owner) = members[4]
        else { return nil }
        self.init(
            id: id, topic: topic, mode: Screen.Mode(rawValue: mode), state: Screen.State(rawValue: state), owner: owner)
    }
}
