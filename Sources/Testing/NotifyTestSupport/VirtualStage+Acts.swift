internal import Routing

extension VirtualStage {
    mutating func perform(_ act: Cue.Act) throws {
        switch act {
        case .publish(let occurrence, let publisher):
            recording.published[occurrence] = now
            watch.publishing = occurrence
            feed(.published(try scenario.publication(occurrence, sender: publisher)))
        case .call(let verb, let symbol, let actor):
            try call(verb, symbol, by: actor)
        case .openScreen(let symbol, let owner):
            let line = scenario.screen(symbol)!
            let options = try ScreenOptions(line.options.map(\.screenField))
            request(.screenOpened(try TopicPrefix(line.topic), options, by: owner), of: symbol, by: owner)
        case .updateScreen(let symbol, let options, let owner):
            let id = try screen(symbol)
            request(.screenChanged(id, try ScreenOptions(options.map(\.screenField)), by: owner), of: symbol, by: owner)
        case .closeScreen(let symbol, let owner):
            request(.screenChanged(try screen(symbol), nil, by: owner), of: symbol, by: owner)
        case .leave(let name, _):
            feed(.peer(name, .left))
        case .condition(.paused, let isOn):
            feed(.quieted(nil, for: isOn ? .zero : nil))
        case .condition(.locked, let isOn):
            feed(.attentionChanged(isWatched: !isOn))
        case .condition(.schedule, let isOn):
            let period = ActiveSchedule.Period(.all, began: now.microseconds)
            feed(.scheduled(isOn ? [ActiveSchedule(period, ends: now.now.uptime, hasDigest: true)] : []))
        case .mute(let symbol):
            feed(.quieted(try topic(symbol), for: scenario.topic(symbol)!.time ?? .zero))
        case .unmute(let symbol):
            feed(.quieted(try topic(symbol), for: .zero))
        case .server(let serverState):
            perform(serverState)
        case .user(let act, let symbol):
            guard let id = server.banner(of: symbol) else {
                throw StageError(description: "no banner speaks of \(symbol) at \(now.milliseconds)")
            }
            switch act {
            case .dismissal: closed(id, .dismissed)
            case .timeout: closed(id, .other)
            case .press: feed(.actionInvoked(id, action: "accept"))
            }
        }
    }

    // MARK: Calls

    private mutating func call(_ verb: Verb, _ symbol: Symbol, by actor: String) throws {
        let call: Call =
            switch verb {
            case .claims where scenario.topic(symbol) != nil:
                .topicClaimed(try topic(symbol), .grace(scenario.topic(symbol)!.time ?? .zero), by: actor)
            case .claims: .claimed(try event(symbol), by: actor)
            case .holds:
                .claimedProvisionally(try event(symbol), within: scenario.holdTime(of: symbol, by: actor), by: actor)
            case .completes: .answered(try event(symbol), .completed, by: actor)
            case .releases: .answered(try event(symbol), .released, by: actor)
            case .passes: .answered(try event(symbol), .passed, by: actor)
            case .withdraws: .withdrawn(try event(symbol), by: actor)
            case .updates: .screenChanged(try screen(symbol), ScreenOptions(), by: actor)
            case .closes: .screenChanged(try screen(symbol), nil, by: actor)
            }
        let text = answer(to: call)
        recording.answers.append(Recording.Answer(actor: actor, verb: verb, symbol: symbol, text: text))
    }

    /// An action in the lane of a screen must not be refused.
    private mutating func request(_ call: Call, of symbol: Symbol, by owner: String) {
        watch.opening = symbol
        let text = answer(to: call)
        watch.opening = nil
        if text != Verb.done {
            watch.faults.append("\(owner)'s \(symbol) at \(now.milliseconds): \(text)")
        }
    }

    private mutating func answer(to call: Call) -> String {
        watch.publishing = nil
        return feed(call).text
    }

    private func event(_ symbol: Symbol) throws -> EventID {
        if symbol == Lane.unknownID { return EventID(1 << 62) }
        guard let id = ids[Occurrence(symbol)] else {
            throw StageError(description: "there is no event \(symbol); it was refused")
        }
        return id
    }

    private func screen(_ symbol: Symbol) throws -> ScreenID {
        guard let id = screens[symbol] else { throw StageError(description: "there is no screen \(symbol)") }
        return id
    }

    private func topic(_ symbol: Symbol) throws -> TopicPrefix {
        try TopicPrefix(scenario.topic(symbol)!.topic)
    }

    // MARK: The notification server

    mutating func perform(_ serverState: Lane.ServerState) {
        let before = server.state
        // A hanging server keeps its calls until it works again or leaves.
        let waiting = serverState == .well || serverState == .absent ? server.takeUnanswered() : []
        server.become(serverState)
        switch (before, serverState) {
        case (.absent, .absent): break
        case (.absent, _): feed(.server(.ready))
        case (_, .absent): feed(.server(.gone))
        case (_, _):
            for (request, newest) in waiting { ask(request, newest) }
            emptyInbox()
        }
    }

    private mutating func closed(_ id: BannerID, _ reason: ClosingReason) {
        server.close(id)
        feed(.bannerClosed(id, reason))
    }
}

extension Result<Reply, Refusal> {
    /// The reply in the notation of a scenario.
    fileprivate var text: String {
        switch self {
        case .success(.verdict(let verdict)): verdict.rawValue
        case .success(.count(let count)): "\(count)"
        case .success(.accepted), .success(.screen), .success(.done): Verb.done
        case .failure(.unknownEvent): Verb.unknown
        case .failure(let refusal): refusal.errorName
        }
    }
}

extension Attribute {
    /// The options of a screen as from the bus.
    fileprivate var screenField: Field {
        guard name == "lease", case .duration(let length) = value else { return Field(name: name, value: value.value) }
        return Field(name: name, value: .uint32(UInt32(clamping: length.components.seconds)))
    }
}

extension Scenario {
    func holdTime(of symbol: Symbol, by actor: String) -> Duration {
        answers.first { $0.actor == actor && $0.verb == .holds && $0.symbol == symbol }?.time ?? .zero
    }
}
