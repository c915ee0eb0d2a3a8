import Journal
import NotifyClient
import NotifyDaemon
import Routing
import Systemd

/// A call of `Publish`, from the message on the bus to the words of its banner: any types in its dictionaries, nested
/// at will.
public func fuzzPublish(_ bytes: [UInt8]) {
    var choices = Choices(bytes)
    guard let bus = try? BusConnection(toNobody: ()) else { preconditionFailure("messages need no bus") }
    let call = bus.methodCall(
        to: "org.notifyd.Router1", path: "/org/notifyd/Router1", interface: "org.notifyd.Router1", member: "Publish")
    call.append(choices.flag() ? "/post/27" : choices.text())
    call.append(choices.text())
    call.append(choices.text())
    call.appendArbitraryDictionary(&choices, names: ["from", "distance"])
    call.appendArbitraryDictionary(
        &choices,
        names: [
            "source", "event-id", "retain", "remove", "ttl", "urgency", "banner", "own-banner", "window", "published",
            "collapse",
        ])
    call.sealForReading()
    let limits = Limits()
    do {
        let publication = try Publication(reading: call, by: .publish, limits: limits)
        check(publication, limits)
        route(publication)
    } catch let refusal as Refusal {
        check(refusal)
    } catch is TopicError {
    } catch {
        preconditionFailure("a message of the right signature can be read: \(error)")
    }
}

private func check(_ publication: Publication, _ limits: Limits) {
    precondition(publication.fields.count <= limits.fields, "fields are limited")
    precondition(
        Set(publication.fields.map(\.name)).count == publication.fields.count, "fields have names of their own")
    precondition(publication.fields.allSatisfy { $0.value.depth <= limits.nesting }, "nesting is limited")
    let written = FieldCoding.encode(publication.fields)
    guard let read = try? FieldCoding.decode(written) else { preconditionFailure("what was accepted can be kept") }
    precondition(FieldCoding.encode(read) == written, "what was accepted is kept")
    precondition(written.count <= 2 * limits.messageBytes, "what was accepted is not large")
    checkOnBus(publication.fields)
}

/// Fields that were accepted, or are kept, can be given to subscribers; and these read what was published.
func checkOnBus(_ fields: [Field]) {
    guard let bus = try? BusConnection(toNobody: ()) else { preconditionFailure("messages need no bus") }
    let signal = bus.signal(path: "/", interface: "org.notifyd.Router1", member: "Event")
    signal.append(fields)
    signal.sealForReading()
    var limits = Limits()
    limits.nesting = 64
    limits.fields = .max
    limits.messageBytes = .max
    var reader = DictionaryReader("field", limits: limits)
    guard let read = try? reader.read(signal) else {
        // Only what a damaged file holds has a name twice.
        precondition(Set(fields.map(\.name)).count < fields.count, "what was accepted can be delivered")
        return
    }
    precondition(FieldCoding.encode(read) == FieldCoding.encode(fields), "what was accepted is delivered")
}

private func check(_ refusal: Refusal) {
    let text: String
    switch refusal {
    case .invalidEvent(let reason), .tooLarge(let reason): text = reason
    default: preconditionFailure("a publisher is not refused like that: \(refusal)")
    }
    precondition((10...1000).contains(text.utf8.count), "a refusal says why, and does not repeat what was sent")
}

/// Has the router decide, until the banner's text is made.
private func route(_ publication: Publication) {
    var router = Router(
        routes: builtIn.routes, banners: BannerSettings(), screens: ScreenSettings(), limits: Limits(),
        firstID: EventID(1), oldestID: EventID(0))
    let start = Now(instant: Instant(microseconds: 0), uptime: Uptime(microseconds: 0))
    let late = Now(instant: Instant(microseconds: 600_000_000), uptime: Uptime(microseconds: 600_000_000))
    _ = router.handle(.server(.ready), at: start)
    _ = router.handle(.published(publication), at: start)
    for case .showBanner(let request) in router.handle(.timerFired, at: late) {
        let text = BannerText(request)
        precondition(!text.title.isEmpty, "a banner has a title")
    }
    precondition(router.openWindows == 0, "every window ends")
}

private let builtIn: Configuration = {
    do {
        return try ConfigurationReader().finish()
    } catch {
        preconditionFailure("the built-in routes are right: \(error)")
    }
}()

extension FieldValue {
    fileprivate var depth: Int {
        switch self {
        case .array(_, let elements): 1 + (elements.map(\.depth).max() ?? 0)
        case .dictionary(_, _, let pairs): 1 + (pairs.map { max($0.key.depth, $0.value.depth) }.max() ?? 0)
        case .variant(let inner): 1 + inner.depth
        default: 0
        }
    }
}

/// A message as the bytes of the wire, to the client library: what it can read it can write, and what it makes of it
/// does not depend on who wrote it.
public func fuzzReply(_ bytes: [UInt8]) {
    guard let message = Message(wire: bytes) else { return }
    readAsEverything(message.arguments)
    // What is nested too deep is refused, since the bus would refuse it.
    guard message.arguments.allSatisfy({ $0.flaw() == nil }), let again = try? message.wire() else { return }
    guard let read = Message(wire: again) else { preconditionFailure("what was written can be read") }
    precondition(read.arguments.map(\.comparable) == message.arguments.map(\.comparable), "what was written is read")
    precondition(read.member == message.member && read.path == message.path, "the header is read as it was written")
}

private func readAsEverything(_ arguments: [Value]) {
    _ = Event(arguments: arguments)
    _ = Outcome(arguments: arguments)
    for value in arguments {
        precondition(ValueType(signature: value.type.signature) == value.type, "a printed type is read as the same")
        _ = value.elements?.compactMap(RecordedEvent.init)
        _ = value.entries.flatMap { Explanation(1, $0) }
        _ = (value.integer(as: UInt32.self), value.integer(as: Int64.self), value.string, value.boolean)
    }
}

extension Value {
    /// With the bits of a number in place of the number: not a number is not equal to itself.
    fileprivate var comparable: Value {
        switch self {
        case .double(let number): .uint64(number.bitPattern)
        case .array(let elements, let type): .array(elements.map(\.comparable), of: type)
        case .structure(let members): .structure(members.map(\.comparable))
        case .variant(let inner): .variant(inner.comparable)
        case .dictionary(let entries, let keys, let values):
            // Of keys that are not equal to themselves there can be several, in any order.
            .dictionary(
                Dictionary(entries.map { ($0.key.comparable, $0.value.comparable) }) { _, _ in .byte(0) }, keys: keys,
                values: values)
        default: self
        }
    }
}

/// A type of D-Bus as a publisher may choose it, structures included.
private indirect enum Shape {
    case basic(Unicode.Scalar)
    case variant
    case array(Shape)
    case dictionary(Unicode.Scalar, Shape)
    case structure([Shape])

    private static let basicTypes: [Unicode.Scalar] = ["s", "y", "b", "n", "q", "i", "u", "x", "t", "d", "o", "g"]

    init(_ choices: inout Choices, depth: Int) {
        switch depth < 6 ? choices.below(20) : choices.below(13) {
        case 12: self = .variant
        case 13...15: self = .array(Shape(&choices, depth: depth + 1))
        case 16...18:
            let key = choices.pick(Self.basicTypes)
            self = .dictionary(key, Shape(&choices, depth: depth + 1))
        case 19: self = .structure((0...choices.below(2)).map { _ in Shape(&choices, depth: depth + 1) })
        case let index: self = .basic(Self.basicTypes[index])
        }
    }

    var signature: String {
        switch self {
        case .basic(let type): String(type)
        case .variant: "v"
        case .array(let element): "a" + element.signature
        case .dictionary(let key, let value): "a{" + String(key) + value.signature + "}"
        case .structure(let members): "(" + members.map(\.signature).joined() + ")"
        }
    }
}

extension BusMessage {
    /// Appends an `a{sv}` of whatever the choices say.
    func appendArbitraryDictionary(_ choices: inout Choices, names: [String]) {
        appendContainer("a", "{sv}") { entries in
            // Now and then more than are allowed.
            let count = choices.below(8) == 7 ? choices.below(80) : choices.below(6)
            for _ in 0..<count {
                let name = choices.flag() ? choices.pick(names) : choices.text(upTo: 100)
                let shape = Shape(&choices, depth: 0)
                entries.appendEntry(name, shape.signature) { $0.append(shape, &choices, depth: 0) }
            }
        }
    }

    private func append(_ shape: Shape, _ choices: inout Choices, depth: Int) {
        switch shape {
        case .basic(let type): append(type, &choices)
        case .variant:
            let inner = Shape(&choices, depth: depth + 1)
            appendContainer("v", inner.signature) { $0.append(inner, &choices, depth: depth + 1) }
        case .array(let element):
            appendContainer("a", element.signature) { message in
                for _ in 0..<choices.below(4) { message.append(element, &choices, depth: depth + 1) }
            }
        case .dictionary(let key, let value):
            appendContainer("a", "{" + String(key) + value.signature + "}") { message in
                for _ in 0..<choices.below(4) {
                    message.appendContainer("e", String(key) + value.signature) { entry in
                        entry.append(key, &choices)
                        entry.append(value, &choices, depth: depth + 1)
                    }
                }
            }
        case .structure(let members):
            appendContainer("r", members.map(\.signature).joined()) { message in
                for member in members { message.append(member, &choices, depth: depth + 1) }
            }
        }
    }

    private func append(_ type: Unicode.Scalar, _ choices: inout Choices) {
        switch type {
        case "y": append(choices.byte(), as: type)
        case "b": append(choices.flag())
        case "n", "q": append(choices.number(UInt16.self), as: type)
        case "i", "u": append(choices.number(UInt32.self), as: type)
        case "x", "t": append(choices.number(UInt64.self), as: type)
        case "d": append(Double(bitPattern: choices.number()), as: type)
        case "o": append(choices.pick(["/", "/a", "/a/b_2"]), as: type)
        case "g": append(choices.pick(["", "s", "a{sv}", "(ii)"]), as: type)
        default: append(choices.text())
        }
    }
}
