import DequeModule
public import NotifyText

/// What is up on the desktop, and which event each banner is: a plain value, without a clock and a bus. What the
/// programs, the notification server and notifyd do goes in, and what is to be done comes out.
///
/// - A program shows something: the call is seen first, and the server's answer with the number of the banner follows.
/// - The user, the program or the server ends a banner: notifyd hears of it.
/// - notifyd decides that an event is over: its banner is closed.
public struct Observer: Sendable {
    private struct Call {
        var notice: Notice
        /// Microseconds since the epoch.
        let time: Int64
        let deadline: Instant
        var isUnitKnown: Bool
        var answer: Answer?
        /// Why the banner ended, if it did so before everything about it was known.
        var endReason: UInt32?
        /// Set if it was published without the number of its banner.
        var name: DesktopName?
        /// notifyd has decided that it is over before the server has answered.
        var isOver = false
    }

    private struct Banner {
        let name: DesktopName
        let topic: Topic
        let notice: Notice
        /// Whether we have asked the server to close it.
        var isClosing = false
        /// Whether its program has.
        var isClosedByProgram = false
        /// Buttons that were pressed here and that notifyd is told about: it announces them to everybody, us included.
        var presses: [String] = []
        /// Whether it was read from the journal after a start.
        var isRecovered = false
        /// How its event has ended, while later rows may tell that something else is up in its place.
        var end: (outcome: String, action: String?)?
        /// Grows with each banner that is remembered.
        var age: UInt64 = 0
    }

    /// How long an event waits for the number of its banner, and how long the number is of use when it comes later.
    private static let patience = (publish: Duration.milliseconds(2000), number: Duration.seconds(60))
    /// Calls without an answer, banners that are up, and what is remembered of what came.
    private static let most = (calls: 1024, banners: 4096, sightings: 64, snoozed: 256, gone: 1024)
    /// The same text of another source within this time, in microseconds, is the same notification.
    private static let sameTime: Int64 = 10_000_000

    public var rules = DesktopRules() {
        didSet { told = [] }
    }
    public private(set) var server: ServerID
    /// The newest last, and none for longer than its text stays on disk.
    public private(set) var sightings: [Sighting] = []
    /// How many there were since the start.
    public private(set) var sightingCount = 0
    /// Patterns that were given up, and not reported yet.
    public private(set) var expensive: [Pattern] = []
    /// Patterns that were given up since the rules were read.
    public private(set) var told: Set<String> = []
    private var calls: [CallID: Call] = [:]
    /// In the order in which they came.
    private var order: [CallID] = []
    private var banners: [BannerKey: Banner] = [:]
    /// By `event-id`.
    private var keys: [String: BannerKey] = [:]
    /// Banners from the oldest on, also some that are forgotten.
    private var ages: Deque<(key: BannerKey, age: UInt64)> = []
    private var lastAge: UInt64 = 0
    /// What was closed and may come back.
    private var hidden: [String: (name: DesktopName, notice: Notice, topic: Topic)] = [:]
    private var hiddenOrder: [String] = []
    /// What has gone by itself, or was closed for a while: its program may take it back later.
    private var gone: [BannerKey: DesktopName] = [:]
    private var goneOrder: Deque<BannerKey> = []
    /// Rows of the journal, by `event-id`, of banners that are up.
    private var rows: [String: UInt64] = [:]
    private var lastRow: UInt64 = 0
    /// What other sources have published lately: title and body.
    private var foreign: [(text: String, time: Int64)] = []

    /// Whether rows of the journal are read that were written before the start.
    private var isCatchingUp: Bool

    /// - Parameter catchesUp: whether ``caughtUp()`` is called when the journal has been read.
    public init(bus: String, catchesUp: Bool = false) {
        server = ServerID(bus: bus, name: "")
        isCatchingUp = catchesUp
    }

    // MARK: The server

    /// The notification server has changed, or is gone: what was up is gone with it, and events stay.
    ///
    /// - Parameter owner: its unique name; empty: none.
    public mutating func serverChanged(_ owner: String, at now: Instant) -> [Effect] {
        guard owner != server.name else { return [] }
        let before = server
        server = ServerID(bus: before.bus, name: owner)
        (banners, keys, ages, rows, hidden, hiddenOrder) = ([:], [:], [], [:], [:], [])
        (gone, goneOrder) = ([:], [])
        // What waits for a server that the bus starts is answered by that one.
        guard !before.name.isEmpty else { return [] }
        var effects: [Effect] = []
        for id in order {
            guard let call = calls.removeValue(forKey: id) else { continue }
            if call.name == nil, call.answer != .refused { effects += publish(call, id, nil, on: before) }
        }
        order = []
        return effects
    }

    // MARK: Programs

    /// A program has called `Notify`.
    ///
    /// - Parameters:
    ///   - isUnitKnown: whether `notice` has the unit, or no rule needs it; otherwise ``know(_:unit:at:)`` follows.
    ///   - expectsReply: whether there will be an answer.
    ///   - time: microseconds since the epoch.
    public mutating func called(
        _ id: CallID, _ notice: Notice, isUnitKnown: Bool = true, expectsReply: Bool = true, time: Int64,
        at now: Instant
    ) -> [Effect] {
        guard calls[id] == nil else { return [] }
        var effects: [Effect] = []
        if order.count >= Self.most.calls, let oldest = order.first { effects = giveUp(oldest) }
        let patience: Duration = expectsReply ? Self.patience.publish : .zero
        calls[id] = Call(notice: notice, time: time, deadline: now + patience, isUnitKnown: isUnitKnown)
        order.append(id)
        return effects
    }

    /// The unit of a program has been found; empty if there is none.
    public mutating func know(_ id: CallID, unit: String, at now: Instant) -> [Effect] {
        calls[id]?.notice.unit = unit
        calls[id]?.isUnitKnown = true
        return finish(id)
    }

    /// The server has answered a call.
    public mutating func answered(_ id: CallID, _ answer: Answer, at now: Instant) -> [Effect] {
        guard calls[id] != nil else { return [] }
        calls[id]?.answer = answer
        return finish(id)
    }

    /// A program takes back what it has shown; the server may refuse.
    public mutating func closingRequested(_ key: BannerKey) -> [Effect] {
        if banners[key] == nil, let name = gone.removeValue(forKey: key) {
            hidden[name.eventID] = nil
            return [.withdraw(name)]
        }
        guard case .gtk = key else {
            banners[key]?.isClosedByProgram = true
            return []
        }
        // There is no signal for these.
        return ended(key, reason: 3)
    }

    // MARK: The server's signals

    /// A banner is gone.
    ///
    /// - Parameter reason: 1 expired, 2 closed by the user, 3 by a call, 4 undefined.
    public mutating func ended(_ key: BannerKey, reason: UInt32) -> [Effect] {
        guard let banner = forget(key) else {
            if let id = order.first(where: { calls[$0]?.answer == .banner(key) }) {
                calls[id]?.endReason = reason
            }
            return []
        }
        if banner.isClosing {
            keepIfHidden(banner, key)
            return []
        }
        switch reason {
        case 2: return banner.presses.isEmpty ? [.dismiss(banner.name)] : []
        case 3: return [.withdraw(banner.name)]
        default:
            if banner.isClosedByProgram { return [.withdraw(banner.name)] }
            keep(banner, key)
            return []
        }
    }

    /// The server has answered the call that closes a banner. Not all of them say by a signal that it is gone.
    public mutating func closed(_ key: BannerKey) {
        // Something else may be up in its place meanwhile.
        if banners[key]?.isClosing == true, let banner = forget(key) { keepIfHidden(banner, key) }
    }

    /// The user has pressed a button of a banner. The server closes it then, unless it is resident.
    public mutating func pressed(_ key: BannerKey, _ action: String) -> [Effect] {
        guard let banner = banners[key], !banner.isClosing else { return [] }
        // notifyd knows no more buttons than it was told about.
        guard banner.notice.publishable.buttons.contains(where: { $0.key == action }) else {
            return banner.notice.isResident ? [] : [.dismiss(banner.name)]
        }
        banners[key]?.presses.append(action)
        return [.press(banner.name, action)]
    }

    // MARK: notifyd

    /// An event is in the journal.
    ///
    /// - Parameters:
    ///   - number: of its row.
    ///   - buttons: the keys of its actions.
    public mutating func published(
        _ eventID: String, source: String, topic: Topic, title: String, body: String, buttons: [String],
        row number: UInt64, time: Int64
    ) {
        lastRow = max(lastRow, number)
        guard DesktopName.isSource(source) else {
            foreign.removeAll { $0.time + Self.sameTime < time }
            if foreign.count < Self.most.sightings { foreign.append((title + "\n" + body, time)) }
            return
        }
        if keys[eventID] != nil {
            rows[eventID] = number
            return
        }
        // From before the start of this program: it may be up.
        guard let key = DesktopName.banner(ofEventID: eventID, on: server) else { return }
        if let known = banners[key] {
            // Of two rows, the later one is of what is up; what was seen since the start is newer than both.
            guard let row = rows[known.name.eventID], row < number, known.isRecovered else { return }
        }
        var notice = Notice()
        (notice.title, notice.body) = (title, body)
        notice.buttons = buttons.map { Notice.Button(key: $0, label: $0) }
        remember(
            Banner(
                name: DesktopName(eventID: eventID, source: source), topic: topic, notice: notice,
                isRecovered: true), as: key)
        rows[eventID] = number
    }

    /// What became of an event.
    ///
    /// - Parameters:
    ///   - outcome: as in `Changes`, or `read`.
    ///   - action: the button by which it was claimed.
    public mutating func decided(_ eventID: String, _ outcome: String, action: String? = nil) -> [Effect] {
        let closes = ["claimed", "retracted", "muted", "withdrawn", "dismissed", "replaced", "read"].contains(outcome)
        guard let key = keys[eventID], let banner = banners[key], banner.name.eventID == eventID else {
            if closes, let id = order.first(where: { calls[$0]?.name?.eventID == eventID }) { calls[id]?.isOver = true }
            if outcome == "shown" { return showAgain(eventID) }
            if closes, outcome != "muted" { hidden[eventID] = nil }
            return []
        }
        if isCatchingUp, banner.isRecovered {
            banners[key]?.end = closes ? (outcome, action) : nil
            return []
        }
        guard closes, !banner.isClosing else { return [] }
        if outcome == "muted" { hide(banner) }
        banners[key]?.isClosing = true
        var effects: [Effect] = []
        // An application that was told before the start is not told again; a banner that is gone has no button.
        if let action, !banner.presses.contains(action), !banner.isRecovered || key.isNumber {
            effects.append(.invoke(key, action: action))
        }
        effects.append(.close(key))
        if case .gtk = key {
            forget(key)
            keepIfHidden(banner, key)
        }
        return effects
    }

    /// The journal has been read up to the start: what is still up and over is closed.
    public mutating func caughtUp() -> [Effect] {
        guard isCatchingUp else { return [] }
        isCatchingUp = false
        let ended = banners.values.filter { $0.end != nil }.sorted { $0.age < $1.age }
        return ended.flatMap { decided($0.name.eventID, $0.end?.outcome ?? "", action: $0.end?.action) }
    }

    /// A button of an event that stays was pressed somewhere, as notifyd announces.
    public mutating func announced(_ eventID: String, action: String) -> [Effect] {
        guard let key = keys[eventID], let banner = banners[key] else { return [] }
        if let index = banner.presses.firstIndex(of: action) {
            if banner.notice.isResident { banners[key]?.presses.remove(at: index) }
            return []
        }
        return banner.notice.isResident ? [.invoke(key, action: action)] : []
    }

    /// An event has a banner of this program's own: see ``Effect/show(_:_:_:)``, and the portal.
    public mutating func shown(_ name: DesktopName, _ notice: Notice, as key: BannerKey, topic: Topic) {
        remember(Banner(name: name, topic: topic, notice: notice), as: key)
    }

    /// A banner of this program's own shows something else from now on, or is closed by this program.
    public mutating func released(_ key: BannerKey) { forget(key) }

    /// What the rules say about a notification that this program shows itself.
    ///
    /// - Parameter time: microseconds since the epoch.
    public mutating func decide(_ notice: Notice, time: Int64) -> DesktopRules.Decision {
        let decision = decision(notice)
        recordSighting(notice, decision, time)
        return decision
    }

    /// The number of the row before the oldest that is still of use: what is up is found again from there.
    public var firstRow: UInt64 { rows.values.min().map { $0 - 1 } ?? lastRow }

    /// How many banners are up.
    public var count: Int { banners.count }

    // MARK: Time

    /// When ``timePassed(at:)`` is to be called.
    public var deadline: Instant? {
        order.compactMap { id in
            calls[id].map { $0.name == nil ? $0.deadline : $0.deadline + Self.patience.number }
        }.min()
    }

    /// Events whose banner has no number yet go without it.
    public mutating func timePassed(at now: Instant) -> [Effect] {
        var effects: [Effect] = []
        for id in order {
            guard let call = calls[id], call.deadline <= now else { continue }
            if call.answer != nil {
                calls[id]?.isUnitKnown = true
                effects += finish(id)
            } else if call.name == nil {
                effects += publish(call, id, nil, on: server)
            } else if call.deadline + Self.patience.number <= now {
                drop(id)
            }
        }
        return effects
    }

    /// What was to be reported about patterns.
    public mutating func takeExpensive() -> [Pattern] {
        defer { expensive = [] }
        return expensive
    }

    // MARK: Inside

    private mutating func giveUp(_ id: CallID) -> [Effect] {
        defer { drop(id) }
        calls[id]?.isUnitKnown = true
        guard let call = calls[id], call.answer == nil else { return finish(id) }
        return call.name == nil ? publish(call, id, nil, on: server) : []
    }

    private mutating func drop(_ id: CallID) {
        calls[id] = nil
        order.removeAll { $0 == id }
    }

    /// Publishes a call about which everything is known.
    private mutating func finish(_ id: CallID) -> [Effect] {
        guard let call = calls[id], call.isUnitKnown, let answer = call.answer else { return [] }
        drop(id)
        guard case .banner(let key) = answer else { return [] }
        var effects: [Effect] = []
        if let name = call.name {
            guard case .take(let route) = decision(call.notice) else { return [] }
            remember(Banner(name: name, topic: route.topic, notice: call.notice), as: key)
            if call.isOver {
                banners[key]?.isClosing = true
                effects = [.close(key)]
            }
        } else {
            effects = publish(call, id, key, on: server)
        }
        if let reason = call.endReason { effects += ended(key, reason: reason) }
        return effects
    }

    /// - Parameter time: microseconds since the epoch.
    public mutating func forgetSightings(at time: Int64) {
        sightings.removeAll { $0.time + $0.decision.keep.microseconds < time }
    }

    private mutating func recordSighting(_ notice: Notice, _ decision: DesktopRules.Decision, _ time: Int64) {
        var notice = notice
        // Of what is left alone, nothing is told but who has shown it.
        if case .leave(.some, _) = decision { (notice.title, notice.body) = ("", "") }
        sightings.append(Sighting(notice: notice, decision: decision, time: time))
        sightingCount += 1
        if sightings.count > Self.most.sightings { sightings.removeFirst() }
    }

    private mutating func decision(_ notice: Notice) -> DesktopRules.Decision {
        var given: [Pattern] = []
        let decision = rules.decision(for: notice) { given.append($0) }
        for pattern in given where told.insert(pattern.description).inserted { expensive.append(pattern) }
        return decision
    }

    /// - Parameter key: `nil` if the number of the banner is not known.
    private mutating func publish(_ call: Call, _ id: CallID, _ key: BannerKey?, on server: ServerID) -> [Effect] {
        let notice = call.notice
        var decision = decision(notice)
        if case .take = decision,
            foreign.contains(where: {
                abs(call.time - $0.time) < Self.sameTime && $0.text == notice.title + "\n" + notice.body
            }), notice.isOfBrowser
        {
            decision = .leave(rule: nil, reason: "its page has published the same")
        }
        recordSighting(notice, decision, call.time)
        // What the banner showed before is not there any more.
        let before = key.flatMap { forget($0) }
        if let key { gone[key] = nil }
        guard case .take(let route) = decision else {
            if key == nil { drop(id) }
            return []
        }
        let name = DesktopName(server, id, key, isShared: route.isShared)
        var effects: [Effect] = []
        if let before, before.topic != route.topic { effects.append(.withdraw(before.name)) }
        if let key {
            remember(Banner(name: name, topic: route.topic, notice: notice), as: key)
        } else {
            calls[id]?.name = name
        }
        let collapse = key.map { "\(server.text)/\($0.text)" }
        effects.append(.publish(name, notice, route, collapse: collapse))
        return effects
    }

    private mutating func remember(_ banner: Banner, as key: BannerKey) {
        forget(key)
        gone[key] = nil
        lastAge += 1
        var banner = banner
        banner.age = lastAge
        banners[key] = banner
        keys[banner.name.eventID] = key
        ages.append((key, lastAge))
        while banners.count > Self.most.banners || ages.count > 2 * Self.most.banners, let oldest = ages.popFirst() {
            if banners[oldest.key]?.age == oldest.age { forget(oldest.key) }
        }
    }

    @discardableResult
    private mutating func forget(_ key: BannerKey) -> Banner? {
        guard let banner = banners.removeValue(forKey: key) else { return nil }
        keys[banner.name.eventID] = nil
        rows[banner.name.eventID] = nil
        return banner
    }

    private mutating func hide(_ banner: Banner) {
        hidden[banner.name.eventID] = (banner.name, banner.notice, banner.topic)
        hiddenOrder.append(banner.name.eventID)
        if hiddenOrder.count > Self.most.snoozed { hidden[hiddenOrder.removeFirst()] = nil }
    }

    private mutating func keepIfHidden(_ banner: Banner, _ key: BannerKey) {
        if hidden[banner.name.eventID] != nil { keep(banner, key) }
    }

    private mutating func keep(_ banner: Banner, _ key: BannerKey) {
        gone[key] = banner.name
        goneOrder.append(key)
        if goneOrder.count > Self.most.gone, let oldest = goneOrder.popFirst(), !goneOrder.contains(oldest) {
            gone[oldest] = nil
        }
    }

    private mutating func showAgain(_ eventID: String) -> [Effect] {
        guard let (name, notice, topic) = hidden.removeValue(forKey: eventID) else { return [] }
        hiddenOrder.removeAll { $0 == eventID }
        return [.show(name, notice, topic)]
    }
}
