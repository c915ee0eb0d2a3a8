@testable import Routing

/// The rules of docs/design.md once more, as plainly as they can be put: every event, screen, grace and banner is an
/// entry of a plain list, every question is answered by looking through a list, and nothing is remembered that can be
/// looked up.
///
/// Where the design leaves something open this router follows `Router`, and says so with the words "inside choice":
/// - What is due at the same moment is done in the order in which it was put down (`stamp`).
/// - Banners that wait for the server are asked for in the order in which they began to wait (`line`).
/// - Among several reasons to refuse a call, which one is named.
/// - How banners are paced (`admit`, and the summary's rest of one second).
struct ReferenceRouter {
    /// Events with equal keys share a window and a banner.
    enum Key: Hashable {
        case topic(Topic)
        case route(String)
        case event(EventID)
        case collapse(CollapseKey)
        case summary

        init(_ route: Route, _ topic: Topic, _ collapse: String?, _ id: EventID, isOwnBanner: Bool) {
            switch isOwnBanner ? .none : route.coalescing {
            case .topic: self = .topic(topic)
            case .route: self = .route(route.name)
            case .none: self = collapse.map { .collapse(CollapseKey(topic: topic, text: $0)) } ?? .event(id)
            }
        }
    }

    /// An event that is not claimed, dismissed, muted, expired or forgotten.
    struct Item {
        enum Place { case window, held, waiting, carried, shown, gone, snoozed }

        struct Hold {
            let claimant: String
            let latency: Duration
            let ends: Instant
            let stamp: Int
        }

        let id: EventID
        let topic: Topic
        let collapse: String?
        let sender: String
        let route: Route
        let accepted: Instant
        var expires: Uptime
        let key: Key
        /// Whether its publisher shows the banner.
        let isOwnBanner: Bool
        let isCritical: Bool
        var place = Place.window
        /// The banner it belongs to: its key's, or the summary.
        var banner: Key
        /// The end of the window it is in: the same for all that are in it.
        var windowEnds: Instant
        let windowOpened: Instant
        var windowLimit: Instant
        var windowStamp: Int
        /// The end of the window it was in.
        var deadline: Instant
        var waitingStamp = 0
        /// The screens that were asked and have not answered.
        var asked: [ScreenID]
        var holds: [Hold] = []
        var number: BannerID?
        /// When its banner comes back; `nil` again once one shows it.
        var snooze: (due: Uptime, stamp: Int)?

        /// Whether it has no outcome yet.
        var isOpen: Bool { place != .shown && place != .gone && snooze == nil }
        var hasButtons: Bool { !route.appearance.actions.isEmpty }
        func offers(_ action: String) -> Bool { route.appearance.actions.contains { $0.key == action } }
        var isResident: Bool { route.appearance.resident == true }
    }

    struct Standing {
        let id: ScreenID
        let topic: TopicPrefix
        let owner: String
        var mode = Screen.Mode.auto
        var state = Screen.State.focused
        var clears = true
        var lease: Duration?
        var leaseEnds: Instant?
        var leaseStamp = 0
    }

    struct Grace {
        let topic: TopicPrefix
        let claimant: String
        let ends: Instant
        let stamp: Int
    }

    struct Up {
        struct Call {
            let id: BannerCall
            let at: Instant
            let stamp: Int
            /// How many obstacles had ended until then.
            let obstacles: Int
            /// Whether an event that it tells the server of was withdrawn or replaced since.
            var isOutdated = false
            /// Whether it has left for the server.
            var isSent = false
        }

        let key: Key
        var number: BannerID?
        var call: Call?
        /// Whether it shows an event that was withdrawn or replaced since.
        var isOutdated = false
        /// The event in its window that takes the place of one behind it.
        var successor: EventID?
    }

    struct Overdue {
        var call: Up.Call
        let key: Key
        let carried: [EventID]
    }

    /// Which of two values or removals is newer.
    struct Version: Comparable {
        var published: Int64
        /// The global name, both halves.
        let name: [[UInt8]]

        static func < (left: Version, right: Version) -> Bool {
            if left.published != right.published { return left.published < right.published }
            let half = left.name[0] == right.name[0] ? 1 : 0
            return left.name[half].lexicographicallyPrecedes(right.name[half])
        }
    }

    struct Moment {
        let at: Instant
        let stamp: Int
    }

    var configuration: World.Configuration
    let limits: Limits
    let firstID: EventID
    var nextID: EventID
    var nextScreen: ScreenID
    var now = Now(instant: Instant(microseconds: 0), uptime: Uptime(microseconds: 0))

    var items: [Item] = []
    var remembered: [(origin: Origin, id: EventID, until: Uptime)] = []
    /// Claims of what has not come yet, and those whose events have come since everything was last stored.
    var awaited: [Await] = []
    var come: [(await: Await, by: EventID)] = []
    /// What programs have shares of.
    enum Table: CaseIterable { case events, holds, awaited, graces, screens }
    /// The peers whose programs are known in a table, and those of them that have left.
    var programs: [Table: [String: String?]] = [:]
    var gone: [Table: Set<String>] = [:]
    var shownOrder: [EventID] = []
    var screens: [Standing] = []
    var isWatched = true
    var graces: [Grace] = []
    /// The pause and the mutes.
    var quiets: [Standstill] = []
    var isDesktopQuiet = false
    /// The schedules that are on, lifted or not, and the periods of those that are lifted.
    var schedules: [ActiveSchedule] = []
    var lifted: [ActiveSchedule.Period] = []
    /// The periods that owe a digest, and what was told since everything was last stored.
    var owed: [OwedDigest] = []
    var toldDigests: (by: EventID, digests: [OwedDigest])?
    var isCounting = false
    var digestRetry: Moment?
    var isCountDue = false
    var values: [(topic: Topic, id: EventID, until: Uptime, stamp: Int, version: Version)] = []
    /// The last removal of each topic.
    var removals: [(topic: Topic, version: Version, until: Uptime)] = []

    var banners: [Up] = []
    var line: [Key] = []
    var overdue: [Overdue] = []
    /// What was replaced since everything was last stored, with its banner before that.
    var replaced: [(earlier: Item, by: EventID, before: Up?)] = []
    var serverIsThere = false
    var failures = 0
    var serverRest: Moment?
    /// The newest call, and until when it keeps others back.
    var ahead: (call: BannerCall, until: Moment)?
    var summaryRest: Moment?
    /// Banners with buttons that the server closed, and until when a button may still be reported.
    var closed: [(number: BannerID, events: [EventID], isSummary: Bool, isDismissed: Bool, until: Moment)] = []
    var recent: [(at: Instant, sender: String)] = []

    /// What has kept banners from being asked for, in the order in which it ended.
    var obstacles: [(what: BannerDelay, began: Instant, ended: Instant)] = []
    var serverLeft = Instant(microseconds: .min)
    /// Since when the server has been given rests.
    var firstRest: Instant?

    /// The topics at which a screen has a say, as it was told last.
    var attended: Set<String> = []
    var lastStamp = 0
    var lastCall: UInt64 = 0
    var out: [Observed] = []
    /// The calls to the server that were made in this turn.
    var newCalls: [BannerCall] = []

    /// The muted event that the next snooze is about, where the journal has it.
    var muted: (event: Event, age: Duration)?

    init(_ configuration: World.Configuration, limits: Limits, firstID: EventID) {
        self.configuration = configuration
        self.limits = limits
        self.firstID = firstID
        nextID = firstID
        nextScreen = ScreenID(firstID.rawValue)
    }

    mutating func handle(_ call: Call, at now: Now) -> (observed: [Observed], calls: [BannerCall]) {
        begin(at: now)
        switch call {
        case .published(let publication): publish(publication)
        case .claimed(let id, let peer, _): claim(id, by: peer)
        case .claimedNamed(let claim, let id): claimNamed(claim, event: id)
        case .claimedProvisionally(let id, let time, let peer): hold(id, for: time, by: peer)
        case .answered(let id, .completed, let peer): complete(id, by: peer)
        case .answered(let id, .released, let peer): release(id, by: peer)
        case .answered(let id, .passed, let peer): pass(id, by: peer)
        case .topicClaimed(let topic, .grace(let grace), let peer): claimTopic(topic, grace: grace, by: peer)
        case .topicClaimed(let topic, .read(let last), let peer): markRead(topic, upTo: last, by: peer)
        case .screenOpened(let topic, let options, let peer): openScreen(topic, options, by: peer)
        case .screenChanged(let id, let options?, let peer): updateScreen(id, options, by: peer)
        case .screenChanged(let id, nil, let peer): closeScreen(id, by: peer)
        case .quieted(nil, let time): pause(for: time)
        case .quieted(let topic?, let time): mute(topic, for: time ?? .zero)
        case .digestsCounted(let count): digestsCounted(count)
        case .snoozed(let id, let time, let peer): snooze(id, for: time, by: peer)
        case .claimedCold: preconditionFailure("scripts run without a journal")
        case .withdrawn(let id, let peer): withdraw(id, by: peer)
        }
        return end()
    }

    mutating func handle(_ happening: Happening, at now: Now) -> (observed: [Observed], calls: [BannerCall]) {
        begin(at: now)
        switch happening {
        case .peer(let peer, .left):
            peerLeft(peer)
            for table in Table.allCases where programs[table]?[peer] != nil { gone[table, default: []].insert(peer) }
        case .peer(let peer, .identified(let program, let hasLeft)): identify(peer, as: program, hasLeft: hasLeft)
        case .attentionChanged(let isWatched): loseScreens { $0.isWatched = isWatched }
        case .scheduled(let active):
            schedule(active)
            isCountDue = true
        case .desktopQuiet(let isQuiet): desktop(isQuiet)
        case .timerFired: doWhatIsDue()
        // Scripts have servers that are ready at once.
        case .server(.found): break
        case .server(.ready): serverAppeared()
        case .server(.gone): serverVanished()
        case .banner(let call, .sent): bannerSent(call)
        case .banner(let call, .shown(let number)): bannerShown(call, number)
        case .banner(let call, .failed(let failure)): bannerFailed(call, failure)
        case .bannerClosed(let number, let reason): bannerClosed(number, reason)
        case .actionInvoked(let number, let action): actionInvoked(number, action)
        case .reconfigured: preconditionFailure("a configuration comes by name")
        case .stored(let ids) where ids.isEmpty:
            replaced = []
            toldDigests = nil
            come = []
        case .stored(except: let ids):
            drop(ids)
            awaitAgain(ids)
            takeBackDigests(ids)
        case .forgotten(let ids, let awaited):
            if awaited { self.awaited = [] }
            for id in ids { forget(id) }
        case .restored: preconditionFailure("scripts run without a journal")
        }
        return end()
    }

    private mutating func begin(at now: Now) {
        self.now = now
        out = []
        newCalls = []
    }

    private mutating func end() -> (observed: [Observed], calls: [BannerCall]) {
        sendBanners()
        forgetPrograms()
        compareAttention()
        tellOfQuiet(askingForCount: false)
        return (out, newCalls)
    }

    /// It is told once, after everything else.
    private mutating func tellOfQuiet(askingForCount isAsked: Bool) {
        let isChanged = out.contains(.quietChanged)
        out.removeAll { $0 == .quietChanged }
        askForCount(isChanged || isAsked)
        if isChanged { out.append(.quietChanged) }
    }

    mutating func reconfigure(_ configuration: World.Configuration, at now: Now) -> (
        observed: [Observed], calls: [BannerCall]
    ) {
        self.now = now
        out = []
        newCalls = []
        loseScreens { $0.configuration = configuration }
        desktop(isDesktopQuiet)
        sendBanners()
        compareAttention()
        tellOfQuiet(askingForCount: true)
        return (out, newCalls)
    }

    // MARK: What is due

    /// When the next thing is due, on either clock.
    var nextDue: (instant: Instant?, uptime: Uptime?) {
        (
            dueMoments().map(\.at).min(),
            (items.filter { $0.place == .waiting }.map(\.expires)
                + items.filter { $0.place == .snoozed }.compactMap(\.snooze?.due) + quiets.compactMap(\.quiet.ends)
                + values.map(\.until) + awaited.map(\.awaited.expires)).min()
        )
    }

    private enum Matter {
        case window(Key)
        case hold(EventID, by: String)
        case grace(Int)
        case lease(ScreenID)
        case call(BannerCall)
        case headStart, serverRest, summaryRest, digest
        case closed(BannerID)
    }

    private func dueMoments() -> [(at: Instant, stamp: Int, matter: Matter)] {
        var due: [(at: Instant, stamp: Int, matter: Matter)] = []
        for item in items {
            if item.place == .window { due.append((item.windowEnds, item.windowStamp, .window(item.key))) }
            for hold in item.holds { due.append((hold.ends, hold.stamp, .hold(item.id, by: hold.claimant))) }
        }
        for (index, grace) in graces.enumerated() { due.append((grace.ends, grace.stamp, .grace(index))) }
        for screen in screens {
            if let ends = screen.leaseEnds { due.append((ends, screen.leaseStamp, .lease(screen.id))) }
        }
        for banner in banners {
            if let call = banner.call { due.append((call.at + .seconds(5), call.stamp, .call(call.id))) }
        }
        if let ahead { due.append((ahead.until.at, ahead.until.stamp, .headStart)) }
        if let rest = serverRest { due.append((rest.at, rest.stamp, .serverRest)) }
        if let rest = summaryRest { due.append((rest.at, rest.stamp, .summaryRest)) }
        if let digestRetry { due.append((digestRetry.at, digestRetry.stamp, .digest)) }
        for closed in closed { due.append((closed.until.at, closed.until.stamp, .closed(closed.number))) }
        return due
    }

    private mutating func doWhatIsDue() {
        while let next = dueMoments().filter({ $0.at <= now.instant }).min(by: { ($0.at, $0.stamp) < ($1.at, $1.stamp) }
        ) {
            switch next.matter {
            case .window(let key): endWindow(key)
            case .hold(let id, let peer): holdFailed(id, by: peer, .ranOut)
            case .grace(let index): graces.remove(at: index)
            case .lease(let id): endScreen(id)
            case .call(let call): callOverdue(call)
            case .headStart: headStartEnded()
            case .serverRest: serverRestEnded()
            case .summaryRest: summaryRestEnded()
            case .digest:
                digestRetry = nil
                isCountDue = true
            case .closed(let number): settle(number)
            }
        }
        while let next = lifetimesThatEnd().min(by: { ($0.at, $0.stamp) < ($1.at, $1.stamp) }) {
            switch next.matter {
            case .event(let id): finish(id, Resolution(.expired))
            case .value(let topic): endValue(at: topic, .expired)
            case .quiet(let quiet): end(quiet.cause, quiet.topic)
            case .snooze(let id): comeBack(id)
            case .awaited(let name): endAwait(name)
            }
        }
    }

    private enum Lifetime {
        case event(EventID)
        case value(Topic)
        case quiet(Quiet)
        case awaited(EventName)
        case snooze(EventID)
    }

    private func lifetimesThatEnd() -> [(at: Uptime, stamp: Int, matter: Lifetime)] {
        let all: [(at: Uptime, stamp: Int, matter: Lifetime)] =
            items.filter { $0.place == .waiting }.map { ($0.expires, $0.waitingStamp, .event($0.id)) }
            + values.map { ($0.until, $0.stamp, .value($0.topic)) }
            + awaited.map { ($0.awaited.expires, $0.stamp, .awaited($0.awaited.claim.name)) }
            + quiets.compactMap { quiet in quiet.quiet.ends.map { ($0, quiet.stamp, .quiet(quiet.quiet)) } }
            + items.filter { $0.place == .snoozed }.map { ($0.snooze!.due, $0.snooze!.stamp, .snooze($0.id)) }
        return all.filter { $0.at <= now.uptime }
    }

    // MARK: Looking things up

    func item(_ id: EventID) -> Item? { items.first { $0.id == id } }

    mutating func change(_ id: EventID, _ change: (inout Item) -> Void) {
        for index in items.indices where items[index].id == id { change(&items[index]) }
    }

    /// Events in a place, of a key's window or banner, oldest first.
    func ids(_ matches: (Item) -> Bool) -> [EventID] { items.filter(matches).map(\.id).sorted() }

    func banner(_ key: Key) -> Up? { banners.first { $0.key == key } }

    mutating func change(_ key: Key, _ change: (inout Up) -> Void) {
        for index in banners.indices where banners[index].key == key { change(&banners[index]) }
    }

    func isKnown(_ id: EventID) -> Bool { id >= firstID && id < nextID }

    mutating func takeID() -> EventID {
        defer { nextID = EventID(nextID.rawValue + 1) }
        return nextID
    }

    mutating func stamp() -> Int {
        lastStamp += 1
        return lastStamp
    }

    mutating func ended(_ obstacle: BannerDelay, since began: Instant) {
        obstacles.append((obstacle, began, now.instant))
    }

    mutating func refuse(_ name: String) { out.append(.refused(name)) }

    // MARK: Outcomes

    mutating func resolve(_ item: Item, _ resolution: Resolution) {
        var resolution = resolution
        // Said once, by the first outcome.
        if item.isOpen {
            resolution.opened = item.windowOpened
            resolution.deadline = item.place == .window ? item.windowEnds : item.deadline
        }
        out.append(.resolve(item.id, item.topic.description, resolution))
    }

    /// The last word on an event that was never shown, or can no longer be claimed.
    mutating func finish(_ id: EventID, _ resolution: Resolution) {
        guard let item = item(id) else { return }
        resolve(item, resolution)
        items.removeAll { $0.id == id }
        leave(item)
    }

    /// A removed event was the successor of a banner, or the last one behind it.
    mutating func leave(_ item: Item) {
        if item.place == .window, banner(item.key)?.successor == item.id { endSuccession(item.key) }
        // What is on screen is not kept for a successor once it is claimed or withdrawn.
        if item.place == .carried || item.place == .shown, behind(item.banner).isEmpty { endSuccession(item.banner) }
        closeIfEmpty(item.banner)
    }
}
