import Logging
import NotifyBridge
import NotifyClient

/// Registration with the distributor: at every start, and whenever another one owns its name.
extension PushBridge {
    /// Without a change, everything is registered again after so long: a new address may have been missed.
    private static let usualPause = Duration.seconds(86_400)
    private static let timeToComeBack = Duration.seconds(300)
    /// Pauses are short again when all was well for so long.
    private static let memoryOfTrouble = Duration.seconds(600)

    /// By which an endpoint gets its distributor.
    func choice() async throws(NotifyError) -> DistributorChoice {
        DistributorChoice(
            configured: settings.distributor, available: try await link.available(),
            known: Set(endpoints.values.map(\.distributor)))
    }

    /// Registers every endpoint that is not registered, and ends registrations that have no use any more.
    ///
    /// - Returns: how long to wait without a change.
    func register() async -> Duration {
        await endFormer()
        guard !endpoints.isEmpty else {
            services.status.set(.connected, Self.noEndpoint)
            return Self.usualPause
        }
        let choice: DistributorChoice
        do throws(NotifyError) { choice = try await self.choice() } catch {
            for token in endpoints.keys { fail(token, "the bus does not tell which distributors there are") }
            updateStatus()
            return pauseAfterTrouble()
        }
        // By distributor, with what is wrong with that one.
        var places: [String: [String: Registration.Problem?]] = [:]
        for endpoint in endpoints.values {
            switch choice.answer(for: endpoint.name, of: endpoint.distributor) {
            case .register(let name, let problem): places[name, default: [:]][endpoint.token] = .some(problem)
            case .wait(let problem): fail(endpoint.token, problem)
            }
        }
        var pauses: [Duration] = []
        var away: Set<String> = []
        for (name, tokens) in places.sorted(by: { $0.key < $1.key }) {
            if let time = timeToComeBack(name) {
                pauses.append(time)
                away.formUnion(tokens.keys)
                for token in tokens.keys {
                    fail(token, "\(name) has ended; if it does not come back, it is started in some minutes")
                }
            } else {
                await register(tokens, with: name)
            }
        }
        // One that was away may be there now.
        await endFormer()
        updateStatus()
        let hasTrouble = endpoints.values.contains { !away.contains($0.token) && problem(of: $0) != nil }
        return (pauses + [hasTrouble ? pauseAfterTrouble() : Self.usualPause]).min() ?? Self.usualPause
    }

    private func register(_ tokens: [String: Registration.Problem?], with name: String) async {
        var startProblem = ""
        do throws(NotifyError) { try await link.start(name) } catch { startProblem = ": \(error.message)" }
        guard let owner = link.owner(of: name) else {
            for token in tokens.keys { fail(token, "\(name) cannot be started\(startProblem)") }
            return
        }
        usedDistributors.insert(name)
        goneSince[name] = nil
        await withTaskGroup { group in
            for (token, remark) in tokens {
                guard let endpoint = endpoints[token] else { continue }
                let isThere = registrations[token]?.owner == owner && registrations[token]?.flaw == nil
                if isThere, endpoint.distributor == name, !endpoint.address.isEmpty {
                    registrations[token]?.problem = remark
                } else {
                    group.addTask { await self.register(token, with: name, owner, remark) }
                }
            }
            await group.waitForAll()
        }
    }

    /// A distributor that was there and has ended may be restarting, or its user has stopped it: it is not started
    /// again at once.
    ///
    /// - Returns: how long it has yet to come back by itself; `nil` if it is to be started.
    private func timeToComeBack(_ name: String) -> Duration? {
        guard link.owner(of: name) == nil, usedDistributors.contains(name) else { return nil }
        let now = ContinuousClock.now
        let since = goneSince[name] ?? now
        goneSince[name] = since
        guard now - since < Self.timeToComeBack else { return nil }
        return Self.timeToComeBack - (now - since)
    }

    /// Notes why an endpoint is not registered.
    private func fail(_ token: String, _ problem: Registration.Problem) {
        registrations[token] = Registration(problem: problem)
        endWait(for: token)
    }

    func pauseAfterTrouble() -> Duration {
        let now = ContinuousClock.now
        if let lastTrouble, now - lastTrouble > Self.memoryOfTrouble { backoff.reset() }
        lastTrouble = now
        return backoff.next() + .milliseconds(100)
    }

    private func register(
        _ token: String, with name: String, _ owner: String, _ remark: Registration.Problem?
    ) async {
        guard let endpoint = endpoints[token] else { return }
        // It may say the address before it answers.
        registrations[token] = Registration(distributor: name)
        updateStatus()
        var arguments: [String: Value] = [
            "service": .string(DistributorLink.service), "token": .string(token),
            "description": .string("notifyd: \(endpoint.name)"),
        ]
        if let server = endpoint.server { arguments["vapid"] = .string("\(server)") }
        let problem: Registration.Problem?
        do throws(NotifyError) {
            let answer = try await link.call("Register", on: owner, arguments)
            let isRegistered = answer["success"]?.string == "REGISTRATION_SUCCEEDED"
            problem = isRegistered ? nil : Self.explanation(of: answer["reason"]?.string ?? "")
        } catch {
            problem = error.code == .timedOut ? "it has not answered in time" : "it refuses: \(error.message)"
        }
        guard endpoints[token] != nil else { return }
        if let problem {
            registrations[token] = Registration(distributor: name, problem: problem)
            services.logger.warning(
                "An endpoint cannot be registered",
                metadata: ["endpoint": "\(endpoint.name)", "error": "\(problem.text)"])
            endWait(for: token)
            return
        }
        registrations[token]?.owner = owner
        registrations[token]?.problem = remark
        if endpoints[token]?.distributor == "", endpoints[token]?.address == "" {
            endpoints[token]?.distributor = name
            await keep(token)
        }
        endWaitIfRegistered(token)
    }

    private static func explanation(of reason: String) -> Registration.Problem {
        switch reason {
        case "INTERNAL_ERROR": "the distributor has an internal error"
        case "NETWORK": "the distributor has no network"
        case "ACTION_REQUIRED":
            Registration.Problem(
                text: "the distributor needs you: open its settings, and log in or remove registrations",
                needsUser: true)
        case "VAPID_REQUIRED":
            Registration.Problem(
                text: "the distributor takes only senders with a VAPID key; create the endpoint with one",
                needsUser: true)
        default: "the distributor refuses, and does not say why"
        }
    }

    /// Ends registrations that have no use any more where the distributor is there.
    private func endFormer() async {
        for old in former {
            // It may be registered there again, or about to be.
            if endpoints[old.token]?.distributor != old.distributor {
                guard registrations[old.token]?.distributor != old.distributor,
                    let owner = link.owner(of: old.distributor),
                    (try? await link.call("Unregister", on: owner, ["token": .string(old.token)])) != nil
                else { continue }
            }
            former.removeAll { $0 == old }
            try? await services.store.write([old.removal])
        }
    }

    // MARK: What it looks like

    /// Why an endpoint does not work; `nil` if it does.
    func problem(of endpoint: PushEndpoint) -> Registration.Problem? {
        guard let registration = registrations[endpoint.token] else { return "it is not registered yet" }
        if let flaw = registration.flaw { return Registration.Problem(text: flaw) }
        if let problem = registration.problem { return problem }
        guard !endpoint.address.isEmpty, registration.distributor == endpoint.distributor else {
            return "the distributor \(registration.distributor) has not said an address yet"
        }
        return nil
    }

    /// Sets the status by what is registered.
    func updateStatus() {
        let problems = endpoints.values.sorted { $0.name < $1.name }.compactMap { endpoint in
            problem(of: endpoint).map { (endpoint.name, $0) }
        }
        if let (name, problem) = problems.first(where: \.1.needsUser) ?? problems.first {
            services.status.set(
                problem.needsUser ? .failed : .waiting, "\(name): \(problem.text)", advice: problem.advice)
        } else if endpoints.isEmpty {
            services.status.set(.connected, Self.noEndpoint)
        } else {
            let count = endpoints.count == 1 ? "1 endpoint" : "\(endpoints.count) endpoints"
            let distributors = Set(endpoints.values.map(\.distributor)).sorted().joined(separator: " and ")
            services.status.set(.connected, "\(distributors), \(count)")
        }
    }

    private static let noEndpoint = "no endpoint yet; make one: notifyctl push-endpoint create NAME --topic /…"

    /// Writes the record of an endpoint, and others at once.
    ///
    /// - Returns: whether it is on disk.
    @discardableResult
    func keep(_ token: String, _ others: [RecordChange] = []) async -> Bool {
        guard let endpoint = endpoints[token] else { return true }
        do throws(StoreError) {
            try await services.store.write([endpoint.change] + others)
            return true
        } catch {
            services.logger.error("An endpoint cannot be kept", metadata: ["error": "\(error)"])
            return false
        }
    }

    func endWaitIfRegistered(_ token: String) {
        guard let endpoint = endpoints[token], registrations[token]?.owner != nil, !endpoint.address.isEmpty,
            registrations[token]?.distributor == endpoint.distributor, !addressesUnderWay.contains(token)
        else { return }
        endWait(for: token)
    }

    /// Ends the wait of commands for an endpoint.
    func endWait(for token: String) {
        for waiter in waiters.removeValue(forKey: token) ?? [] { waiter.resume() }
    }
}
