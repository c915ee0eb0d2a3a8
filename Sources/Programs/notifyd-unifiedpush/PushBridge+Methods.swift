import Mapping
import NotifyBridge
import NotifyClient
import NotifyText

/// `org.notifyd.Push1`, for `notifyctl push-endpoint`. systemd/org.notifyd.Push1.xml is its contract.
extension PushBridge {
    private static let interface = "org.notifyd.Push1"
    /// How long a command waits for the address.
    private static let timeout = Duration.seconds(20)

    func exportMethods() {
        services.export(
            BridgeInterface(
                Self.interface,
                [
                    BridgeMethod(
                        "Create", in: [("name", "s"), ("topic", "s"), ("options", "a{sv}")],
                        out: [("endpoint", "a{sv}")]
                    ) { arguments in
                        let endpoint = try await self.create(
                            arguments[0].string ?? "", arguments[1].string ?? "",
                            vapid: arguments[2].entries?["vapid"]?.string ?? "own")
                        return [.variants(endpoint)]
                    },
                    BridgeMethod("Get", in: [("name", "s")], out: [("endpoint", "a{sv}")]) { arguments in
                        let endpoint = try await self.find(arguments[0].string ?? "")
                        return [.variants(await self.secrets(of: endpoint))]
                    },
                    BridgeMethod("List", out: [("endpoints", "aa{sv}")]) { _ in
                        let entries = await self.list().map { Value.variants($0) }
                        return [.array(entries, of: .dictionary(keys: .string, values: .variant))]
                    },
                    BridgeMethod("Move", in: [("name", "s")], out: [("endpoint", "a{sv}")]) { arguments in
                        [.variants(try await self.move(arguments[0].string ?? ""))]
                    },
                    BridgeMethod("Remove", in: [("name", "s")]) { arguments in
                        try await self.remove(arguments[0].string ?? "")
                        return []
                    },
                ]))
    }

    private static func error(_ name: String, _ message: String) -> BridgeMethodError {
        BridgeMethodError("\(interface).Error.\(name)", message)
    }

    private static func invalid(_ message: String) -> BridgeMethodError {
        BridgeMethodError("org.freedesktop.DBus.Error.InvalidArgs", message)
    }

    // MARK: Create

    private func create(_ name: String, _ topic: String, vapid: String) async throws -> [String: Value] {
        guard PushEndpoint.isName(name) else {
            throw Self.invalid("The name of an endpoint has \(PushEndpoint.nameRule).")
        }
        let place: Topic
        do throws(TopicError) { place = try Topic(topic) } catch { throw Self.invalid("\(error).") }
        let server: ServerKey?
        switch vapid {
        case "own": server = ServerKey()
        case "none": server = nil
        default:
            server = ServerKey(vapid)
            guard server != nil else {
                throw Self.invalid(
                    "A VAPID key is the public key of the sender, 87 characters of base64url; \"own\" makes one, and "
                        + "\"none\" leaves it out.")
            }
        }
        guard !endpoints.values.contains(where: { $0.name == name }) else {
            throw Self.error("Exists", "There is an endpoint \(name) already. Remove it first, or take another name.")
        }
        guard endpoints.count < PushEndpoint.maximumCount else {
            throw Self.error("LimitExceeded", "There are \(endpoints.count) endpoints; remove one first.")
        }
        let endpoint = PushEndpoint(name: name, topic: place, server: server)
        endpoints[endpoint.token] = endpoint
        guard await keep(endpoint.token) else {
            endpoints[endpoint.token] = nil
            throw Self.error("Failed", "The endpoint cannot be written; is the disk full?")
        }
        // Who makes an endpoint wants the distributor to run.
        usedDistributors = []
        wakeups.wake()
        await waitForAddress(endpoint.token)
        guard let made = endpoints[endpoint.token] else {
            throw Self.error("Unknown", "The endpoint \(name) was removed meanwhile.")
        }
        return secrets(of: made)
    }

    /// Until it has an address, or it is known why not.
    private func waitForAddress(_ token: String) async {
        let alarm = services.loop.perform(after: Self.timeout) { [weak self, services] in
            services.loop.task { [weak self] in await self?.endWait(for: token) }
        }
        await withCheckedContinuation { waiters[token, default: []].append($0) }
        alarm.cancel()
    }

    // MARK: Get and List

    private func find(_ name: String) throws -> PushEndpoint {
        guard let endpoint = endpoints.values.first(where: { $0.name == name }) else {
            throw Self.error("Unknown", "There is no endpoint \(name.visible()).")
        }
        return endpoint
    }

    private func list() -> [[String: Value]] {
        endpoints.values.sorted { $0.name < $1.name }.map { properties(of: $0) }
    }

    private func properties(of endpoint: PushEndpoint) -> [String: Value] {
        let problem = problem(of: endpoint)
        return [
            "name": .string(endpoint.name), "topic": .string(endpoint.topic.description),
            "endpoint": .string(endpoint.address), "distributor": .string(endpoint.distributor),
            "state": .string(problem == nil ? "registered" : problem!.needsUser ? "failed" : "waiting"),
            "detail": .string(problem?.text ?? ""), "changed": .int64(endpoint.changed),
        ]
    }

    /// With what a sender needs.
    private func secrets(of endpoint: PushEndpoint) -> [String: Value] {
        var properties = properties(of: endpoint)
        properties["p256dh"] = .string(Base64URL.encode(endpoint.keys.publicKey))
        properties["auth"] = .string(Base64URL.encode(endpoint.keys.authentication))
        if let server = endpoint.server {
            properties["vapid"] = .string("\(server)")
            if let bytes = server.privateBytes { properties["vapid-private"] = .string(Base64URL.encode(bytes)) }
        }
        return properties
    }

    // MARK: Remove

    private func remove(_ name: String) async throws {
        let endpoint = try find(name)
        let token = endpoint.token
        let distributors = Set([endpoint.distributor, registrations[token]?.distributor ?? ""]).subtracting([""])
        let old = distributors.map { FormerRegistration(token: token, distributor: $0) }
        // Messages about it are ignored while it is written.
        endpoints[token] = nil
        do throws(StoreError) {
            try await services.store.write([.remove(PushEndpoint.recordPrefix + name)] + old.map(\.change))
        } catch {
            endpoints[token] = endpoint
            throw error
        }
        // So many are enough: a distributor that was told delivers nothing more.
        if removed.count >= 16 * PushEndpoint.maximumCount { removed = [] }
        removed.insert(token)
        former += old.filter { !former.contains($0) }
        registrations[token] = nil
        endWait(for: token)
        wakeups.wake()
    }

    // MARK: Move

    /// Has another distributor make a new address for an endpoint whose own one is not installed any more.
    private func move(_ name: String) async throws -> [String: Value] {
        let endpoint = try find(name)
        let token = endpoint.token
        guard !endpoint.distributor.isEmpty else {
            throw Self.error("Failed", "The endpoint \(name) has no distributor yet that it could leave.")
        }
        let choice = try await self.choice()
        guard !choice.available.contains(endpoint.distributor) else {
            throw Self.error(
                "Failed",
                "The distributor of \(name), \(endpoint.distributor), is installed. To take another one, name it in "
                    + "unifiedpush.toml: distributor = \"\(DistributorName.prefix)…\"")
        }
        if case .wait(let problem) = choice.answer(for: name, of: "") {
            throw Self.error("Failed", "The endpoint \(name) cannot be moved: \(problem.text).")
        }
        let old = FormerRegistration(token: token, distributor: endpoint.distributor)
        endpoints[token]?.distributor = ""
        guard await keep(token, [old.change]) else {
            endpoints[token]?.distributor = endpoint.distributor
            throw Self.error("Failed", "The endpoint cannot be written; is the disk full?")
        }
        if !former.contains(old) { former.append(old) }
        registrations[token] = nil
        usedDistributors = []
        wakeups.wake()
        await waitForAddress(token)
        return secrets(of: try find(name))
    }
}
