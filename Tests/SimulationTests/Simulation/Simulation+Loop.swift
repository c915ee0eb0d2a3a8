import Routing
import Systemd

@testable import Journal
@testable import NotifyDaemon

/// The daemon's loop: what lies in the socket first, then what is due, and when there is nothing else the end of the
/// turn.
extension Simulation {
    func runLoop() {
        while let daemon {
            if life.isOver {
                trace?("  the daemon dies")
                rest(.zero, isPowerCut: isCutDue)
            } else if let awaited = awaited.first(where: { $0.until <= now.instant }) {
                serverAnswers(awaited.number, .failure(.silence))
            } else if !incoming.isEmpty {
                handle(incoming.removeFirst(), daemon)
            } else if isTimerDue {
                fireTimers(daemon)
            } else if isTurnOpen {
                endTurn(of: daemon)
            } else {
                return
            }
        }
    }

    private func handle(_ message: Incoming, _ daemon: Daemon) {
        beginTurn()
        time += messageTime
        switch message {
        case .call(let call):
            witness.called(call.call, isRecovering: isRecovering, at: wall - wallSteps)
            do throws(Refusal) {
                switch call.request {
                case .call(.claimedNamed(let claim, _)): try claimNamed(claim, call, daemon)
                case .call(let made): try daemon.answer(made, to: call.message)
                case .forget(let topic, let last):
                    call.forgettable = forgettable(topic, upTo: last)
                    witness.mayForget(topic, upTo: last == EventID(0) ? daemon.router.lastID : last)
                    try daemon.forget(topic, upTo: last, by: call.peer, for: call.message)
                }
            } catch {
                send(.reply(.failure(error), call))
            }
        case .peerLeft(let name): daemon.handle(.peer(name, .left))
        case .attention(let isWatched): daemon.handle(.attentionChanged(isWatched: isWatched))
        case .paused(let flag): daemon.handle(.quieted(nil, for: flag ? .zero : nil))
        case .desktop(let flag): daemon.handle(.desktopQuiet(flag))
        case .owner(let name): daemon.server.ownerChanged(to: name)
        case .answer(let deliver): deliver()
        case .closed(let id, let reason, let server):
            daemon.server.receive(.closed(reason: reason), about: id, says: server)
        case .pressed(let id, let key, let server):
            daemon.server.receive(.token("token"), about: id, says: server)
            daemon.server.receive(.pressed(key), about: id, says: server)
        case .read:
            daemon.endTurn()
            guard !life.isOver else { return }
            let history = try? daemon.storage.read { try $0.history(.all, after: EventID(0), limit: .max) }
            if let history { witness.read(history.map(\.id)) }
            follow()
        }
    }

    private func claimNamed(_ claim: NamedClaim, _ call: Call, _ daemon: Daemon) throws(Refusal) {
        var options = NamedClaimOptions()
        options.kind = claim.kind
        options.place = claim.place
        options.expires = claim.left.map { wall + $0.microseconds }
        call.known = try daemon.knownEvent(named: claim.origin)
        let claim = daemon.namedClaim(of: claim.origin, options, by: call.peer, identity: [])
        try daemon.answer(.claimedNamed(claim, event: call.known), to: call.message)
    }

    // MARK: Time

    var isTimerDue: Bool {
        windowTimer.map { $0 <= now.instant } ?? false || lifetimeTimer.map { $0 <= now.uptime } ?? false
            || wallTimer.map { $0 <= wall } ?? false || jobTimer.map { $0 <= now.instant } ?? false
    }

    func fireTimers(_ daemon: Daemon) {
        beginTurn()
        if let moment = wallTimer, moment <= wall {
            wallTimer = nil
            daemon.updateSchedules()
        }
        if let moment = jobTimer, moment <= now.instant {
            jobTimer = nil
            endTurnWhenIdle()
        }
        if let moment = windowTimer, moment <= now.instant {
            windowTimer = nil
            daemon.handle(.timerFired)
        }
        if let moment = lifetimeTimer, moment <= now.uptime {
            lifetimeTimer = nil
            daemon.handle(.timerFired)
        }
    }

    /// The next moment at which the daemon wants to be woken.
    var nextDue: Int64? {
        [
            windowTimer?.microseconds, lifetimeTimer.map { $0.microseconds - slept }, jobTimer?.microseconds,
            wallTimer.map { $0 - (wall - time) },
            awaited.map { $0.until.microseconds }.min(),
        ].compactMap { $0 }.min()
    }

    func advance(by length: Duration) {
        let end = time + length.microseconds
        runLoop()
        while let due = nextDue, due <= end {
            time = max(time, due)
            runLoop()
            if witness.complaint != nil { break }
        }
        time = max(time, end)
    }
}
