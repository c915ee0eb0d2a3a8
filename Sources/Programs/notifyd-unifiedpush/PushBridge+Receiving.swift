import Logging
import Mapping
import NotifyBridge
import NotifyClient
import NotifyText

/// Calls of the distributor: the methods of `org.unifiedpush.Connector2`.
extension PushBridge {
    /// Calls to notifyd that are under way at a time.
    private static let maximumUnderWay = 256
    /// Messages that can never be taken and whose dead letters are on their way to the disk. With 4 KiB each, 4 MiB.
    private static let maximumRefusals = 1024
    private static let members: Set<String> = ["Message", "NewEndpoint", "Unregistered"]

    func handle(_ call: IncomingCall, by distributors: Set<String>) async {
        guard call.message.path == DistributorLink.connectorPath else {
            return call.fail(
                "org.freedesktop.DBus.Error.UnknownObject", "The connector is \(DistributorLink.connectorPath).")
        }
        // First: an unknown method is reported as such, whoever calls it and with whatever arguments.
        guard let member = call.message.member, Self.members.contains(member) else {
            return call.fail(
                "org.freedesktop.DBus.Error.UnknownMethod",
                "There is no method \((call.message.member ?? "").visible()) in \(DistributorLink.connectorInterface); "
                    + "its methods are Message, NewEndpoint and Unregistered.")
        }
        guard !distributors.isEmpty else { return deny(call) }
        guard call.message.signature == "a{sv}", let arguments = call.message.arguments.first?.entries,
            let token = arguments["token"]?.string, token.utf8.count <= PushEndpoint.maximumToken
        else {
            return call.fail(
                "org.freedesktop.DBus.Error.InvalidArgs",
                "This takes a dictionary a{sv} with \"token\", a string of at most \(PushEndpoint.maximumToken) bytes.")
        }
        guard let endpoint = endpoints[token] else {
            if member == "Message" { reportUnknown(token, distributors) }
            return call.confirm()
        }
        let asked = registrations[token]?.distributor ?? ""
        // The one that was asked last comes first: a program may own several names.
        var current = [asked, endpoint.distributor].first(where: distributors.contains)
        if asked.isEmpty, endpoint.distributor.isEmpty {
            // It was asked by an earlier run, which ended before it wrote down whom it had asked. Nobody else knows the
            // token.
            current = distributors.min()
        }
        let isFormer = former.contains { $0.token == token && distributors.contains($0.distributor) }
        guard current != nil || isFormer else { return deny(call) }
        switch member {
        case "Message": await handleMessage(call, endpoint, arguments)
        case "NewEndpoint":
            guard let current else { return call.confirm() }
            await handleAddress(call, endpoint, arguments["endpoint"]?.string ?? "", of: current)
        case "Unregistered":
            if current != nil { unregistered(endpoint) }
            call.confirm()
        default: break
        }
    }

    /// A message for an endpoint that is not in the state: nobody can decrypt it. If the endpoint was removed here, the
    /// distributor has not been told yet, and nothing is wrong. Any other was lost with the state: the status reports
    /// that, and the registration is ended.
    private func reportUnknown(_ token: String, _ distributors: Set<String>) {
        guard !removed.contains(token), !former.contains(where: { $0.token == token }) else { return }
        unknownMessages += 1
        services.logger.warning(
            "A message is dropped: its endpoint is not in the state", metadata: ["count": "\(unknownMessages)"])
        let count = unknownMessages == 1 ? "1 message was" : "\(unknownMessages) messages were"
        services.status.setProblem(
            "endpoint",
            "\(count) dropped: the endpoint is not in the state, which was deleted or put back from a copy, or it was "
                + "removed while its distributor was away",
            "If the endpoint is missed: notifyctl push-endpoint create NAME --topic /…, and give its sender the new "
                + "address and keys.")
        // The list is limited, because tokens can be made up.
        for distributor in distributors where former.count < 2 * PushEndpoint.maximumCount {
            former.append(FormerRegistration(token: token, distributor: distributor))
        }
        wakeups.wake()
    }

    private func deny(_ call: IncomingCall) {
        services.logger.warning(
            "A call does not come from the distributor", metadata: ["sender": "\(call.message.sender ?? "")"])
        call.fail(
            "org.freedesktop.DBus.Error.AccessDenied", "Only the distributor of the endpoint may call this.")
    }

    // MARK: Message

    private func handleMessage(
        _ call: IncomingCall, _ endpoint: PushEndpoint, _ arguments: [String: Value]
    ) async {
        services.memory.noteWork()
        guard let bytes = arguments["message"]?.bytes else {
            return call.fail("org.freedesktop.DBus.Error.InvalidArgs", "\"message\" is an array of bytes.")
        }
        let push = DeliveredPush(at: SystemClock.wall, token: endpoint.token, message: bytes)
        let publication: DaemonCall
        do throws(PushRefusal) {
            guard let made = try endpoint.publication(of: push, settings) else { return call.confirm() }
            publication = made
        } catch {
            return confirm(call, afterKeeping: error, endpoint)
        }
        let number = queue.nextNumber()
        guard queue.isEmpty, underWay < Self.maximumUnderWay else { return await keepForLater(push, number, call) }
        underWay += 1
        services.daemon.submit(publication) { [loop = services.loop] answer in
            if answer.isDone { call.confirm() }
            loop.task { await self.answered(answer, push, number, endpoint, call) }
        }
    }

    private func answered(
        _ answer: DaemonAnswer, _ push: DeliveredPush, _ number: UInt64, _ endpoint: PushEndpoint, _ call: IncomingCall
    ) async {
        underWay -= 1
        switch answer {
        case .done: break
        case .refusedForNow: await keepForLater(push, number, call)
        case .refused(let error):
            confirm(call, afterKeeping: PushRefusal(error, of: push, endpoint), endpoint)
        }
    }

    /// - Returns: whether the message is dealt with.
    func publish(_ push: DeliveredPush) async -> Bool {
        guard let endpoint = endpoints[push.token] else { return true }
        do throws(PushRefusal) {
            guard let call = try endpoint.publication(of: push, settings) else { return true }
            switch await services.daemon.perform(call) {
            case .done: return true
            case .refusedForNow: return false
            case .refused(let error): throw PushRefusal(error, of: push, endpoint)
            }
        } catch {
            return await keep(error, endpoint)
        }
    }

    private func keepForLater(_ push: DeliveredPush, _ number: UInt64, _ call: IncomingCall) async {
        guard await queue.add(push, number) else {
            return call.fail(
                "org.freedesktop.DBus.Error.LimitsExceeded",
                "notifyd takes nothing now, and nothing more can be kept for it; deliver this message later.")
        }
        call.confirm()
    }

    /// Confirms a message that can never become an event, once its dead letter is on disk. Other messages do not wait
    /// for that.
    private func confirm(_ call: IncomingCall, afterKeeping refusal: PushRefusal, _ endpoint: PushEndpoint) {
        guard !services.deadLetters.isFull else {
            return call.fail(
                "org.freedesktop.DBus.Error.LimitsExceeded",
                "The message can never be taken, and the disk is full, so that it cannot be kept "
                    + "either; deliver it later."
            )
        }
        guard refusals < Self.maximumRefusals else {
            return call.fail(
                "org.freedesktop.DBus.Error.LimitsExceeded",
                "\(Self.maximumRefusals) messages that can never be taken wait to be kept as dead "
                    + "letters; deliver this one later."
            )
        }
        refusals += 1
        // What is kept of the message is in the refusal.
        let id = call.message.arguments.first?.entries?["id"]
        let small = call.replacing([.variants(id.map { ["id": $0] } ?? [:])])
        services.loop.task {
            // The task is never cancelled. When the bridge ends first, the message is not confirmed.
            await self.keep(refusal, endpoint, confirming: small)
        }
    }

    private func keep(_ refusal: PushRefusal, _ endpoint: PushEndpoint, confirming call: IncomingCall) async {
        if await keep(refusal, endpoint) { call.confirm() }
        refusals -= 1
        services.memory.noteWork()
    }

    /// - Returns: whether the message is dealt with.
    private func keep(_ refusal: PushRefusal, _ endpoint: PushEndpoint) async -> Bool {
        services.logger.warning(
            "A message cannot be taken in", metadata: ["endpoint": "\(endpoint.name)", "error": "\(refusal.reason)"])
        let letter = DeadLetter(
            topic: endpoint.topic.description, origin: "endpoint \(endpoint.name)", reason: refusal.reason,
            content: refusal.content)
        return (try? await services.deadLetters.keep(letter)) != nil
    }

    // MARK: Addresses

    private func handleAddress(
        _ call: IncomingCall, _ endpoint: PushEndpoint, _ address: String, of distributor: String
    ) async {
        let token = endpoint.token
        if let flaw = PushEndpoint.flaw(ofAddress: address) {
            registrations[token, default: Registration(distributor: distributor)].flaw = flaw
            services.logger.warning(
                "An endpoint has no good address", metadata: ["endpoint": "\(endpoint.name)", "error": "\(flaw)"])
            updateStatus()
            endWait(for: token)
            wakeups.wake(after: pauseAfterTrouble())
            return call.fail("org.freedesktop.DBus.Error.InvalidArgs", "Of \"endpoint\": \(flaw).")
        }
        registrations[token]?.flaw = nil
        if endpoint.address != address || endpoint.distributor != distributor {
            if !endpoint.address.isEmpty, endpoint.address != address {
                endpoints[token]?.changed = SystemClock.wall
                services.logger.notice(
                    "The address of an endpoint has changed: its sender has to be told",
                    metadata: ["endpoint": "\(endpoint.name)"])
            }
            endpoints[token]?.address = address
            endpoints[token]?.distributor = distributor
            var others: [RecordChange] = []
            if endpoint.distributor != distributor, !endpoint.distributor.isEmpty {
                let old = FormerRegistration(token: token, distributor: endpoint.distributor)
                if !former.contains(old) { former.append(old) }
                others.append(old.change)
            }
            addressesUnderWay.insert(token)
            let isKept = await keep(token, others)
            addressesUnderWay.remove(token)
            guard isKept else {
                // When it is said again, it is written again.
                if endpoints[token] != nil { endpoints[token] = endpoint }
                return call.fail(
                    "org.freedesktop.DBus.Error.Failed", "The address cannot be written; say it again later.")
            }
            wakeups.wake()
        }
        call.confirm()
        endWaitIfRegistered(token)
        updateStatus()
    }

    /// The distributor, or its user, has ended a registration. The endpoint goes on until it is removed here.
    private func unregistered(_ endpoint: PushEndpoint) {
        services.logger.notice(
            "The distributor has unregistered an endpoint; it is registered again",
            metadata: ["endpoint": "\(endpoint.name)"])
        registrations[endpoint.token] = Registration(
            problem: "the distributor has unregistered it; it is registered again within five minutes")
        updateStatus()
        wakeups.wake(after: pauseAfterTrouble())
    }
}

/// Why a message can never become an event.
struct PushRefusal: Error {
    /// For people; it quotes nothing of the message.
    let reason: String
    /// The text that the dead letter keeps: empty if the message cannot be decrypted, since anybody who knows the
    /// address can send such messages.
    let content: [UInt8]

    init(_ reason: String, _ content: [UInt8] = []) { (self.reason, self.content) = (reason, content) }

    init(_ error: NotifyError, of push: DeliveredPush, _ endpoint: PushEndpoint) {
        self.init("\(error)", (try? endpoint.keys.open(push.message)) ?? [])
    }
}

extension PushEndpoint {
    /// What notifyd is asked for; `nil` if the message is left out.
    func publication(of push: DeliveredPush, _ settings: PushSettings) throws(PushRefusal) -> DaemonCall? {
        let payload: [UInt8]
        do throws(WebPushError) { payload = try keys.open(push.message) } catch { throw PushRefusal("\(error)") }
        let event: MappedEvent
        do throws(MapError) {
            let source = PushSource(name: name, topic: topic, map: settings.maps[name] ?? PushMap())
            guard let made = try source.eventUnlessLeftOut(payload) else { return nil }
            event = made
        } catch {
            throw PushRefusal("\(error)", payload)
        }
        var options: [String: Value] = [
            "source": .string(source), "event-id": .string(event.id.map { "sender:\($0)" } ?? push.digest),
            "via": .string("unifiedpush"), "published": .int64(push.at),
        ]
        if let urgency = event.urgency { options["urgency"] = .byte(urgency) }
        if event.isSilent { options["banner"] = .boolean(false) }
        if let collapse = event.collapse { options["collapse"] = .string(collapse) }
        return .publish(
            event.topic.description, title: event.title, body: event.body, fields: event.fields, options: options)
    }
}

extension IncomingCall {
    /// Confirms a call of the distributor. The id of the message says which, if it has one.
    fileprivate func confirm() {
        let id = message.arguments.first?.entries?["id"]
        reply([.variants(message.member == "Message" ? id.map { ["id": $0] } ?? [:] : [:])])
    }
}
