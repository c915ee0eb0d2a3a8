import Routing

/// The topics, routes, peers and limits that scripts are about: few of each, so that they meet often.
enum World {
    static let peers = [":1.1", ":1.2", ":1.3", ":1.4"]

    static let topics = [
        "/post/1", "/post/2", "/post/1/comment", "/run/r1/invite", "/run/r1/mate/m", "/run/r1/mate/m/finished", "/post",
        "/ask/a", "/ask/b", "/askall/a", "/askall/b", "/each/a", "/all/a", "/all/b", "/now/a", "/plain",
    ].map { try! Topic($0) }

    static let prefixes =
        topics.map { TopicPrefix($0) }
        + ["/", "/post", "/run/r1", "/ask", "/askall", "/all"].map { try! TopicPrefix($0) }

    /// A configuration as the router takes it, and as the plain list that the reference searches.
    struct Configuration: Sendable {
        let routes: [Route]
        let fallback: Route
        let banners: BannerSettings
        let screens: ScreenSettings

        var table: RouteTable {
            var table = RouteTable(fallback: fallback)
            for route in routes { table.add(route) }
            return table
        }
    }

    /// The banners that may appear in a second, the states that suppress and the length of the default window differ.
    static let configurations = [
        configuration(maximumPerSecond: 5, suppressing: [.focused, .visible], window: .milliseconds(100)),
        configuration(maximumPerSecond: 1, suppressing: [.focused], window: .milliseconds(50)),
        configuration(maximumPerSecond: 2, suppressing: [.focused, .visible, .hidden], window: .milliseconds(100)),
        configuration(maximumPerSecond: 0, suppressing: [], window: .seconds(2)),
    ]

    static let tables = configurations.map(\.table)

    static let roomy = Limits()

    /// Limits that a script of two hundred steps reaches.
    static let tight: Limits = {
        var limits = Limits()
        limits.titleBytes = 32
        limits.undecidedEvents = 6
        limits.unpackedEvents = 2
        limits.undecidedEventsPerProgram = 3
        limits.values = 2
        limits.removals = 2
        limits.removalTime = .seconds(60)
        limits.screens = 4
        limits.screensPerConnection = 2
        limits.screensPerProgram = 3
        limits.graces = 3
        limits.gracesPerProgram = 1
        limits.awaited = 3
        limits.awaitedPerProgram = 2
        limits.minimumAwait = .seconds(60)
        limits.maximumAwait = .seconds(4000)
        limits.maximumHold = .seconds(5)
        limits.holdersOfEvent = 2
        limits.holds = 3
        limits.holdsPerProgram = 2
        limits.mutes = 2
        limits.snoozes = 2
        limits.digests = 2
        limits.timedOutCalls = 2
        limits.retractableEvents = 3
        limits.globalIDs = 2
        limits.deduplicationTime = .seconds(60)
        return limits
    }()

    private static func configuration(
        maximumPerSecond: Int, suppressing: Set<Screen.State>, window: Duration
    ) -> Configuration {
        func pattern(_ text: String) -> TopicPattern { try! TopicPattern(text, allowsBelow: true) }
        func button(resident: Bool) -> Appearance {
            var appearance = Appearance()
            appearance.actions = [Route.Action(key: "accept", label: "Accept")]
            appearance.resident = resident
            return appearance
        }
        return Configuration(
            routes: [
                Route(pattern: pattern("/post/{id}"), window: window),
                Route(
                    pattern: pattern("/run/{session}/invite"), window: window, appearance: button(resident: false),
                    lifetime: .seconds(600),
                    required: [(name: "from", type: .string)]),
                Route(pattern: pattern("/run/{session}/mate/{mate}"), banner: false, retain: true, window: window),
                Route(
                    pattern: pattern("/run/{session}/mate/{mate}/finished"), window: window,
                    appearance: button(resident: true)),
                Route(pattern: pattern("/run/{session}/{what}"), window: .seconds(1), breaksThrough: true),
                Route(pattern: pattern("/ask/{id}"), window: .seconds(2), wait: .screens, lifetime: .seconds(1)),
                Route(
                    pattern: pattern("/askall/{id}"), window: .seconds(1), wait: .screens, coalescing: .route),
                Route(pattern: pattern("/each/{id}"), window: window, coalescing: .none, lifetime: .seconds(3)),
                Route(
                    pattern: pattern("/all/{id}"), window: .milliseconds(200), maximumWindow: .milliseconds(300),
                    coalescing: .route, appearance: button(resident: false)),
                Route(pattern: pattern("/now/{id}"), window: .zero),
                Route(pattern: pattern("/{any}/1/**"), window: window, breaksThrough: true),
                Route(pattern: pattern("/post/**"), window: window, coalescing: .route),
            ],
            fallback: Route(pattern: nil, window: window),
            banners: BannerSettings(
                maximumPerSecond: maximumPerSecond, digestsPauses: maximumPerSecond < 3,
                followsDesktop: maximumPerSecond != 1),
            screens: ScreenSettings(suppressingStates: suppressing))
    }
}
