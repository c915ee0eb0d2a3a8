import Routing
import Systemd

/// The methods. Each reads its arguments, and returns the call as it is handled later: most become an input of the router.
extension RouterInterface {
    // MARK: Publishing

    func send(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let publication = try codec.publication(call, by: .send)
        return PreparedCall(bytes: publication.memoryCost, kind: .publish) { [unowned self] call throws(Refusal) in
            try authorize(.publish, .topic(publication.topic), call)
            judgeAwaited(publication)
            try perform(.published(publication), for: call)
        }
    }

    func publish(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let publication = try codec.publication(call, by: .publish)
        return PreparedCall(bytes: publication.memoryCost, kind: .publish) { [unowned self] call throws(Refusal) in
            try authorize(.publish, .topic(publication.topic), call)
            try daemon.loadGlobalID(publication.options.origin)
            try daemon.loadReplaced(by: publication)
            judgeAwaited(publication)
            try perform(.published(publication), for: call)
        }
    }

    func withdraw(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let id = try codec.event(call)
        return PreparedCall(kind: .claim) { [unowned self] call throws(Refusal) in
            try authorizeWithdrawal(id, call)
            try daemon.load(id, toDecide: true, by: call.sender)
            try perform(.withdrawn(id, by: call.sender), for: call)
        }
    }

    // MARK: Claiming one event

    func claim(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let id = try codec.event(call)
        return PreparedCall(kind: .claim) { [unowned self] call throws(Refusal) in
            try authorize(.claim, id, call)
            try daemon.load(id, toDecide: true, by: call.sender)
            try perform(.claimed(id, by: call.sender), for: call)
        }
    }

    func claimNamed(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let (origin, options) = try codec.namedClaim(call)
        return PreparedCall(kind: .claim) { [unowned self] call throws(Refusal) in
            let id = try daemon.knownEvent(named: origin)
            if let id { try authorize(.claim, id, call) }
            let identity = daemon.policy.rules.isEmpty ? [] : host.callers.caller(call.sender).fields
            let claim = daemon.namedClaim(of: origin, options, by: call.sender, identity: identity)
            try daemon.claimNamed(claim, event: id, for: RetainedMessage(retaining: call))
        }
    }

    func claimProvisionally(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let (id, time) = try codec.read(call) { call in
            (EventID(try call.readNumber("t")), try codec.milliseconds(call))
        }
        return PreparedCall(kind: .claim) { [unowned self] call throws(Refusal) in
            try authorize(.claim, id, call)
            try daemon.load(id, toDecide: false)
            try perform(.claimedProvisionally(id, within: time, by: call.sender), for: call)
        }
    }

    func complete(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let id = try codec.event(call)
        return PreparedCall(kind: .claim) { [unowned self] call throws(Refusal) in
            try authorize(.claim, id, call)
            try daemon.load(id, toDecide: false)
            try perform(.completed(id, by: call.sender), for: call)
        }
    }

    func release(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let id = try codec.event(call)
        return PreparedCall(kind: .claim) { [unowned self] call throws(Refusal) in
            try loadPermitted(id, call)
            try perform(.released(id, by: call.sender), for: call)
        }
    }

    func pass(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let id = try codec.event(call)
        return PreparedCall(kind: .claim) { [unowned self] call throws(Refusal) in
            try loadPermitted(id, call)
            try perform(.passed(id, by: call.sender), for: call)
        }
    }

    func press(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let (id, action) = try codec.read(call) { call in
            (EventID(try call.readNumber("t")), try call.readText("action"))
        }
        return PreparedCall(kind: .claim) { [unowned self] call throws(Refusal) in
            try authorize(.claim, id, call)
            try daemon.press(action, of: id, by: call.sender, for: RetainedMessage(retaining: call))
        }
    }

    // MARK: Claiming a topic

    func claimTopic(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let (topic, grace) = try codec.read(call) { call in (try codec.prefix(call), try codec.milliseconds(call)) }
        return PreparedCall(kind: .claim) { [unowned self] call throws(Refusal) in
            try authorize(.claim, .prefix(topic), call)
            try daemon.load(topic)
            try perform(.topicClaimed(topic, grace: grace, by: call.sender), for: call)
        }
    }

    func markRead(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let (topic, last) = try codec.read(call) { call in (try codec.prefix(call), EventID(try call.readNumber("t"))) }
        return PreparedCall(kind: .claim) { [unowned self] call throws(Refusal) in
            try authorize(.claim, .prefix(topic), call)
            try daemon.load(topic)
            try perform(.markedRead(topic, upTo: last, by: call.sender), for: call)
        }
    }

    func openScreen(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let (topic, options) = try codec.read(call) { call in (try codec.prefix(call), try codec.screenOptions(call)) }
        return PreparedCall(kind: .claim) { [unowned self] call throws(Refusal) in
            try authorize(.claim, .prefix(topic), call)
            try daemon.loadBanners()
            try perform(.screenOpened(topic, options, by: call.sender), for: call)
            // The screen claims events later, and its program is known by then.
            _ = host.programs.lookUp(call.sender)
        }
    }

    func updateScreen(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let (id, options) = try codec.read(call) { call in
            (ScreenID(try call.readNumber("t")), try codec.screenOptions(call))
        }
        return PreparedCall(kind: .claim) { [unowned self] call throws(Refusal) in
            if let screen = daemon.router.screen(id) { try authorize(.claim, .prefix(screen.topic), call) }
            try daemon.loadBanners()
            try perform(.screenUpdated(id, options, by: call.sender), for: call)
        }
    }

    func closeScreen(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let id = try codec.read(call) { call in ScreenID(try call.readNumber("t")) }
        return PreparedCall(kind: .claim) { [unowned self] call throws(Refusal) in
            try perform(.screenClosed(id, by: call.sender), for: call)
        }
    }

    func listScreens(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        PreparedCall(kind: .reading) { [unowned self] call throws(Refusal) in
            try answer(call) { [unowned self] answer, reply throws(Refusal) in
                var screens = daemon.router.openScreens[...]
                answer.bytes = screens.count * 320
                reply.openContainer("a", "(tssss)")
                return { [unowned self] reply, end throws(Refusal) in
                    while let screen = screens.popFirst() {
                        append(screen, to: reply)
                        if screens.count % 32 == 0, host.now.instant >= end { return false }
                    }
                    reply.closeContainer()
                    return true
                }
            }
        }
    }

    private func append(_ screen: Screen, to list: borrowing BusMessage) {
        list.appendContainer("r", "tssss") { entry in
            entry.append(screen.id.rawValue, as: "t")
            entry.append(screen.topic.description)
            entry.append(screen.mode.rawValue)
            entry.append(screen.state.rawValue)
            entry.append(screen.owner)
        }
    }

    // MARK: Control

    func mute(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let (topic, time) = try codec.read(call) { call in (try codec.prefix(call), try codec.seconds(call)) }
        return PreparedCall { [unowned self] call throws(Refusal) in
            try authorize(.control, .prefix(topic), call)
            try perform(.muted(topic, for: time), for: call)
        }
    }

    func pause(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let time = try codec.read(call) { call in try codec.seconds(call) }
        return PreparedCall { [unowned self] call throws(Refusal) in
            try authorize(.control, .prefix(.all), call)
            try perform(.pausedFor(time), for: call)
        }
    }

    func snooze(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let (id, time) = try codec.read(call) { call in (EventID(try call.readNumber("t")), try codec.seconds(call)) }
        return PreparedCall(kind: .claim) { [unowned self] call throws(Refusal) in
            try authorize(.claim, id, call)
            try daemon.snooze(id, for: time, by: call.sender, for: RetainedMessage(retaining: call))
        }
    }

    func setPaused(_ value: borrowing BusMessage) throws(Refusal) {
        try setPaused(try codec.read(value) { value in try value.readBoolean() }, value)
        // sd-bus replies at once, so the change is committed first.
        daemon.endTurn()
    }

    func setPaused(_ isPaused: Bool, _ call: borrowing BusMessage) throws(Refusal) {
        try authorize(.control, .prefix(.all), call)
        daemon.handle(.paused(isPaused))
    }

    // MARK: Deleting

    /// Deletes events for everybody, so it needs both permissions.
    func forget(_ call: borrowing BusMessage) throws(Refusal) -> PreparedCall {
        let (topic, last) = try codec.read(call) { call in (try codec.prefix(call), EventID(try call.readNumber("t"))) }
        return PreparedCall { [unowned self] call throws(Refusal) in
            try authorize(.claim, .prefix(topic), call)
            try authorize(.control, .prefix(topic), call)
            try daemon.forget(topic, upTo: last, by: call.sender, for: RetainedMessage(retaining: call))
        }
    }

    // MARK: Events that are only in the journal

    /// For calls that need no permission for an event in memory.
    private func loadPermitted(_ id: EventID, _ call: borrowing BusMessage) throws(Refusal) {
        guard !daemon.remembers(id) else { return }
        try authorize(.claim, id, call)
        try daemon.load(id, toDecide: false)
    }

    private func perform(_ call: Call, for message: borrowing BusMessage) throws(Refusal) {
        try daemon.answer(call, to: RetainedMessage(retaining: message))
    }
}
