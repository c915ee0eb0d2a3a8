import Routing
import Systemd

/// The methods: each reads its arguments, and says what is then to be done: usually that an input is made of them, which the
/// router handles.
extension RouterInterface {
    // MARK: Publishing

    func send(_ call: borrowing BusMessage) throws(BusFailure) -> Order {
        let push = try read(call) { call in try Publication(reading: call, by: .send, limits: daemon.limits) }
        return Order(bytes: push.size, kind: .push) { [unowned self] call throws(BusFailure) in
            try authorize(.publish, .topic(push.topic), call)
            try perform(.published(push), for: call)
        }
    }

    func publish(_ call: borrowing BusMessage) throws(BusFailure) -> Order {
        let push = try read(call) { call in try Publication(reading: call, by: .publish, limits: daemon.limits) }
        return Order(bytes: push.size, kind: .push) { [unowned self] call throws(BusFailure) in
            try authorize(.publish, .topic(push.topic), call)
            if push.options.origin.namesAnEvent { try recalling { () throws(Refusal) in try daemon.recallNames() } }
            try perform(.published(push), for: call)
        }
    }

    // MARK: Claiming one event

    func claim(_ call: borrowing BusMessage) throws(BusFailure) -> Order {
        let id = try event(call)
        return Order(kind: .claim) { [unowned self] call throws(BusFailure) in
            try authorize(.claim, id, call)
            try recall(id, isClaimed: true)
            try perform(.claimed(id, by: call.sender), for: call)
        }
    }

    func claimProvisionally(_ call: borrowing BusMessage) throws(BusFailure) -> Order {
        let (id, time) = try read(call) { call in (EventID(try call.readNumber("t")), try Self.milliseconds(call)) }
        return Order(kind: .claim) { [unowned self] call throws(BusFailure) in
            try authorize(.claim, id, call)
            try recall(id)
            try perform(.claimedProvisionally(id, within: time, by: call.sender), for: call)
        }
    }

    func complete(_ call: borrowing BusMessage) throws(BusFailure) -> Order {
        let id = try event(call)
        return Order(kind: .claim) { [unowned self] call throws(BusFailure) in
            try authorize(.claim, id, call)
            try recall(id)
            try perform(.completed(id, by: call.sender), for: call)
        }
    }

    func release(_ call: borrowing BusMessage) throws(BusFailure) -> Order {
        let id = try event(call)
        return Order(kind: .claim) { [unowned self] call throws(BusFailure) in
            try recallPermitted(id, call)
            try perform(.released(id, by: call.sender), for: call)
        }
    }

    func pass(_ call: borrowing BusMessage) throws(BusFailure) -> Order {
        let id = try event(call)
        return Order(kind: .claim) { [unowned self] call throws(BusFailure) in
            try recallPermitted(id, call)
            try perform(.passed(id, by: call.sender), for: call)
        }
    }

    // MARK: Claiming a topic

    func claimTopic(_ call: borrowing BusMessage) throws(BusFailure) -> Order {
        let (topic, grace) = try read(call) { call in (try Self.prefix(call), try Self.milliseconds(call)) }
        return Order(kind: .claim) { [unowned self] call throws(BusFailure) in
            try authorize(.claim, .prefix(topic), call)
            try recalling { () throws(Refusal) in try daemon.recall(topic) }
            try perform(.topicClaimed(topic, grace: grace, by: call.sender), for: call)
        }
    }

    func markRead(_ call: borrowing BusMessage) throws(BusFailure) -> Order {
        let (topic, last) = try read(call) { call in (try Self.prefix(call), EventID(try call.readNumber("t"))) }
        return Order(kind: .claim) { [unowned self] call throws(BusFailure) in
            try authorize(.claim, .prefix(topic), call)
            try recalling { () throws(Refusal) in try daemon.recall(topic) }
            try perform(.markedRead(topic, upTo: last, by: call.sender), for: call)
        }
    }

    func openScreen(_ call: borrowing BusMessage) throws(BusFailure) -> Order {
        let (topic, options) = try read(call) { call in (try Self.prefix(call), try screenOptions(call)) }
        return Order(kind: .claim) { [unowned self] call throws(BusFailure) in
            try authorize(.claim, .prefix(topic), call)
            try recalling { () throws(Refusal) in try daemon.recallBanners() }
            try perform(.screenOpened(topic, options, by: call.sender), for: call)
            // A screen claims later, and then its program is known.
            _ = daemon.programs.find(call.sender)
        }
    }

    func updateScreen(_ call: borrowing BusMessage) throws(BusFailure) -> Order {
        let (id, options) = try read(call) { call in (ScreenID(try call.readNumber("t")), try screenOptions(call)) }
        return Order(kind: .claim) { [unowned self] call throws(BusFailure) in
            if let screen = daemon.router.screen(id) { try authorize(.claim, .prefix(screen.topic), call) }
            try recalling { () throws(Refusal) in try daemon.recallBanners() }
            try perform(.screenUpdated(id, options, by: call.sender), for: call)
        }
    }

    func closeScreen(_ call: borrowing BusMessage) throws(BusFailure) -> Order {
        let id = try read(call) { call in ScreenID(try call.readNumber("t")) }
        return Order(kind: .claim) { [unowned self] call throws(BusFailure) in
            try perform(.screenClosed(id, by: call.sender), for: call)
        }
    }

    func listScreens(_ call: borrowing BusMessage) throws(BusFailure) -> Order {
        Order(kind: .reading) { [unowned self] call throws(BusFailure) in
            try answer(call) { [unowned self] answer, reply throws(BusFailure) in
                var screens = daemon.router.openScreens[...]
                answer.bytes = screens.count * 320
                reply.openContainer("a", "(tssss)")
                return { [unowned self] reply, end throws(BusFailure) in
                    while let screen = screens.popFirst() {
                        append(screen, to: reply)
                        if screens.count % 32 == 0, daemon.host.now.instant >= end { return false }
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

    private func screenOptions(_ call: borrowing BusMessage) throws -> ScreenOptions {
        var reader = DictionaryReader("option", limits: daemon.limits)
        return try ScreenOptions(try reader.read(call))
    }

    // MARK: Control

    func mute(_ call: borrowing BusMessage) throws(BusFailure) -> Order {
        let (topic, seconds) = try read(call) { call in
            (try Self.prefix(call), try call.readNumber("u", as: UInt32.self))
        }
        return Order { [unowned self] call throws(BusFailure) in
            try authorize(.control, .prefix(topic), call)
            try perform(.muted(topic, for: .seconds(Int64(seconds))), for: call)
        }
    }

    func pause(_ call: borrowing BusMessage) throws(BusFailure) -> Order {
        let seconds = try read(call) { call in try call.readNumber("u", as: UInt32.self) }
        return Order { [unowned self] call throws(BusFailure) in
            try authorize(.control, .prefix(.all), call)
            try perform(.pausedFor(.seconds(Int64(seconds))), for: call)
        }
    }

    func setPaused(_ value: borrowing BusMessage) throws(BusFailure) {
        try setPaused(try read(value) { value in try value.readBoolean() }, value)
        // sd-bus replies at once, and what it acknowledges is on disk.
        daemon.endTurn()
    }

    func setPaused(_ isPaused: Bool, _ call: borrowing BusMessage) throws(BusFailure) {
        try authorize(.control, .prefix(.all), call)
        daemon.take(.paused(isPaused))
    }

    // MARK: Reading arguments

    func event(_ call: borrowing BusMessage) throws(BusFailure) -> EventID {
        try read(call) { call in EventID(try call.readNumber("t")) }
    }

    /// Sees to it that the router knows of the event to which a call refers.
    private func recall(_ id: EventID, isClaimed: Bool = false) throws(BusFailure) {
        try recalling { () throws(Refusal) in try daemon.recall(id, isClaimed: isClaimed) }
    }

    /// The same for calls that every caller may make about an event in memory.
    private func recallPermitted(_ id: EventID, _ call: borrowing BusMessage) throws(BusFailure) {
        guard !daemon.router.remembers(id) else { return }
        try authorize(.claim, id, call)
        try recall(id)
    }

    private func recalling(_ body: () throws(Refusal) -> Void) throws(BusFailure) {
        do throws(Refusal) {
            try body()
        } catch {
            throw BusFailure(error)
        }
    }

    private static func milliseconds(_ call: borrowing BusMessage) throws -> Duration {
        .milliseconds(Int64(try call.readNumber("u", as: UInt32.self)))
    }

    static func prefix(_ call: borrowing BusMessage) throws -> TopicPrefix {
        let text = try call.readString()
        do throws(TopicError) {
            return try TopicPrefix(text)
        } catch {
            throw Refusal.invalidTopic(error.description)
        }
    }

    func read<Result>(
        _ message: borrowing BusMessage, _ body: (borrowing BusMessage) throws -> Result
    ) throws(BusFailure) -> Result {
        do {
            return try body(message)
        } catch let refusal as Refusal {
            throw BusFailure(refusal)
        } catch let error as SystemdError where error.isTooLong {
            throw BusFailure(
                .tooLarge(
                    "a text has more than \(BusMessage.longestText) bytes; "
                        + "a message may have \(daemon.limits.messageBytes) in all"))
        } catch {
            throw BusFailure(.invalidArguments("the message cannot be read: \(error)"))
        }
    }
}
