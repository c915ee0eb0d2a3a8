import Logging
import NotifyBridge
import NotifyClient
import NotifyText
import Systemd
import TOMLTables
import Watching

/// Brings the notifications of ordinary programs to notifyd: each is an event whose banner the desktop shows already,
/// and whose outcome closes it. ``Observer`` decides, this does: the desktop's side is a ``ServerLink``, notifyd's are
/// ``Deliveries`` and the rows of its journal.
///
/// Another way in than observing is the ``Portal``.
@main
final class DesktopBridge: Bridge, @unchecked Sendable {
    // Proof: everything runs on the loop of the services, on which the library runs a bridge; stored properties are
    // used there only.

    static let name = "desktop"
    static let abstract = "Makes events of the notifications that programs show by themselves."

    let services: BridgeServices
    private(set) var server: ServerLink!
    let deliveries: Deliveries
    private(set) var observer = Observer(bus: "")
    private var portal: Portal?
    /// Events without an outcome that ends them, by their event-ids: a press needs the number.
    private var ids: [String: EventID] = [:]
    private var names: [EventID: String] = [:]
    private var units: [String: String] = [:]
    private var alarm: WorkTimer?
    private var armed: Instant?
    /// Commands that wait for a notification.
    var waiters: [CheckedContinuation<Void, Never>] = []
    private var writtenRow: UInt64 = 0

    private static let rowKey = "row"
    /// How often the number of a row goes to the disk.
    private static let rowPause: Duration = .seconds(30)
    /// And after how many rows: a start after a crash reads them again before it is up to date.
    private static let mostUnwritten = 500
    private static let mostUnits = 256
    private static let page = 200
    private static let mostIDs = 8192

    static func settings(from table: inout TableReader) -> DesktopRules? { .read(from: &table) }

    init(_ rules: DesktopRules, _ services: BridgeServices) async throws {
        self.services = services
        deliveries = Deliveries(services)
        server = ServerLink(services) { [unowned self] in handle($0) }
        do throws(NotifyError) {
            try await server.open()
        } catch {
            throw BridgeFailure(75, "the bus cannot be reached: \(error)")
        }
        let owner = server.server
        observer = Observer(bus: server.busID, catchesUp: true)
        observer.rules = rules
        perform(observer.serverChanged(owner, at: .now))
        exportMethods()
        portal = Portal(self)
        await portal?.start()
    }

    func run() async throws {
        let observation = services.daemon.observe([.action]) { [self] notice in
            switch notice {
            case .appeared:
                deliveries.retry()
                portal?.daemonChanged(isThere: true)
            case .vanished: portal?.daemonChanged(isThere: false)
            case .action(let press): announced(press)
            default: break
            }
        }
        try await withThrowingTaskGroup { group in
            group.addTask { try await self.server.follow() }
            group.addTask { try await self.followJournal() }
            group.addTask { await self.deleteOldTexts() }
            defer { group.cancelAll() }
            while try await group.next() != nil {}
        }
        withExtendedLifetime(observation) {}
        alarm?.cancel()
        server.close()
        // What notifyd is about to take is not lost.
        await services.wait { !deliveries.isEmpty }
        try? await services.store.write([.put(Self.rowKey, observer.firstRow)])
    }

    func reload(_ rules: DesktopRules) async -> Bool {
        observer.rules = rules
        return true
    }

    // MARK: What is seen

    private func handle(_ sight: ServerLink.Sight) {
        let now = Instant.now
        switch sight {
        case .server(let owner):
            perform(observer.serverChanged(owner, at: now))
            portal?.serverChanged()
        case .known: portal?.serverReady()
        case .notify(let id, let notice, let program, let expectsReply):
            handleNotification(notice, id, by: program, expectsReply: expectsReply)
        case .answer(let id, let answer): perform(observer.answered(id, answer, at: now))
        case .close(let key): perform(observer.closingRequested(key))
        case .ended(let key, let reason):
            perform(observer.ended(key, reason: reason))
            portal?.ended(key)
        case .pressed(let key, let action):
            portal?.pressed(key, action)
            perform(observer.pressed(key, action))
        case .activation(let number, let token): portal?.activation(number, token)
        }
    }

    private func handleNotification(_ notice: Notice, _ id: CallID, by program: String, expectsReply: Bool) {
        var notice = notice
        let unit = observer.rules.needUnit && !program.isEmpty ? units[program] : ""
        notice.unit = unit ?? ""
        perform(
            observer.called(
                id, notice, isUnitKnown: unit != nil, expectsReply: expectsReply, time: SystemClock.wall, at: .now))
        guard unit == nil else { return }
        services.loop.task { [self] in
            let process = await server.process(of: program)
            let unit = process.flatMap { ProcessIdentity(process: Int32(clamping: $0))?.userUnit } ?? ""
            if units.count >= Self.mostUnits { units = [:] }
            units[program] = unit
            perform(observer.know(id, unit: unit, at: .now))
        }
    }

    // MARK: What is done

    /// Does what the observer has decided.
    private func perform(_ effects: [Observer.Effect]) {
        for effect in effects {
            switch effect {
            case .publish(let name, let notice, let route, let collapse):
                deliver(notice, name, route, collapse: collapse)
            case .dismiss(let name): claim(name, "dismissed")
            case .withdraw(let name): claim(name, "withdrawn")
            case .press(let name, let action): press(name, action)
            case .close(let key):
                server.close(key) { [self] in observer.closed(key) }
            case .show(let name, let notice, let topic): show(name, notice, at: topic)
            case .invoke(let key, let action): server.invoke(key, action: action)
            }
        }
        for pattern in observer.takeExpensive() {
            services.logger.warning(
                """
                A text takes too long to compare with a pattern of desktop.toml, and counts as one that does not fit it
                """,
                metadata: ["pattern": "\(pattern)"])
        }
        armAlarm()
        if effects.contains(where: \.isPublication) { wakeWaiters() }
    }

    func wakeWaiters() {
        let waiting = waiters
        waiters = []
        for waiter in waiting { waiter.resume() }
    }

    private func armAlarm() {
        let deadline = observer.deadline
        guard deadline != armed else { return }
        armed = deadline
        alarm?.cancel()
        alarm = deadline.map { deadline in
            services.loop.perform(after: max(.zero, deadline - .now)) { [self] in
                armed = nil
                perform(observer.timePassed(at: .now))
            }
        }
    }

    /// Publishes the event of a notification.
    ///
    /// - Parameter completion: gets the answer unless that is to try later.
    func deliver(
        _ notice: Notice, _ name: DesktopName, _ route: DesktopRules.Route, collapse: String?,
        _ completion: @escaping (DaemonAnswer) -> Void = { _ in }
    ) {
        let time = SystemClock.wall
        deliveries.add(name.lane) {
            notice.call(name, route, collapse: collapse, time: time)
        } _: { [self] answer in
            if let id = answer.eventID { remember(id, name.eventID) }
            completion(answer)
        }
        guard route.isSeenWithProgram else { return }
        services.loop.task { [self] in
            if await isInFront(notice) { claim(name) }
        }
    }

    /// - Parameter kind: `dismissed` or `withdrawn`; `nil`: a claim.
    func claim(_ name: DesktopName, _ kind: String? = nil) {
        var options: [String: Value] = [:]
        if let kind { options[kind] = true }
        deliveries.add(name.lane) { .claimNamed(source: name.source, eventID: name.eventID, options: options) }
    }

    func press(_ name: DesktopName, _ action: String) {
        deliveries.add(name.lane) { [self] in
            ids[name.eventID].map { DaemonCall("Press", [.uint64($0.rawValue), .string(action)]) }
        } _: { [self] answer in
            // The user has seen it, whatever came of the button.
            if !answer.isDone { claim(name, "dismissed") }
        }
    }

    /// Shows a banner of our own, and follows it like those of programs.
    private func show(_ name: DesktopName, _ notice: Notice, at topic: Topic) {
        server.show(notice) { [self] key in
            guard let key else { return }
            follow(name, notice, key, at: topic)
            portal?.displayed(name, key)
        }
    }

    /// Follows a banner of our own like those of programs, until it is released.
    func follow(_ name: DesktopName, _ notice: Notice, _ key: BannerKey, at topic: Topic) {
        observer.shown(name, notice, as: key, topic: topic)
    }

    /// What came lately.
    var recentSightings: [Observer.Sighting] {
        observer.forgetSightings(at: SystemClock.wall)
        return observer.sightings
    }

    func release(_ key: BannerKey) { observer.released(key) }

    /// What the rules say about a notification that is not observed.
    func decide(_ notice: Notice) -> DesktopRules.Decision {
        defer { perform([]) }
        return observer.decide(notice, time: SystemClock.wall)
    }

    private func remember(_ id: EventID, _ eventID: String) {
        if ids.count >= Self.mostIDs { (ids, names) = ([:], [:]) }
        ids[eventID] = id
        names[id] = eventID
    }

    private func announced(_ press: Action) {
        guard let eventID = names[press.id] else { return }
        portal?.announced(eventID, press.action)
        perform(observer.announced(eventID, action: press.action))
    }

    // MARK: The journal

    /// Follows what becomes of events: also of those from before the start, whose banners may be up.
    private func followJournal() async throws {
        // The next start goes on from here, also if this one is killed.
        let start = try await services.cursor(Self.rowKey, mayBeUnwritten: true)
        var written = ContinuousClock.now
        var unwritten = 0
        // In short pages: what programs show meanwhile does not wait for all of them.
        for try await rows in services.daemon.changes(after: start, limit: UInt32(Self.page)) {
            for row in rows { handle(row) }
            // A page that is full may be the last one, too.
            if rows.count < Self.page {
                perform(observer.caughtUp())
            } else {
                services.loop.perform(after: .seconds(1)) { [self] in perform(observer.caughtUp()) }
            }
            unwritten += rows.count
            guard unwritten >= Self.mostUnwritten || written + Self.rowPause <= .now,
                observer.firstRow != writtenRow
            else { continue }
            (written, writtenRow, unwritten) = (.now, observer.firstRow, 0)
            try? await services.store.write([.put(Self.rowKey, writtenRow)])
        }
    }

    private func handle(_ row: JournalChange) {
        let details = row.details
        guard let eventID = details["event-id"]?.string, let source = details["source"]?.string else { return }
        switch row.kind {
        case "event":
            guard let topic = try? Topic(row.topic) else { return }
            if details["silent"] != nil { portal?.decided(eventID, "silent", action: nil) }
            if DesktopName.isSource(source) { remember(row.id, eventID) }
            let buttons = (details["options"]?.entries?["actions"]?.elements ?? []).compactMap(\.string)
            observer.published(
                eventID, source: source, topic: topic, title: details["title"]?.string ?? "",
                body: details["body"]?.string ?? "",
                buttons: stride(from: 0, to: buttons.count - 1, by: 2).map { buttons[$0] }, row: row.number,
                time: details["accepted"]?.integer() ?? 0)
        case "outcome", "read":
            guard DesktopName.isSource(source) else { return }
            let outcome = details["outcome"]?.string ?? row.kind
            let action = details["action"]?.string
            perform(observer.decided(eventID, outcome, action: action))
            portal?.decided(eventID, outcome, action: action)
        default: break
        }
    }
}

extension Observer.Effect {
    fileprivate var isPublication: Bool { if case .publish = self { true } else { false } }
}

extension Instant {
    /// Of the monotonic clock.
    static var now: Instant { Instant(microseconds: Clock.monotonic()) }
}
