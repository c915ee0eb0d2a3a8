import NotifyTestSupport
import NotifyText

@testable import Routing

/// What both routers must agree on: an effect without what is the router's own business, such as the wording of an
/// error, the number of a call, and when the timer is set.
enum Observed: Equatable, CustomStringConvertible {
    case reply(Reply)
    case refused(String)
    case announce(EventID, String, sender: String, retained: Bool, published: Int64, Announcement)
    case resolve(EventID, String, Resolution)
    case show(newest: EventID, others: [EventID], count: Int, replaces: BannerID?, isSummary: Bool)
    case close(BannerID)
    case relay(EventID, action: String)
    case note(EventID, ClaimRecord)
    case remove(String, EventID, ValueRemoval.Cause, leaving: Int64?, isNews: Bool)
    case read(EventID, by: String, ClaimPlace)
    case keepAwaited(AwaitedClaim)
    case dropAwaited(Origin)
    case screensChanged(String, Bool)
    case quietChanged
    case countDigests
    case markRead(String, EventID, by: String, ClaimForm)

    init(_ reply: Result<Reply, Refusal>) {
        switch reply {
        case .success(let reply): self = .reply(reply)
        case .failure(let refusal): self = .refused(refusal.errorName)
        }
    }

    init?(_ effect: Effect) {
        switch effect {
        case .announce(let event, let announcement):
            // A window that is over has nothing left, however late it is noticed.
            let window = announcement.window.map { max(.zero, $0) }
            self = .announce(
                event.id, event.topic.description, sender: event.sender, retained: event.retained,
                published: event.published,
                Announcement(
                    window: window, silence: announcement.silence, isClaimed: announcement.isClaimed,
                    isReplayed: announcement.isReplayed,
                    expires: announcement.expires))
        case .resolve(let id, let topic, var resolution):
            // A name for the journal only.
            resolution.shownWith = nil
            self = .resolve(id, topic.description, resolution)
        case .showBanner(let request):
            self = .show(
                newest: request.newest.id, others: request.others.map(\.id), count: request.count,
                replaces: request.replaces, isSummary: request.isSummary)
        case .keepBanner(.closed(let id)): self = .close(id)
        case .relayAction(let event, let action): self = .relay(event.id, action: action)
        case .noteClaim(let id, let record): self = .note(id, record)
        case .read(.event(let id), let peer, _, let place): self = .read(id, by: peer, place)
        case .awaited(let origin, let claim): self = claim.map { .keepAwaited($0) } ?? .dropAwaited(origin)
        case .screensChanged(let topic, let isAttended): self = .screensChanged(topic.description, isAttended)
        case .remove(let removal, let version, let isNews):
            self = .remove(
                removal.topic.description, removal.id, removal.cause, leaving: version?.published, isNews: isNews)
        case .changed(let tables) where tables.contains(.quiet): self = .quietChanged
        case .countDigests: self = .countDigests
        case .read(.topic(let topic, let last), let peer, let form, _):
            self = .markRead(topic.description, last, by: peer, form)
        case .armTimer, .changed, .startServer, .keepBanner:
            return nil
        }
    }

    var description: String {
        switch self {
        case .reply(let reply): "reply \(reply)"
        case .refused(let name): "refuse \(name)"
        case .announce(let id, let topic, let sender, let retained, let published, let announcement):
            "announce \(id) \(topic) of \(sender)\(retained ? " retained" : ""), published \(published), "
                + "window \(announcement.window.map { $0.text } ?? "none"), "
                + "silenced by \(announcement.silence.map { $0.rawValue } ?? "nobody"), "
                + "until \(announcement.expires.microseconds)"
        case .resolve(let id, let topic, let resolution): "resolve \(id) \(topic) \(Self.text(of: resolution))"
        case .show(let newest, let others, let count, let replaces, let isSummary):
            "show \(newest) and \(others) of \(count)"
                + "\(replaces.map { " in place of banner \($0)" } ?? "")\(isSummary ? " as summary" : "")"
        case .close(let id): "close banner \(id)"
        case .relay(let id, let action): "relay \(action) of \(id)"
        case .note(let id, let record):
            "note \(record.form.rawValue) of \(id) by \(record.claimant) after "
                + "\(record.latency?.text ?? "no time that is known"): "
                + record.verdict.rawValue
        case .remove(let topic, let id, let cause, let published, let isNews):
            "remove \(topic) as \(id), \(cause.rawValue), leaving \(published.map { "\($0)" } ?? "what is there")"
                + (isNews ? "" : ", which changes nothing")
        case .read(let id, let peer, let place): "read \(id) by \(peer) on \(place.device ?? "this device")"
        case .keepAwaited(let awaited):
            "await \(awaited.claim.origin.eventID ?? "") until \(awaited.expires.microseconds), "
                + "\(awaited.claim.kind) by \(awaited.claim.claimant)"
        case .dropAwaited(let origin): "do not await \(origin.eventID ?? "")"
        case .screensChanged(let topic, let isAttended): "\(topic) is \(isAttended ? "" : "not ")attended"
        case .quietChanged: "quiet changed"
        case .countDigests: "count digests"
        case .markRead(let topic, let last, let peer, let form):
            "mark \(topic) up to \(last) by \(peer) with \(form.rawValue)"
        }
    }

    private static func text(of resolution: Resolution) -> String {
        var words = [resolution.outcome.rawValue]
        if let claimant = resolution.claimant { words.append("by \(claimant)") }
        if let device = resolution.place.device { words.append("on \(device)") }
        if let latency = resolution.latency { words.append("after \(latency.text)") }
        if let form = resolution.form { words.append("with \(form.rawValue)") }
        if let opened = resolution.opened { words.append("opened \(opened.microseconds)") }
        if let deadline = resolution.deadline { words.append("deadline \(deadline.microseconds)") }
        if let banner = resolution.banner { words.append("banner \(banner)") }
        if let count = resolution.count { words.append("count \(count)") }
        if let lateness = resolution.lateness { words.append("late \(lateness.text)") }
        if let verdict = resolution.verdict { words.append("told \(verdict.rawValue)") }
        if let delay = resolution.delay { words.append("because \(delay.rawValue)") }
        if let successor = resolution.successor { words.append("by \(successor)") }
        if let digest = resolution.digest { words.append("reported by digest \(digest)") }
        if let quiet = resolution.quiet { words.append("for \(quiet.topic) is \(quiet.cause.rawValue)") }
        return words.joined(separator: " ")
    }
}
