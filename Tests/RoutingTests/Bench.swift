import Routing

/// A router with a manual clock, and short functions for common inputs.
struct Bench {
    private(set) var router: Router
    private var microseconds: Int64 = 1_000_000
    /// The answer to the last call.
    private(set) var reply: Result<Reply, Refusal>?
    /// Whether calls to the notification server leave as soon as they are decided.
    var callsLeave = true

    static let peer = ":1.1"

    init(
        _ routes: [Route] = [], banners: BannerSettings = BannerSettings(), limits: Limits = Limits(),
        firstID: EventID = EventID(1), oldestID: EventID? = nil
    ) {
        var table = RouteTable(fallback: Route(pattern: nil, window: .milliseconds(100)))
        for route in routes { table.add(route) }
        router = Router(routes: table, banners: banners, limits: limits, firstID: firstID, oldestID: oldestID)
    }

    mutating func setDevice(_ name: String) { router.device = name }
    mutating func forgetGone() { router.forgetGone() }

    @discardableResult
    mutating func take(_ call: Call, reading reader: some EventReader = NoEvents()) -> [Effect] {
        let (reply, effects) = router.handle(call, at: now, reading: reader)
        self.reply = reply
        return leave(effects)
    }

    @discardableResult
    mutating func take(_ happening: Happening) -> [Effect] {
        leave(router.handle(happening, at: now))
    }

    private mutating func leave(_ effects: [Effect]) -> [Effect] {
        if callsLeave { for banner in effects.banners { _ = router.handle(.banner(banner.call, .sent), at: now) } }
        return effects
    }

    private var now: Now {
        Now(instant: Instant(microseconds: microseconds), uptime: Uptime(microseconds: microseconds))
    }

    /// Lets time go by, and the timer go off at the end.
    @discardableResult
    mutating func wait(_ time: Duration) -> [Effect] {
        pass(time)
        return take(.timerFired)
    }

    /// Lets time go by.
    mutating func pass(_ time: Duration) {
        microseconds += time.microseconds
    }

    @discardableResult
    mutating func publish(
        _ topic: String, lifetime: Duration? = nil, collapse: String? = nil, window: Duration? = nil,
        banner: Bool? = nil, options: PublishOptions = PublishOptions()
    ) -> EventID {
        var options = options
        options.lifetime = lifetime ?? options.lifetime
        options.collapse = collapse
        options.window = window
        options.banner = banner
        take(
            .published(
                Publication(topic: try! Topic(topic), title: "", body: "", options: options, sender: Self.peer)))
        guard case .success(.accepted(let id)) = reply else { preconditionFailure("the event was refused") }
        return id
    }
}

/// Stored events.
struct Stored: EventReader {
    var events: [ColdEvent] = []
    var names: [Origin: EventID] = [:]
    var isBroken = false
    var forbidsAwaited = false

    private func check() throws(Refusal) {
        if isBroken { throw .storageUnavailable("the disk is broken") }
    }

    func event(_ id: EventID) throws(Refusal) -> ColdEvent? {
        try check()
        guard let event = events.first(where: { $0.event.id == id }) else { throw .noEvent(id) }
        return event
    }

    func event(replacedBy key: CollapseKey) throws(Refusal) -> ColdEvent? {
        try check()
        return events.last { $0.event.collapse == key }
    }

    func event(named origin: Origin) throws(Refusal) -> EventID? {
        try check()
        return names[origin]
    }

    func permits(_ claim: NamedClaim, at topic: Topic) -> Bool { !forbidsAwaited }
}

extension [Effect] {
    /// The banners asked for.
    var banners: [BannerRequest] {
        compactMap { if case .showBanner(let request) = $0 { request } else { nil } }
    }

    /// How often a server is to be started.
    var starts: Int { count { if case .startServer = $0 { true } else { false } } }

    /// The buttons that are told about.
    var actions: [EventID] {
        compactMap { if case .relayAction(let event, _) = $0 { event.id } else { nil } }
    }

    var closed: [BannerID] {
        compactMap { if case .keepBanner(.closed(let id)) = $0 { id } else { nil } }
    }

    var resolutions: [EventID: Resolution] {
        reduce(into: [:]) { if case .resolve(let id, _, let resolution) = $1 { $0[id] = resolution } }
    }

    var outcomes: [EventID: Outcome] {
        resolutions.mapValues(\.outcome)
    }
}

extension Bench {
    /// Publishes, and says what follows.
    mutating func push(
        _ topic: String = "/post/1", _ options: PublishOptions = PublishOptions(),
        reading reader: some EventReader = NoEvents()
    ) -> [Effect] {
        take(
            .published(
                Publication(topic: try! Topic(topic), title: "", body: "", options: options, sender: Self.peer)),
            reading: reader)
    }

    /// Lets the window end, and the server show the banner.
    mutating func show(_ number: UInt32) {
        for request in wait(.milliseconds(100)).banners { take(.banner(request.call, .shown(BannerID(number)))) }
        wait(.milliseconds(100))
    }
}

extension Event {
    /// An event without words.
    static func sample(
        _ id: UInt64, _ topic: String = "/post/1", fields: [Field] = [], origin: Origin = Origin(),
        collapse: String? = nil, appearance: [Field] = [],
        route: Route = Route(pattern: nil, window: .milliseconds(100))
    ) -> Event {
        Event(
            id: EventID(id), topic: try! Topic(topic), title: "", body: "", fields: fields, published: 0,
            sender: Bench.peer, origin: origin, urgency: nil, collapse: collapse, retained: false,
            appearanceOptions: appearance, route: route)
    }
}

extension Refusal {
    /// Its words, if this is its reason.
    func words(_ reason: (String) -> Refusal) -> String? {
        guard let words = Mirror(reflecting: self).children.first?.value as? String else { return nil }
        return self == reason(words) ? words : nil
    }
}

extension Result<Reply, Refusal> {
    /// The words of a refusal for this reason; `nil` if it is none.
    func refused(_ reason: (String) -> Refusal) -> String? {
        if case .failure(let refusal) = self { refusal.words(reason) } else { nil }
    }
}
