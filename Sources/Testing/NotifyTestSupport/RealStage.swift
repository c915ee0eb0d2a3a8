package import NotifyClient
internal import NotifyRehearsal

/// Plays a scenario with a real daemon on a private bus, with a notification server and a client for every program.
/// Inputs are given by the clock; outputs are awaited, without fixed sleeps.
package final class RealStage {
    /// The time limit for an expected output.
    private static let patience: Duration = .seconds(5)

    private let scenario: Scenario
    private let bus: PrivateBus
    private let daemon: DaemonProcess
    private let listener: Listener
    private var publishers: [String: NotifyClient] = [:]
    private var actors: [String: RealActor] = [:]
    /// Pauses and mutes.
    private let operatorSeat: RealActor
    private var screens: [Symbol: UInt64] = [:]
    private var servers: [NotificationServer] = []
    private var server: NotificationServer?
    private var trace: Trace
    private let start: ContinuousClock.Instant

    /// - Parameter executable: the path of a `notifyd`.
    /// - Returns: the recording, with every violated invariant among the faults.
    package static func play(_ scenario: Scenario, _ executable: String) async throws -> Recording {
        try await withPrivateBus { bus in
            let stage = try await RealStage(scenario, executable, bus)
            let recording: Result<Recording, any Error>
            do { recording = .success(try await stage.run()) } catch { recording = .failure(error) }
            await stage.leave()
            return try recording.get()
        }
    }

    private init(_ scenario: Scenario, _ executable: String, _ bus: PrivateBus) async throws {
        self.scenario = scenario
        self.bus = bus
        if scenario.startsWithServer {
            server = try await NotificationServer.start(on: bus)
            servers = [server!]
        }
        daemon = try await DaemonProcess.start(executable, on: bus, configuration: scenario.configuration)
        listener = try await Listener(on: bus)
        operatorSeat = try await RealActor(on: bus)
        for (name, isKilled) in scenario.programs {
            if scenario.lane(name)?.role == .publisher {
                publishers[name] = try await NotifyClient(address: bus.address)
            } else {
                actors[name] = try await RealActor(on: bus, isKilled: isKilled)
            }
        }
        start = .now + .milliseconds(20)
        trace = Trace(start: start)
    }

    private func leave() async {
        for client in publishers.values { await client.close() }
        for actor in actors.values { actor.leave() }
        operatorSeat.leave()
        listener.close()
        for server in servers { server.stop() }
        await daemon.stop()
        daemon.folder.remove()
    }

    private func run() async throws -> Recording {
        let limit = scenario.settings.realTimeEvents
        for cue in scenario.cues(seriesLimit: limit) {
            try await Pace.sleep(until: start + cue.at)
            try await perform(cue.act)
        }
        try await awaitTheRest(end: scenario.end(seriesLimit: limit))
        return trace.recording(scenario, servers, listener.heard.all)
    }

    // MARK: Inputs

    private func perform(_ act: Cue.Act) async throws {
        switch act {
        case .publish(let occurrence, let publisher):
            try await publish(occurrence, by: publishers[publisher]!)
        case .call(let verb, let symbol, let actor):
            try await call(verb, symbol, by: actor)
        case .openScreen(let symbol, let owner):
            let line = scenario.screen(symbol)!
            let answer = try await actors[owner]!.ask("OpenScreen", [.string(line.topic), line.options.screenOptions])
            guard case .screen(let id) = answer else { return fault(owner, symbol, answer) }
            screens[symbol] = id
        case .updateScreen(let symbol, let options, let owner):
            let id = try screen(symbol)
            let answer = try await actors[owner]!.ask("UpdateScreen", [.uint64(id), options.screenOptions])
            if answer != .done { fault(owner, symbol, answer) }
        case .closeScreen(let symbol, let owner):
            let answer = try await actors[owner]!.ask("CloseScreen", [.uint64(try screen(symbol))])
            if answer != .done { fault(owner, symbol, answer) }
        case .leave(let name, let isKilled):
            await publishers[name]?.close()
            if isKilled { try await actors[name]?.kill() } else { actors[name]?.leave() }
        case .condition(.paused, let isOn):
            try await operatorSeat.setPaused(isOn)
        case .condition(.locked, _):
            throw StageError(description: "there is no session here that could be locked")
        case .condition(.schedule, _):
            throw StageError(description: "the clock of this machine says when schedules begin and end")
        case .mute(let symbol):
            try await mute(symbol, for: scenario.topic(symbol)!.time ?? .zero)
        case .unmute(let symbol):
            try await mute(symbol, for: .zero)
        case .server(let serverState):
            try await perform(serverState)
        case .user(let act, let symbol):
            try await perform(act, onBannerOf: symbol)
        }
    }

    private func publish(_ occurrence: Occurrence, by client: NotifyClient) async throws {
        let line = scenario.event(occurrence.symbol)!
        let options = try line.clientOptions()
        let fields = Fields(Dictionary(uniqueKeysWithValues: line.fields.map { ($0.name, $0.value.clientValue) }))
        trace.inputs.published[occurrence] = .now - start
        do {
            let id = try await client.publish(
                line.topic(occurrence.number), title: "\(occurrence)", body: Scenario.EventLine.body(occurrence),
                fields: fields, options: options)
            trace.accepted(occurrence, id)
        } catch {
            guard error.code == .refused else { throw error }
            trace.inputs.refusals[occurrence.symbol] = error.shortName
        }
    }

    private func call(_ verb: Verb, _ symbol: Symbol, by name: String) async throws {
        // The publisher's own connection, because only it may withdraw without a permission.
        if let publisher = publishers[name] { return try await withdraw(symbol, by: publisher, verb, name) }
        let actor = actors[name]!
        let answer: RealActor.Answer =
            switch verb {
            case .claims where scenario.topic(symbol) != nil:
                try await actor.ask("ClaimTopic", scenario.topic(symbol)!.claim)
            case .claims: try await actor.ask("Claim", [try event(symbol)])
            case .holds:
                try await actor.ask(
                    "ClaimProvisionally",
                    [try event(symbol), .uint32(scenario.holdTime(of: symbol, by: name).wholeMilliseconds)])
            case .completes: try await actor.ask("Complete", [try event(symbol)])
            case .releases: try await actor.ask("Release", [try event(symbol)])
            case .passes: try await actor.ask("Pass", [try event(symbol)])
            case .withdraws: try await actor.ask("Withdraw", [try event(symbol)])
            case .updates: try await actor.ask("UpdateScreen", [.uint64(try screen(symbol)), .variants([:])])
            case .closes: try await actor.ask("CloseScreen", [.uint64(try screen(symbol))])
            }
        trace.inputs.answers.append(Recording.Answer(actor: name, verb: verb, symbol: symbol, text: answer.text))
    }

    private func withdraw(_ symbol: Symbol, by client: NotifyClient, _ verb: Verb, _ name: String) async throws {
        guard verb == .withdraws, case .uint64(let id) = try event(symbol) else {
            throw StageError(description: "a publisher only publishes and withdraws")
        }
        var answer = RealActor.Answer.done
        do throws(NotifyError) {
            try await client.withdraw(EventID(rawValue: id))
        } catch {
            guard error.code == .refused else { throw error }
            answer = .refused(error.shortName ?? "\(error)")
        }
        trace.inputs.answers.append(Recording.Answer(actor: name, verb: verb, symbol: symbol, text: answer.text))
    }

    private func event(_ symbol: Symbol) throws -> Value {
        if symbol == Lane.unknownID { return .uint64(1 << 62) }
        guard let id = trace.ids[Occurrence(symbol)] else {
            throw StageError(description: "there is no event \(symbol); it was refused")
        }
        return .uint64(id.rawValue)
    }

    private func screen(_ symbol: Symbol) throws -> UInt64 {
        guard let id = screens[symbol] else { throw StageError(description: "there is no screen \(symbol)") }
        return id
    }

    /// An action in the lane of a screen must not be refused.
    private func fault(_ owner: String, _ symbol: Symbol, _ answer: RealActor.Answer) {
        trace.inputs.faults.append("\(owner)'s \(symbol): \(answer.text)")
    }

    private func mute(_ symbol: Symbol, for time: Duration) async throws {
        let seconds = UInt32(time.components.seconds)
        _ = try await operatorSeat.ask("Mute", [.string(scenario.topic(symbol)!.topic), .uint32(seconds)])
    }

    private func perform(_ serverState: Lane.ServerState) async throws {
        if serverState == .absent {
            server?.stop()
            server = nil
            return
        }
        let mode: NotificationServer.Mode =
            switch serverState {
            case .refusing: .erroring(name: "org.freedesktop.DBus.Error.Failed")
            case .hanging: .hanging
            case .well, .absent: .normal
            }
        if let server { return server.setMode(mode) }
        server = try await NotificationServer.start(on: bus, mode: mode)
        servers.append(server!)
    }

    private func perform(_ act: Lane.UserAction, onBannerOf symbol: Symbol) async throws {
        let event = Occurrence(symbol)
        guard let server,
            let banner = await server.banners.next(within: Self.patience, where: { $0.speaks(of: event) })
        else {
            throw StageError(description: "no banner speaks of \(symbol)")
        }
        switch act {
        case .dismissal: server.dismiss(banner.id)
        case .timeout: server.expire(banner.id)
        case .press: server.invoke("accept", on: banner.id)
        }
    }

    // MARK: The end

    /// Waits until all expected outputs have come and the daemon has no undecided event, up to the time limit.
    private func awaitTheRest(end: Duration) async throws {
        let undecided = scenario.remarks.count { if case .undecided = $0 { true } else { false } }
        let deadline = start + end + Self.patience * Timeouts.factor
        while ContinuousClock.now < deadline {
            let pending = try await listener.pending()
            let recording = trace.recording(scenario, servers, listener.heard.all)
            let limit = scenario.settings.realTimeEvents
            let missing = Comparison.missing(in: recording, from: scenario, seriesLimit: limit)
            if pending == undecided, missing == 0, ContinuousClock.now > start + end { return }
            // Woken by the next signal of the daemon; other outputs, such as a closed banner, are polled.
            _ = await listener.heard.next(within: .milliseconds(20))
        }
    }
}

/// Waits for the time of the next input. This is the only place where a test sleeps.
package enum Pace {
    package static func sleep(until moment: ContinuousClock.Instant) async throws {
        try await Task.sleep(until: moment, tolerance: .zero, clock: .continuous)
    }
}

extension NotifyError {
    /// The last part of the name of the D-Bus error.
    package var shortName: String? { name?.split(separator: ".").last.map(String.init) }
}

/// Converts lines of a scenario to values of the client.
extension Scenario.EventLine {
    func clientOptions() throws -> PublishOptions {
        var result = PublishOptions()
        for option in options {
            switch (option.name, option.value) {
            case ("banner", .flag(let flag)): result.banner = flag
            case ("own-banner", .flag(let flag)): result.ownBanner = flag
            case ("retain", .flag(let flag)): result.retain = flag
            case ("window", .duration(let length)): result.window = length
            case ("ttl", .duration(let length)): result.timeToLive = length
            case ("source", .text(let text)): result.source = text
            case ("collapse", .text(let text)): result.collapse = text
            case ("event-id", .text(let text)): result.eventID = text
            default: throw StageError(description: "an event cannot have \(option)")
            }
        }
        return result
    }
}

extension Attribute.Scalar {
    var clientValue: Value {
        switch self {
        case .text(let text), .word(let text): .string(text)
        case .integer(let number): .int64(number)
        case .flag(let flag): .boolean(flag)
        case .duration(let length): .string(length.written)
        }
    }
}

/// The error with which a call is refused; `nil` if it is not.
package func refusal(of call: () async throws -> some Any) async -> NotifyError? {
    do {
        _ = try await call()
        return nil
    } catch {
        return error as? NotifyError
    }
}
