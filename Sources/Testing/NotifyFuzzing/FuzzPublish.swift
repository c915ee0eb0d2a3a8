import Journal
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
