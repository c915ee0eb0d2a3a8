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

    /// The distributor to use: that of the configuration, else the one that knows the endpoints, else the only one.
    func distributor() async -> Result<String, Registration.Problem> {
        let available: [String]
        do throws(NotifyError) { available = try await link.available() } catch {
            return .failure(Registration.Problem(text: "the bus does not tell which distributors there are"))
        }
        if let name = settings.distributor {
            guard available.contains(name) else {
                return .failure(
                    Registration.Problem(text: "the distributor \(name) is not there; is it installed?"))
            }
            return .success(name)
        }
        let known = Set(endpoints.values.map(\.distributor))
        if let name = available.first(where: known.contains) { return .success(name) }
        guard let name = available.first else {
            return .failure(
                Registration.Problem(
                    text: "there is no distributor of UnifiedPush on the bus; install one, such as KUnifiedPush"))
        }
        guard available.count == 1 else {
            return .failure(
                Registration.Problem(
                    text: "there are several distributors: \(available.joined(separator: ", ")); "
                        + "choose one in unifiedpush.toml: distributor = \"\(name)\"", needsUser: true))
        }
        return .success(name)
    }

    /// Registers every endpoint that is not registered, and unregisters those that were removed.
    ///
    /// - Returns: how long to wait without a change.
    func register() async -> Duration {
        let removed = (try? await services.store.all(prefix: Self.removedPrefix)) ?? []
        guard !endpoints.isEmpty || !removed.isEmpty else {
            services.status.set(.connected, Self.noEndpoint)
            return Self.usualPause
        }
        let name: String
        switch await distributor() {
        case .success(let found): name = found
        case .failure(let problem):
            link.choose(nil)
            note(problem)
            return pauseAfterTrouble()
        }
        link.choose(name)
        if let patience = timeToComeBack(name) { return patience }
        var startProblem = ""
        do throws(NotifyError) { try await link.start(name) } catch { startProblem = ": \(error.message)" }
        guard let owner = link.owner(of: name) else {
            note(Registration.Problem(text: "\(name) cannot be started\(startProblem)"))
            return pauseAfterTrouble()
        }
        (usedDistributor, goneSince) = (name, nil)
        await unregister(removed.map { ($0.key, String(decoding: $0.value, as: UTF8.self)) })
        let due = endpoints.values.filter { registrations[$0.token]?.owner != owner || $0.address.isEmpty }.map(\.token)
        await withTaskGroup { group in
            for token in due { group.addTask { await self.register(token, with: name, owner) } }
            await group.waitForAll()
        }
        show()
        return endpoints.values.contains { problem(of: $0) != nil } ? pauseAfterTrouble() : Self.usualPause
    }

    /// A distributor that was there and has ended may be restarting, or its user has stopped it: it is not started again at once.
    ///
    /// - Returns: how long it has yet to come back by itself; `nil` if it is to be started.
    private func timeToComeBack(_ name: String) -> Duration? {
        guard link.owner(of: name) == nil, usedDistributor == name else { return nil }
        let now = ContinuousClock.now
        let since = goneSince ?? now
        goneSince = since
        guard now - since < Self.timeToComeBack else { return nil }
        note(Registration.Problem(text: "\(name) has ended; if it does not come back, it is started in some minutes"))
        return Self.timeToComeBack - (now - since)
    }

    /// Says why nothing is registered.
    private func note(_ problem: Registration.Problem) {
        services.status.set(problem.needsUser ? .failed : .waiting, problem.text)
        for token in endpoints.keys { registrations[token] = Registration(problem: problem) }
        for token in waiters.keys { endWait(for: token) }
    }

    func pauseAfterTrouble() -> Duration {
        let now = ContinuousClock.now
        if let lastTrouble, now - lastTrouble > Self.memoryOfTrouble { backoff.reset() }
        lastTrouble = now
        return backoff.next() + .milliseconds(100)
    }

    private func register(_ token: String, with name: String, _ owner: String) async {
        guard let endpoint = endpoints[token] else { return }
        if !endpoint.distributor.isEmpty, endpoint.distributor != name, let old = link.owner(of: endpoint.distributor) {
            _ = try? await link.call("Unregister", on: old, ["token": .string(token)])
        }
        var arguments: [String: BusValue] = [
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
            problem = Registration.Problem(
                text: error.code == .timedOut ? "it has not answered in time" : "it refuses: \(error.message)")
        }
        guard endpoints[token] != nil else { return }
        if let problem {
            registrations[token] = Registration(problem: problem)
            services.logger.warning(
                "An endpoint cannot be registered",
                metadata: ["endpoint": "\(endpoint.name)", "error": "\(problem.text)"])
            endWait(for: token)
            return
        }
        registrations[token] = Registration(owner: owner)
        if endpoints[token]?.distributor != name {
            endpoints[token]?.distributor = name
            await keep(token)
        }
        if endpoints[token]?.address.isEmpty == false { endWait(for: token) }
    }

    private static func explanation(of reason: String) -> Registration.Problem {
        switch reason {
        case "INTERNAL_ERROR": Registration.Problem(text: "the distributor has an internal error")
        case "NETWORK": Registration.Problem(text: "the distributor has no network")
        case "ACTION_REQUIRED":
            Registration.Problem(
                text: "the distributor needs you: open its settings, and log in or remove registrations",
                needsUser: true)
        case "VAPID_REQUIRED":
            Registration.Problem(
                text: "the distributor takes only senders with a VAPID key; create the endpoint with one",
                needsUser: true)
        default: Registration.Problem(text: "the distributor refuses, and does not say why")
        }
    }

    private func unregister(_ removed: [(key: String, distributor: String)]) async {
        for (key, name) in removed {
            let token = String(key.dropFirst(Self.removedPrefix.count))
            guard let owner = link.owner(of: name) else { continue }
            guard (try? await link.call("Unregister", on: owner, ["token": .string(token)])) != nil else { continue }
            try? await services.store.write([.remove(key)])
        }
    }

    // MARK: What it looks like

    /// Why an endpoint does not work; `nil` if it does.
    func problem(of endpoint: PushEndpoint) -> Registration.Problem? {
        guard let registration = registrations[endpoint.token] else {
            return Registration.Problem(text: "it is not registered yet")
        }
        if let problem = registration.problem { return problem }
        return endpoint.address.isEmpty
            ? Registration.Problem(text: "the distributor has not said its address yet") : nil
    }

    /// Sets the status by what is registered.
    func show() {
        let problems = endpoints.values.sorted { $0.name < $1.name }.compactMap { endpoint in
            problem(of: endpoint).map { (endpoint.name, $0) }
        }
        if let (name, problem) = problems.first(where: \.1.needsUser) ?? problems.first {
            services.status.set(problem.needsUser ? .failed : .waiting, "\(name): \(problem.text)")
        } else if endpoints.isEmpty {
            services.status.set(.connected, Self.noEndpoint)
        } else {
            let count = endpoints.count == 1 ? "1 endpoint" : "\(endpoints.count) endpoints"
            services.status.set(.connected, "\(link.chosen ?? ""), \(count)")
        }
    }

    private static let noEndpoint = "no endpoint yet; make one: notifyctl push-endpoint create NAME --topic /…"

    /// Writes the record of an endpoint.
    ///
    /// - Returns: whether it is on disk.
    @discardableResult
    func keep(_ token: String) async -> Bool {
        guard let endpoint = endpoints[token] else { return true }
        do throws(StoreError) {
            try await services.store.write([endpoint.change])
            return true
        } catch {
            services.logger.error("An endpoint cannot be kept", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// Ends the wait of commands for an endpoint.
    func endWait(for token: String) {
        for waiter in waiters.removeValue(forKey: token) ?? [] { waiter.resume() }
    }
}
