import Logging
import NotifyTestSupport
import Routing

@testable import Journal
@testable import NotifyDaemon
@testable import Routing

/// What clients, the notification server and fate do.
extension Simulation {
    func take(_ step: Step) {
        switch step {
        case .publish(let label, let topic, let peer, let extras):
            longestOwnWindow = max(longestOwnWindow, extras.window ?? .zero)
            let push = extras.publication(at: topic, by: peer, body: "e\(label)", received: wall)
            call(peer, .published(push), label)
        case .claim(let label, let peer): call(peer, .claimed(event(label), by: peer))
        case .claimNamed(let name, let kind, let time, let peer): claimNamed(name, kind, time, by: peer)
        case .hold(let label, let time, let peer):
            call(peer, .claimedProvisionally(event(label), within: time, by: peer))
        case .complete(let label, let peer): call(peer, .answered(event(label), .completed, by: peer))
        case .release(let label, let peer): call(peer, .answered(event(label), .released, by: peer))
        case .pass(let label, let peer): call(peer, .answered(event(label), .passed, by: peer))
        case .withdraw(let label, let peer): call(peer, .withdrawn(event(label), by: peer))
        case .claimTopic(let topic, let grace, let peer): call(peer, .topicClaimed(topic, .grace(grace), by: peer))
        case .markRead(let topic, let label, let peer):
            call(peer, .topicClaimed(topic, .read(upTo: label.map(event) ?? EventID(0)), by: peer))
        case .forget(let label):
            let topic = World.prefixes[max(0, label) % World.prefixes.count]
            // Everything would drop what is awaited too, and the witness goes by that.
            let last = events[label] ?? EventID(topic == .all ? 1 : 0)
            let request = Call.Request.forget(topic, upTo: last)
            call(World.peers[0], request)
        case .openScreen(let label, let topic, let options, let peer):
            call(peer, .screenOpened(topic, options, by: peer), label)
        case .updateScreen(let label, let options, let peer):
            call(peer, .screenChanged(screen(label), options, by: peer))
        case .closeScreen(let label, let peer): call(peer, .screenChanged(screen(label), nil, by: peer))
        case .peerLeaves(let peer): incoming.append(.peerLeft(peer))
        case .identify(let peer, let program, let hasLeft):
            daemon?.programIdentified(program.map { "p\($0)" }, of: peer, hasLeft: hasLeft)
        case .watched(let flag): incoming.append(.attention(flag))
        case .paused(let flag): incoming.append(.paused(flag))
        case .desktop(let flag): incoming.append(.desktop(flag))
        case .pause(let time): call(World.peers[0], .quieted(nil, for: time))
        case .mute(let topic, let time): call(World.peers[0], .quieted(topic, for: time))
        case .snooze(let label, let time, let peer): call(peer, .snoozed(event(label), for: time, by: peer))
        // The daemon tells them by the clock, counts by itself, and ends its turns.
        case .schedules, .countDigests, .callsLeave: break
        case .reconfigure(let index):
            configuration = index
            loaded.append(index)
            daemon?.reconfigure(Self.configurations[index], logLevel: .critical)
        case .serverAppears, .serverVanishes, .serverIsPrompt, .answer, .answerStale, .closeBanner, .press:
            takeServer(step)
        case .wait(let time): advance(by: time)
        case .stall(let time): self.time += time.microseconds
        case .sleep(let time): slept += time.microseconds
        case .untilDue:
            if let due = nextDue, due > time { time = due }
        case .fire: daemon?.handle(.timerFired)
        }
    }

    func call(_ peer: String, _ call: Routing.Call, _ label: Int? = nil) {
        self.call(peer, Call.Request.call(call), label)
    }

    private func call(_ peer: String, _ request: Call.Request, _ label: Int? = nil) {
        let call = Call(messages.make(), peer: peer, request: request, label: label)
        calls[ObjectIdentifier(call.message)] = call
        incoming.append(.call(call))
    }

    private func claimNamed(_ name: Step.Naming, _ kind: NamedClaim.Kind, _ time: Duration?, by peer: String) {
        func own(_ id: EventID) -> Origin { Origin(source: "notifyd:\(daemon?.router.device ?? "")", eventID: "\(id)") }
        let origin =
            switch name {
            case .global(let number): Step.Naming.origin(number)
            case .event(let label): disk.event(event(label)).flatMap(\.globalName) ?? own(event(label))
            case .next: own(EventID((daemon?.router.lastID.rawValue ?? 0) + 1))
            }
        // Nothing is awaited at the end.
        let left = time.map { min($0, .seconds(3 * 24 * 3600)) }
        let place = ClaimPlace(device: "elsewhere", via: "line")
        call(
            peer,
            .claimedNamed(
                NamedClaim(
                    name: .origin(origin), origin: origin, kind: kind, claimant: peer, place: place, left: left),
                event: nil))
    }

    private func event(_ label: Int) -> EventID { events[label] ?? EventID(1) }
    private func screen(_ label: Int) -> ScreenID { screens[label] ?? ScreenID(1) }

    // MARK: The notification server

    private func takeServer(_ step: Step) {
        switch step {
        case .serverAppears: replaceServer(isThere: true)
        case .serverVanishes: replaceServer(isThere: false)
        case .serverIsPrompt(let flag):
            server.isPrompt = flag
            server.catchUp()
        case .answer(let pick, let answer): server.answer(pick, answer)
        case .closeBanner(let pick, let reason):
            guard let name = server.name, !server.up.isEmpty else { return }
            let banner = server.up[pick % server.up.count]
            _ = server.close(banner.id)
            incoming.append(.closed(banner.id, reason: reason == .dismissed ? 2 : 1, server: name))
        case .press(let pick):
            guard let name = server.name, !server.up.isEmpty else { return }
            let banner = server.up[pick % server.up.count].id
            let pressed = Incoming.pressed(banner, key: pick % 5 == 0 ? "default" : "accept", server: name)
            let closed = Incoming.closed(banner, reason: 2, server: name)
            // Some servers close the banner as well, and report that first or last.
            switch pick / 7 % 3 {
            case 0: incoming.append(pressed)
            case 1: incoming += [closed, pressed]
            default: incoming += [pressed, closed]
            }
            if pick / 7 % 3 > 0 { _ = server.close(banner) }
        // The bus lets nobody answer twice.
        default: break
        }
    }

    private func replaceServer(isThere: Bool) {
        let before = server.name
        let lost = awaited.filter { $0.server == before }.map(\.number)
        if isThere { server.appear() } else { server.vanish() }
        let answersFirst = lost.count % 2 == 1
        if answersFirst { for number in lost { serverAnswers(number, .failure(.silence)) } }
        if before != nil || isThere { incoming.append(.owner(server.name ?? "")) }
        if !answersFirst { for number in lost { serverAnswers(number, .failure(.silence)) } }
    }

    // MARK: Faults

    func suffer(_ fault: Fault) {
        switch fault {
        case .kill(let down): rest(down, isPowerCut: false)
        case .killAfter(let acts): life.actsLeft = acts
        case .powerCut(let down): rest(down, isPowerCut: true)
        case .stop:
            stop()
            bury()
            startDaemon()
        case .endAtCall(let calls, let isPowerCut):
            disk.files.lastCall = disk.files.calls + 1 + calls
            isCutDue = isPowerCut
        case .disk(let condition): disk.condition = condition
        case .filesVanish: deleteFiles()
        case .clockStep(let length):
            witness.remembersOrigins = false
            witness.remembersAwaited = false
            // Ids go on above those of the journal, or above the time.
            let length = hasVanished ? max(length, .zero) : length
            wallSteps = min(max(wallSteps + length.microseconds, -Self.longestClockStep), Self.longestClockStep)
            // The kernel cancels the timer.
            if wallTimer != nil { wallTimer = wall }
        case .read: incoming.append(.read)
        case .killAndStall(let length):
            rest(.zero, isPowerCut: false)
            busStallsUntil = now.instant + length
        case .serverLearns(let capabilities): server.capabilities = capabilities
        }
    }

    private func deleteFiles() {
        guard let daemon, daemon.storage.degradation.isEmpty, !life.isOver, daemon.router.lastID.rawValue < UInt64(wall)
        else { return }
        hasVanished = true
        witness.filesVanish(keeping: daemon.router.undecidedIDs)
        disk.files.deleteFiles()
        daemon.storage.namesChanged()
        beginTurn()
        endTurnWhenIdle()
    }

    /// The daemon waits for a moment for the answers of the server. If it dies meanwhile, another one runs.
    private func stop() {
        var isDrained = false
        let stopped = daemon
        stopped?.server.drain { isDrained = true }
        if !isDrained { advance(by: .milliseconds(500)) }
        if isDrained, let daemon, daemon === stopped, daemon.router.banners.all.contains(where: \.isCallSent) {
            witness.complain("a call is under way after the daemon has waited for all")
        }
        daemon?.finish()
    }

    func rest(_ length: Duration, isPowerCut: Bool) {
        bury(isPowerCut: isPowerCut)
        time += length.microseconds
        if isPowerCut {
            if server.name != nil { server.appear() }
            boots += 1
            // The clocks of the machine start again, and that of the wall goes on.
            wallOffset += time - 1_000_000 + slept - 500_000
            time = 1_000_000
            slept = 500_000
        }
        startDaemon()
    }

    // MARK: The end

    /// Everything is well again, everybody leaves, and time passes until there is nothing more to wait for. Then
    /// somebody claims whatever was shown, and nothing may be left.
    func drain() {
        disk.condition = .well
        disk.files.lastCall = .max
        life.actsLeft = nil
        runLoop()
        advance(by: .seconds(2))
        if let daemon, !daemon.storage.degradation.isEmpty {
            witness.complain("the disk is well, and \(daemon.storage.degradation)")
        }
        if let daemon {
            // The router keeps a value of deleted files, so that an older one does not take its place.
            let values = daemon.router.names.values.entries.mapValues(\.id).filter {
                disk.event($0.value) != nil || !witness.isForgotten($0.value)
            }
            if values != disk.contents.values { witness.complain("the values are not those on disk") }
        }
        if let daemon,
            daemon.router.rememberedRemovals != disk.contents.tombstones.sorted(by: { $0.removal < $1.removal })
        {
            witness.complain("the removals are not those on disk")
        }
        follow()
        for peer in World.peers { incoming.append(.peerLeft(peer)) }
        incoming.append(.attention(true))
        incoming.append(.paused(false))
        incoming.append(.desktop(false))
        if server.name == nil { replaceServer(isThere: true) }
        server.isPrompt = true
        server.catchUp()
        advance(by: .seconds(3600))
        if let daemon {
            witness.checkScreen(life, daemon.router)
            witness.checkClosedEarly(daemon.router)
        }
        if restartsAtTheEnd {
            bury()
            startDaemon()
            call(":1.9", .topicClaimed(.all, .grace(.zero), by: ":1.9"))
            advance(by: .seconds(3600))
            noteLettingGo()
            if let daemon { witness.checkClaimedTopic(daemon.router) }
        }
        // Schedules go on for ever. The last ones have a digest, which is claimed with all the others.
        take(.reconfigure(0))
        advance(by: .seconds(3600))
        let shown = disk.contents.ids.filter { disk.contents.events[$0]?.decision?.outcome == .shown }
        // The journal does not have those that were shown when the files were deleted.
        let up = server.up.flatMap(\.events) + (daemon?.router.banners.all.flatMap { Array($0.shown) } ?? [])
        for id in Set(shown + up).sorted() { call(":1.9", .claimed(id, by: ":1.9")) }
        // Lifetimes go by the wall clock after a power cut, and that may have been set from one end to the other.
        advance(by: .microseconds(2 * Self.longestClockStep) + .seconds(48 * 3600))
        noteLettingGo()
        follow()
        witness.checkEnd(life)
        guard witness.complaint == nil, let daemon else { return }
        if let leftovers = daemon.router.leftovers() { witness.complain(leftovers) }
        if !daemon.server.queued.isEmpty { witness.complain("banners are left that were never asked for") }
        if nextDue != nil { witness.complain("a timer is set for something that is over") }
    }
}
