public import NotifyText

/// Notifications of sandboxed programs, which come by the portal and are shown by this program: not before notifyd has
/// decided. A plain value, without a clock and a bus.
///
/// In doubt a notification is shown: when notifyd does not take its event, or is gone before it has decided. Once a
/// banner is up, an ``Observer`` follows it like any other.
public struct PortalNotices: Sendable {
    /// The name of a notification: that of the program, which the portal vouches for, and the program's own for it.
    public struct Key: Hashable, Sendable {
        public let app: String
        public let id: String

        public init(app: String, id: String) { (self.app, self.id) = (app, id) }
    }

    public enum Effect: Equatable, Sendable {
        /// Publish the event. With `collapse`, it takes the place of the one before.
        case publish(DesktopName, Notice, DesktopRules.Route, collapse: String?)
        /// Show it; then tell ``displayed(_:_:_:at:)``. With a number other than 0, in the place of that banner.
        case show(Key, DesktopName?, Notice, Topic?, replacing: UInt32)
        case close(UInt32)
        /// The program has taken it back.
        case withdraw(DesktopName)
        /// It is over: nothing more is kept of it.
        case forget(Key)
    }

    private enum State: Equatable {
        /// notifyd has not taken it yet, and shall until then.
        case asking(until: Instant)
        /// notifyd decides.
        case waiting
        /// It is to be shown. The server has been asked to, or is asked again then.
        case due(until: Instant?)
        case up
        /// It may be shown later. The observer shows what was up before.
        case muted(wasUp: Bool)
    }

    private struct Entry {
        /// `nil`: it has no event.
        let name: DesktopName?
        let topic: Topic?
        let notice: Notice
        var state: State
        /// Of its banner, or of the one that it takes the place of.
        var number: UInt32?
    }

    /// How long notifyd may take to accept an event, and to come back before it has decided; and when a server that has
    /// shown nothing is asked again.
    private static let patience = (
        answer: Duration.seconds(1), return: Duration.seconds(5), server: Duration.seconds(30)
    )
    private static let most = 1024
    /// Bytes of the option `collapse`.
    private static let longestCollapse = 256

    private let bus: String
    private var entries: [Key: Entry] = [:]
    /// The oldest first.
    private var order: [Key] = []
    /// When notifyd is given up that is not there.
    private var returnDeadline: Instant?

    /// - Parameter bus: its id.
    public init(bus: String) { self.bus = bus }

    public var count: Int { entries.count }

    // MARK: Programs

    /// A program shows something, or something else under the same name.
    ///
    /// - Parameters:
    ///   - call: by which the portal has passed it on.
    ///   - decision: what the rules say.
    public mutating func added(
        _ key: Key, _ notice: Notice, _ call: CallID, _ decision: DesktopRules.Decision, at now: Instant
    ) -> [Effect] {
        var effects: [Effect] = []
        if entries[key] == nil, order.count >= Self.most { effects = makeRoom() }
        let before = remove(key)
        guard case .take(let route) = decision else {
            if let name = before?.name { effects.append(.withdraw(name)) }
            insert(key, Entry(name: nil, topic: nil, notice: notice, state: .due(until: nil), number: before?.number))
            return effects + show(key)
        }
        let name = DesktopName(ServerID(bus: bus, name: "portal"), call, nil, isShared: route.isShared)
        let collapse = collapse(key)
        if let old = before?.name, before?.topic != route.topic || collapse == nil { effects.append(.withdraw(old)) }
        insert(
            key,
            Entry(
                name: name, topic: route.topic, notice: notice, state: .asking(until: now + Self.patience.answer),
                number: before?.number))
        effects.append(.publish(name, notice, route, collapse: collapse))
        return effects
    }

    /// A program takes back what it has shown.
    public mutating func removed(_ key: Key) -> [Effect] {
        guard let entry = remove(key) else { return [] }
        return [entry.number.map(Effect.close), entry.name.map(Effect.withdraw)].compactMap { $0 } + [.forget(key)]
    }

    /// A notification is known from before a restart. What is not up is published once more, which changes nothing if
    /// notifyd has it, and its outcome is asked for.
    ///
    /// - Parameter number: of its banner, if that is up.
    public mutating func recovered(
        _ key: Key, _ name: DesktopName, _ notice: Notice, _ route: DesktopRules.Route, number: UInt32?, at now: Instant
    ) -> [Effect] {
        guard entries[key] == nil, order.count < Self.most else { return [] }
        let state: State = number == nil ? .asking(until: now + Self.patience.return) : .up
        insert(key, Entry(name: name, topic: route.topic, notice: notice, state: state, number: number))
        return number == nil ? [.publish(name, notice, route, collapse: collapse(key))] : []
    }

    // MARK: notifyd

    /// notifyd has taken an event, or refuses it for ever.
    public mutating func answered(_ eventID: String, isTaken: Bool) -> [Effect] {
        guard let key = key(ofEvent: eventID), case .asking = entries[key]?.state else { return [] }
        entries[key]?.state = .waiting
        return isTaken ? [] : show(key)
    }

    /// What became of an event. The observer has been told before.
    ///
    /// - Parameter outcome: as in `Changes`, or `read`.
    public mutating func decided(_ eventID: String, _ outcome: String) -> [Effect] {
        guard let key = key(ofEvent: eventID), let entry = entries[key] else { return [] }
        switch (outcome, entry.state) {
        case ("shown", .asking), ("shown", .waiting), ("shown", .muted(wasUp: false)): return show(key)
        case ("shown", _): return []
        case ("muted", .up), ("muted", .muted(wasUp: true)):
            entries[key]?.state = .muted(wasUp: true)
            return []
        case ("muted", _):
            entries[key]?.state = .muted(wasUp: false)
            entries[key]?.number = nil
            return entry.number.map { [.close($0)] } ?? []
        default:
            remove(key)
            // What is up is closed by the observer.
            let number = entry.state == .up ? nil : entry.number
            return (number.map { [.close($0)] } ?? []) + [.forget(key)]
        }
    }

    /// notifyd has left the bus, or is there again.
    public mutating func daemonChanged(isThere: Bool, at now: Instant) {
        returnDeadline = isThere ? nil : returnDeadline ?? now + Self.patience.return
    }

    // MARK: The notification server

    /// The server has answered: the number of a banner, or `nil` if it shows nothing.
    public mutating func displayed(
        _ key: Key, _ name: DesktopName?, _ number: UInt32?, at now: Instant
    ) -> [Effect] {
        guard let entry = entries[key] else { return number.map { [.close($0)] } ?? [] }
        // Something newer is on its way to this banner, and shows what is to be seen there.
        guard entry.name == name else {
            if let number { entries[key]?.number = number }
            return []
        }
        guard let number else {
            if case .due = entry.state { entries[key]?.state = .due(until: now + Self.patience.server) }
            return []
        }
        entries[key]?.number = number
        if case .muted(wasUp: false) = entry.state { return [.close(number)] }
        entries[key]?.state = .up
        return []
    }

    /// A banner is gone.
    public mutating func ended(_ number: UInt32) -> [Effect] {
        guard let key = key(ofBanner: number), let entry = entries[key] else { return [] }
        entries[key]?.number = nil
        guard entry.state == .up else { return [] }
        remove(key)
        return [.forget(key)]
    }

    /// The server is another one, or gone, and what was up with it.
    public mutating func serverChanged() -> [Effect] {
        var effects: [Effect] = []
        for key in order {
            entries[key]?.number = nil
            if entries[key]?.state == .up {
                remove(key)
                effects.append(.forget(key))
            } else if entries[key]?.state == .muted(wasUp: true) {
                entries[key]?.state = .muted(wasUp: false)
            }
        }
        return effects
    }

    /// There is a server, which shows now what it has not shown.
    public mutating func serverReady() -> [Effect] {
        order.flatMap { key -> [Effect] in
            if case .due(until: .some) = entries[key]?.state { show(key) } else { [] }
        }
    }

    // MARK: Time

    /// When ``timePassed(at:)`` is to be called.
    public var deadline: Instant? {
        entries.values.compactMap { entry in
            switch entry.state {
            case .asking(let until), .due(.some(let until)): until
            case .waiting: returnDeadline
            default: nil
            }
        }.min()
    }

    /// Shows what notifyd has not decided in time, and what the server has not shown.
    public mutating func timePassed(at now: Instant) -> [Effect] {
        order.flatMap { key -> [Effect] in
            switch entries[key]?.state {
            case .asking(let until) where until <= now, .due(.some(let until)) where until <= now: show(key)
            case .waiting where returnDeadline.map { $0 <= now } == true: show(key)
            default: []
            }
        }
    }

    // MARK: Looking up

    /// The notification with a banner.
    public func key(ofBanner number: UInt32) -> Key? { entries.first { $0.value.number == number }?.key }

    /// The notification with an event.
    public func key(ofEvent eventID: String) -> Key? {
        entries.first { $0.value.name?.eventID == eventID }?.key
    }

    /// The event of a notification; `nil` if it has none.
    public func name(of key: Key) -> DesktopName? { entries[key]?.name }

    /// The banner of a notification, also while that shows what was there before.
    public func number(of key: Key) -> UInt32? { entries[key]?.number }

    /// Whether the banner shows this event.
    public func isUp(_ key: Key, _ name: DesktopName?) -> Bool {
        entries[key]?.name == name && entries[key]?.state == .up
    }

    // MARK: Inside

    /// `nil` if it would be too long.
    private func collapse(_ key: Key) -> String? {
        let text = "\(bus)/portal/\(key.app)/\(key.id)"
        return text.utf8.count <= Self.longestCollapse ? text : nil
    }

    private mutating func show(_ key: Key) -> [Effect] {
        guard let entry = entries[key] else { return [] }
        entries[key]?.state = .due(until: nil)
        return [.show(key, entry.name, entry.notice, entry.topic, replacing: entry.number ?? 0)]
    }

    /// Forgets the oldest that was decided. Where there is none, the oldest is shown, and forgotten the next time.
    private mutating func makeRoom() -> [Effect] {
        let decided = order.first { key in
            switch entries[key]?.state {
            case .asking, .waiting: false
            default: true
            }
        }
        guard let decided else { return order.first.map { show($0) } ?? [] }
        remove(decided)
        return [.forget(decided)]
    }

    private mutating func insert(_ key: Key, _ entry: Entry) {
        entries[key] = entry
        order.append(key)
    }

    @discardableResult
    private mutating func remove(_ key: Key) -> Entry? {
        guard let entry = entries.removeValue(forKey: key) else { return nil }
        order.removeAll { $0 == key }
        return entry
    }
}
