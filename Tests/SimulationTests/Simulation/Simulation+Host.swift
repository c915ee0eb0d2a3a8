import Routing
import Systemd

@testable import Journal
@testable import NotifyDaemon
@testable import Routing

/// The machine as the daemon sees it.
extension Simulation: Host {
    var now: Now {
        Now(instant: Instant(microseconds: time), uptime: Uptime(microseconds: time + slept))
    }

    var wall: Int64 { time + slept + wallOffset + wallSteps }
    var boot: String { "boot \(boots)" }

    func armWindowTimer(at moment: Instant) { windowTimer = moment }
    func armLifetimeTimer(at moment: Uptime) { lifetimeTimer = moment }
    func armJobTimer(at moment: Instant) { jobTimer = moment }
    func watchNames(in directory: String) {}
    func armWallTimer(at moment: Int64?) { wallTimer = moment }
    var calendar: LocalCalendar { LocalCalendar { _ in 3600 } }
    func endTurnWhenIdle() { isTurnOpen = true }

    // MARK: Messages

    func send(_ message: Outgoing) {
        switch message {
        case .reply(let reply, let call): send(.reply(.success(reply), self.call(call)))
        case .error(let refusal, let call): send(.reply(.failure(refusal), self.call(call)))
        case .encoded: preconditionFailure("nothing here reads the journal over the bus")
        case .signal(.event(let event, let announcement)):
            if announcement.isReplayed { lastReplay = now.instant }
            send(.event(event, announcement, windowEnds: announcement.window.map { now.instant + $0 }))
        case .signal(.resolved(let id, _, let resolution)): send(.resolved(id, resolution))
        case .signal(.removed(let topic, let id)): send(.removed(topic, id))
        case .signal(.action(let event, _)): send(.action(event.id))
        case .signal(.screens(let topic, let isAttended)): trace?("  \(topic) is attended: \(isAttended)")
        case .propertiesChanged(let properties):
            if properties.contains(.quiet) { trace?("  quiet: \(daemon?.quiet ?? [])") }
        }
    }

    private func call(_ message: RetainedMessage) -> Call {
        guard let call = calls[ObjectIdentifier(message)] else {
            preconditionFailure("every call came from the simulation")
        }
        return call
    }

    func send(_ message: Message) {
        guard case .done = life.act() else { return }
        trace?("  sent: \(message)")
        if case .reply(.success(.count), let call) = message {
            checkRead(after: call.call)
            if case .forget = call.request { witness.forgot(call.forgettable) }
        }
        if case .reply(.success(.done), let call) = message {
            checkQuiet(after: call.call)
            checkSnoozes(after: call.call)
        }
        witness.heard(
            message, isDegraded: !(daemon?.storage.degradation.isEmpty ?? true), at: wall - wallSteps, in: boot,
            turn: turn)
        guard case .reply(.success(let reply), let call) = message, let label = call.label else { return }
        switch reply {
        case .accepted(let id): events[label] = id
        case .screen(let id): screens[label] = id
        case .verdict, .count, .done: break
        }
    }

    var queuedMessages: UInt64 { now.instant < busStallsUntil ? Jobs.queueLimit : 0 }
    /// A stall is one of few and short messages: fan-out goes on, and what waits for the bus takes Notify's calls with
    /// it, which nobody sees here.
    var queuedBytes: Int { 0 }

    func device(of seed: String) -> String { seed }
    func lookUpProgram(of claimant: String) -> ProgramDirectory.Lookup { .none }
    func owner(of caller: String) -> String { caller }
    func releaseMemory() {}
    func changesCommitted() {}
    func checkIntegrity(of file: String, _ ended: @escaping (IntegrityCheck) -> Void) { ended(.failed) }
    func run(_ action: String, of event: Event, token: String?) -> Refusal? { nil }
    var failedCommands: UInt64 { 0 }
    var knowsSession: Bool { true }
    func show(status: String) {}
}

/// The notification server as the daemon sees it.
extension Simulation: NotificationLink {
    func start(_ answer: @escaping (BusFailure?) -> Void) {}
    var bus: String { "bus \(boots)" }

    func askForCapabilities(
        of server: String, within time: Duration, _ answer: @escaping (Result<Set<String>, BusFailure>) -> Void
    ) {
        request(server, .capabilities, within: time) { reply in
            switch reply {
            case .success(.capabilities(let names)): answer(.success(names))
            case .success(.banner): preconditionFailure("a question about capabilities is not answered with a banner")
            case .failure(let failure): answer(.failure(failure))
            }
        }
    }

    func notify(
        _ server: String, _ request: BannerRequest, _ text: BannerText, hasButtons: Bool, within time: Duration,
        _ answer: @escaping (Result<BannerID?, BusFailure>) -> Void
    ) {
        let router = daemon!.router
        let banner = router.banners.banner(of: request.call)
        let carried = Array(banner?.inFlight ?? SortedIDs())
        let shown = Array(banner?.shown ?? SortedIDs())
        guard !life.isOver else { return }
        witness.asked(request, carried: carried, at: now.instant)
        var all = SortedIDs()
        for id in shown + carried + [request.newest.id] { all.insert(id) }
        self.request(server, .notify(request.replaces, events: Array(all)), within: time) { [unowned self] reply in
            switch reply {
            case .success(.banner(let id)):
                if let index = self.server.up.firstIndex(where: { $0.id == id }) {
                    self.server.up[index].knownTo = life
                }
                answer(.success(id))
            case .success(.capabilities): preconditionFailure("a banner is not answered with capabilities")
            case .failure(let failure): answer(.failure(failure))
            }
        }
    }

    func watchOldBanners(of server: String, _ answer: @escaping (String?) -> Void) { answer(nil) }

    func close(_ banner: BannerID, at server: String) {
        guard case .done = life.act() else { return }
        trace?("  closes banner \(banner)")
        guard server == self.server.name, self.server.close(banner) else { return }
        incoming.append(.closed(banner, reason: 3, server: server))
    }

    private func request(
        _ server: String, _ kind: SimulatedServer.Request.Kind, within time: Duration,
        _ answer: @escaping (Result<SimulatedServer.Reply, BusFailure>) -> Void
    ) {
        guard case .done = life.act() else { return }
        trace?("  asks \(server): \(kind)")
        lastRequest += 1
        awaited.append(Awaited(number: lastRequest, server: server, until: now.instant + time, answer: answer))
        guard server == self.server.name else {
            serverAnswers(lastRequest, .failure(.nobody))
            return
        }
        self.server.take(SimulatedServer.Request(number: lastRequest, kind: kind))
    }

    /// An answer goes on its way, if the daemon that asked is still there and has not given up.
    @discardableResult
    func serverAnswers(_ number: Int, _ reply: Result<SimulatedServer.Reply, BusFailure>) -> Bool {
        guard let index = awaited.firstIndex(where: { $0.number == number }) else { return false }
        let answer = awaited.remove(at: index).answer
        trace?("  \(number) is answered: \(reply)")
        incoming.append(.answer { answer(reply) })
        return true
    }
}

extension Simulation.Message: CustomStringConvertible {
    var description: String {
        switch self {
        case .reply(let reply, let call): "\(reply) to \(call.peer)"
        case .event(let event, let announcement, let windowEnds):
            "event \(event.id) \(event.body)\(announcement.isReplayed ? " again" : "")"
                + (windowEnds.map { ", window until \($0.microseconds)" } ?? ", no window")
        case .resolved(let id, let resolution):
            "\(id) is \(resolution.outcome)\(resolution.banner.map { " in banner \($0)" } ?? "")"
        case .removed(let topic, let id): "\(topic) has no value since \(id)"
        case .action(let id): "button of \(id)"
        }
    }
}
