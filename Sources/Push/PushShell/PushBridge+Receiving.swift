import Logging
import NotifyBridge
import NotifyClient
import NotifyJSON
import PushMessages
import Routing
import WebPush

/// What the distributor says: the methods of `org.unifiedpush.Connector2`.
extension PushBridge {
    /// Publications at once.
    private static let maximumUnderWay = 256

    func take(_ delivered: DeliveredCall) async {
        let call = delivered.call
        guard call.message.path == DistributorLink.connectorPath else {
            return call.fail(
                "org.freedesktop.DBus.Error.UnknownObject", "The connector is \(DistributorLink.connectorPath).")
        }
        guard delivered.isDistributor else {
            services.logger.warning(
                "A call does not come from the distributor", metadata: ["sender": "\(call.message.sender ?? "")"])
            return call.fail(
                "org.freedesktop.DBus.Error.AccessDenied", "Only the distributor of UnifiedPush may call this.")
        }
        guard call.message.signature == "a{sv}", let arguments = call.message.arguments.first?.entries,
            let token = arguments["token"]?.string, token.utf8.count <= PushEndpoint.maximumToken
        else {
            return call.fail(
                "org.freedesktop.DBus.Error.InvalidArgs",
                "This takes a dictionary a{sv} with \"token\", a string of at most \(PushEndpoint.maximumToken) bytes.")
        }
        switch call.message.member {
        case "Message": await takeMessage(call, token, arguments)
        case "NewEndpoint": await takeAddress(call, token, arguments["endpoint"]?.string ?? "")
        case "Unregistered":
            unregistered(token)
            call.done()
        default:
            call.fail(
                "org.freedesktop.DBus.Error.UnknownMethod",
                "The methods of \(DistributorLink.connectorInterface) are Message, NewEndpoint and Unregistered.")
        }
    }

    // MARK: Message

    private func takeMessage(_ call: IncomingCall, _ token: String, _ arguments: [String: BusValue]) async {
        guard let elements = arguments["message"]?.elements, case let bytes = elements.compactMap({ $0.byte }),
            bytes.count == elements.count
        else {
            return call.fail("org.freedesktop.DBus.Error.InvalidArgs", "\"message\" is an array of bytes.")
        }
        let push = DeliveredPush(at: SystemClock.wall, token: token, message: bytes)
        guard let endpoint = endpoints[token] else {
            // It was removed, and the distributor has not heard of it yet.
            services.logger.info("A message is for no endpoint")
            return call.done()
        }
        let publication: DaemonCall
        do throws(PushRefusal) { publication = try endpoint.publication(of: push, settings) } catch {
            await bury(error, endpoint)
            return call.done()
        }
        let number = spool.nextNumber()
        guard spool.isEmpty, underWay < Self.maximumUnderWay else { return await keepForLater(push, number, call) }
        underWay += 1
        services.daemon.submit(publication) { [loop = services.loop] answer in
            if answer.isDone { call.done() }
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
            await bury(PushRefusal("\(error)", (try? endpoint.keys.open(push.message)) ?? []), endpoint)
            call.done()
        }
    }

    /// - Returns: whether the message is dealt with.
    func publish(_ push: DeliveredPush) async -> Bool {
        guard let endpoint = endpoints[push.token] else { return true }
        do throws(PushRefusal) {
            switch await services.daemon.perform(try endpoint.publication(of: push, settings)) {
            case .done: break
            case .refusedForNow: return false
            case .refused(let error):
                throw PushRefusal("\(error)", (try? endpoint.keys.open(push.message)) ?? [])
            }
        } catch {
            await bury(error, endpoint)
        }
        return true
    }

    private func keepForLater(_ push: DeliveredPush, _ number: UInt64, _ call: IncomingCall) async {
        guard await spool.add(push, number) else {
            return call.fail(
                "org.freedesktop.DBus.Error.LimitsExceeded",
                "notifyd takes nothing now, and nothing more can be kept for it; deliver this message later.")
        }
        call.done()
    }

    private func bury(_ refusal: PushRefusal, _ endpoint: PushEndpoint) async {
        services.logger.warning(
            "A message cannot be taken in", metadata: ["endpoint": "\(endpoint.name)", "error": "\(refusal.reason)"])
        let letter = DeadLetter(
            topic: endpoint.topic.description, origin: "endpoint \(endpoint.name)", reason: refusal.reason,
            content: refusal.content)
        do throws(StoreError) { try await services.store.keep(letter) } catch {
            services.logger.error("A dead letter cannot be kept", metadata: ["error": "\(error)"])
        }
    }

    // MARK: Addresses

    private func takeAddress(_ call: IncomingCall, _ token: String, _ address: String) async {
        guard let endpoint = endpoints[token] else { return call.done() }
        let isAddress =
            address.utf8.count <= PushEndpoint.maximumAddress
            && ["https://", "http://"].contains { address.hasPrefix($0) && address.utf8.count > $0.utf8.count }
            && address.utf8.allSatisfy { 0x21...0x7E ~= $0 }
        guard isAddress else {
            return call.fail(
                "org.freedesktop.DBus.Error.InvalidArgs",
                "\"endpoint\" is an address such as https://push.example/… of at most \(PushEndpoint.maximumAddress) bytes."
            )
        }
        if endpoint.address != address {
            if !endpoint.address.isEmpty {
                endpoints[token]?.changed = SystemClock.wall
                services.logger.notice(
                    "The address of an endpoint has changed: its sender has to be told",
                    metadata: ["endpoint": "\(endpoint.name)"])
            }
            endpoints[token]?.address = address
            endpoints[token]?.distributor = link.chosen ?? ""
            guard await keep(token) else {
                return call.fail(
                    "org.freedesktop.DBus.Error.Failed", "The address cannot be written; say it again later.")
            }
        }
        call.done()
        if registrations[token]?.owner != nil { endWait(for: token) }
        show()
    }

    /// The distributor, or its user, has ended a registration. The endpoint goes on until it is removed here.
    private func unregistered(_ token: String) {
        guard let endpoint = endpoints[token] else { return }
        services.logger.notice(
            "The distributor has unregistered an endpoint; it is registered again",
            metadata: ["endpoint": "\(endpoint.name)"])
        registrations[token] = Registration(
            problem: Registration.Problem(text: "the distributor has unregistered it; it is registered again soon"))
        show()
        wake(after: pauseAfterTrouble())
    }
}

/// Why a message can never become an event.
struct PushRefusal: Error {
    /// Without anything of the message.
    let reason: String
    /// What is kept of it: nothing of what cannot be decrypted, since anybody who knows the address can send that.
    let content: [UInt8]

    init(_ reason: String, _ content: [UInt8] = []) {
        self.reason = reason
        self.content = content
    }
}

extension PushEndpoint {
    /// What notifyd is asked for.
    func publication(of push: DeliveredPush, _ settings: PushSettings) throws(PushRefusal) -> DaemonCall {
        let payload: [UInt8]
        do throws(WebPushError) { payload = try keys.open(push.message) } catch { throw PushRefusal("\(error)") }
        let event: PushEvent
        do throws(PushError) {
            event = try PushSource(name: name, topic: topic, map: settings.maps[name] ?? PushMap()).event(of: payload)
        } catch {
            throw PushRefusal("\(error)", payload)
        }
        var options: [String: BusValue] = [
            "source": .string(source), "event-id": .string(event.id.map { "sender:\($0)" } ?? push.digest),
            "via": .string("unifiedpush"), "published": .int64(push.at),
        ]
        if let urgency = event.urgency { options["urgency"] = .byte(urgency) }
        var fields = Fields()
        for (name, value) in event.fields { fields[name] = value.field }
        return .publish(event.topic.description, title: event.title, body: event.body, fields: fields, options: options)
    }
}

extension JSON {
    /// As a field of an event; `nil` for null. What is no plain value stays JSON text.
    fileprivate var field: BusValue? {
        switch self {
        case .null: nil
        case .boolean(let flag): .boolean(flag)
        case .string(let text): .string(text)
        case .number(let digits): integer(as: Int64.self).map { .int64($0) } ?? Double(digits).map { .double($0) }
        case .array, .object: .string(text())
        }
    }
}

extension BusValue {
    fileprivate var byte: UInt8? { if case .byte(let byte) = self { byte } else { nil } }
}

extension IncomingCall {
    /// Confirms a call of the distributor. The id of the message says which, if it has one.
    fileprivate func done() {
        let id = message.arguments.first?.entries?["id"]
        reply([.variants(message.member == "Message" ? id.map { ["id": $0] } ?? [:] : [:])])
    }
}
