import NotifyText
import Routing

/// One step of a script. What it speaks of is named in a way that survives the loss of other steps: an event or a
/// screen by the label of the step that made it, a call or a banner by a number that is taken modulo what is there.
enum Step: Sendable {
    case publish(label: Int, topic: Topic, by: String, Extras)
    case claim(Int, by: String)
    case claimNamed(Naming, NamedClaim.Kind, Duration?, by: String)
    case hold(Int, Duration, by: String)
    case complete(Int, by: String)
    case release(Int, by: String)
    case pass(Int, by: String)
    case withdraw(Int, by: String)
    case claimTopic(TopicPrefix, grace: Duration, by: String)
    case markRead(TopicPrefix, upTo: Int?, by: String)
    case forget(Int)
    case openScreen(label: Int, TopicPrefix, ScreenOptions, by: String)
    case updateScreen(Int, ScreenOptions, by: String)
    case closeScreen(Int, by: String)
    case peerLeaves(String)
    /// The program of a peer is known: one of few, or `nil`.
    case identify(String, as: Int?, hasLeft: Bool)
    case watched(Bool)
    case paused(Bool)
    /// The desktop's own “do not disturb” is on.
    case desktop(Bool)
    case pause(Duration)
    case mute(TopicPrefix, Duration)
    /// These schedules are on: topic, which period, how long it lasts, and whether it has a digest.
    case schedules([(topic: TopicPrefix, began: Int64, length: Duration, hasDigest: Bool)])
    /// The events of digests are counted, if that is awaited.
    case countDigests(Count)
    case snooze(Int, Duration, by: String)
    case reconfigure(Int)

    case serverAppears
    case serverVanishes
    /// Whether calls are answered at once or only when a step says so.
    case serverIsPrompt(Bool)
    /// Whether calls to the server leave at the end of each step, or wait as they do in a long turn.
    case callsLeave(Bool)
    case answer(Int, Answer)
    /// An answer to a call that was answered before, or made to a server that has gone.
    case answerStale(Int, Answer)
    case closeBanner(Int, ClosingReason)
    case press(Int)

    /// Time goes by, and the timer goes off whenever it was asked for.
    case wait(Duration)
    /// Time goes by while the daemon does something else: the timer will be late.
    case stall(Duration)
    /// The machine sleeps: only lifetimes go on.
    case sleep(Duration)
    /// Time goes by to the very moment the timer was asked for; what comes next is handled before it.
    case untilDue
    /// The timer goes off, due or not.
    case fire

    /// What is unusual about a publication.
    struct Extras: Sendable {
        var eventID: Int?
        var collapse: Int?
        var banner: Bool?
        var isOwnBanner = false
        var isCritical = false
        var window: Duration?
        var lifetime: Duration?
        var retain: Bool?
        var remove = false
        var ifNewer = false
        /// How long ago it was published elsewhere, in microseconds.
        var age: Int64?
        /// The journal cannot be written: the event is taken back in the same turn.
        var isNotKept = false
        var lacksFields = false
        var title = "title"

        func publication(at topic: Topic, by peer: String, body: String = "", received: Int64 = 0) -> Publication {
            var options = PublishOptions()
            if isOwnBanner { options = try! PublishOptions([Field(name: "own-banner", value: .boolean(true))]) }
            if let eventID { options.origin = Naming.origin(eventID) }
            options.collapse = collapse.map { "c\($0)" }
            options.banner = banner
            if isCritical { options.urgency = .critical }
            options.window = window
            options.lifetime = lifetime
            options.retain = retain
            options.remove = remove
            options.ifNewer = ifNewer
            options.published = age.map { received - $0 }
            return Publication(
                topic: topic, title: title, body: body,
                fields: lacksFields ? [] : [Field(name: "from", value: .string("Mina"))], options: options,
                sender: peer, received: received)
        }
    }

    enum Naming: Sendable {
        /// By source and event-id, whether or not there is such an event.
        case global(Int)
        /// By id.
        case event(Int)
        /// What is published next, if it has no name of its own.
        case next

        static func origin(_ number: Int) -> Origin { Origin(source: "script", eventID: "\(number)") }
    }

    enum Count: Sendable {
        case none, quiet, found
        /// The digest cannot be kept.
        case unkept
        /// Of periods that are not due.
        case outdated
    }

    enum Answer: Sendable {
        /// With the number of the banner that is replaced, or else a new one.
        case shown
        case renumbered
        /// With the number of some other banner.
        case taken(Int)
        case identical
        case error
        case unknownBanner
    }
}

/// The conditions a script starts under.
struct Setup: Sendable {
    var configuration: Int
    var isTight: Bool
    var serverIsThere: Bool

    var limits: Limits { isTight ? World.tight : World.roomy }
}

struct Script: Sendable, CustomStringConvertible {
    let seed: UInt64
    let setup: Setup
    var steps: [Step]

    var description: String {
        var lines = ["seed \(seed), \(setup)"]
        for (index, step) in steps.enumerated() { lines.append("  \(index): \(step)") }
        return lines.joined(separator: "\n")
    }
}

/// A script as lines that a person can read and play in the head.
extension Step: CustomStringConvertible {
    var description: String {
        switch self {
        case .publish(let label, let topic, let peer, let extras): "\(peer) publishes e\(label) on \(topic)\(extras)"
        case .claim(let event, let peer): "\(peer) claims e\(event)"
        case .claimNamed(let name, let kind, let time, let peer):
            "\(peer) says that \(name) was \(kind)\(time.map { ", to be awaited for \($0.text)" } ?? "")"
        case .hold(let event, let time, let peer): "\(peer) claims e\(event) provisionally for \(time.text)"
        case .complete(let event, let peer): "\(peer) completes e\(event)"
        case .release(let event, let peer): "\(peer) releases e\(event)"
        case .pass(let event, let peer): "\(peer) passes on e\(event)"
        case .withdraw(let event, let peer): "\(peer) withdraws e\(event)"
        case .claimTopic(let topic, let grace, let peer): "\(peer) claims topic \(topic), grace \(grace.text)"
        case .markRead(let topic, let label, let peer):
            "\(peer) marks \(topic) as read up to \(label.map { "e\($0)" } ?? "the end")"
        case .forget(let event): "e\(event) is forgotten, if it is decided"
        case .openScreen(let label, let topic, let options, let peer):
            "\(peer) opens screen s\(label) on \(topic)\(Self.text(of: options))"
        case .updateScreen(let label, let options, let peer):
            "\(peer) updates screen s\(label)\(Self.text(of: options))"
        case .closeScreen(let label, let peer): "\(peer) closes screen s\(label)"
        case .peerLeaves(let peer): "\(peer) leaves the bus"
        case .identify(let peer, let program, let hasLeft):
            "\(peer) is \(program.map { "program \($0)" } ?? "a program that cannot be told")"
                + "\(hasLeft ? ", and has left" : "")"
        case .watched(let flag): flag ? "the session is watched" : "the session is locked"
        case .paused(let flag): flag ? "banners are paused" : "banners are no longer paused"
        case .desktop(let flag): "the desktop's “do not disturb” is \(flag ? "on" : "off")"
        case .pause(let time): "banners are paused for \(time.text)"
        case .schedules(let active):
            "on by schedule: \(active.map { Self.text(of: $0.topic, since: $0.began, for: $0.length, $0.hasDigest) })"
        case .countDigests(let count): "events of digests are counted: \(count)"
        case .mute(let topic, let time): "\(topic) is muted for \(time.text)"
        case .snooze(let event, let time, let peer): "\(peer) snoozes e\(event) for \(time.text)"
        case .reconfigure(let index): "configuration \(index) is loaded"
        case .serverAppears: "the server appears"
        case .serverVanishes: "the server vanishes"
        case .serverIsPrompt(let flag): flag ? "the server answers at once" : "the server answers when told"
        case .callsLeave(let flag): flag ? "calls to the server leave" : "calls to the server wait"
        case .answer(let pick, let answer): "the server answers call \(pick): \(answer)"
        case .answerStale(let pick, let answer): "the server answers old call \(pick): \(answer)"
        case .closeBanner(let pick, let reason): "banner \(pick) is closed: \(reason)"
        case .press(let pick): "a button of banner \(pick) is pressed"
        case .wait(let time): "\(time.text) go by"
        case .stall(let time): "\(time.text) go by, with the timer late"
        case .sleep(let time): "the machine sleeps for \(time.text)"
        case .untilDue: "time goes by until the timer is due"
        case .fire: "the timer goes off"
        }
    }

    private static func text(
        of topic: TopicPrefix, since began: Int64, for length: Duration, _ hasDigest: Bool
    ) -> String {
        "\(topic) since \(began) for \(length.text)\(hasDigest ? " with a digest" : "")"
    }

    private static func text(of options: ScreenOptions) -> String {
        var words: [String] = []
        if let mode = options.mode { words.append("mode \(mode)") }
        if let state = options.state { words.append("state \(state)") }
        if let lease = options.lease { words.append("lease \(lease.text)") }
        if let clear = options.clear { words.append("clear \(clear)") }
        return words.map { ", \($0)" }.joined()
    }
}

extension Step.Extras: CustomStringConvertible {
    var description: String {
        var words: [String] = []
        if let eventID { words.append("event-id \(eventID)") }
        if let collapse { words.append("collapse c\(collapse)") }
        if let banner { words.append("banner \(banner)") }
        if isCritical { words.append("critical") }
        if isOwnBanner { words.append("own-banner") }
        if let window { words.append("window \(window.text)") }
        if let lifetime { words.append("ttl \(lifetime.text)") }
        if let retain { words.append("retain \(retain)") }
        if remove { words.append("remove") }
        if ifNewer { words.append("if-newer") }
        if let age { words.append("published \(age) µs ago") }
        if isNotKept { words.append("which cannot be kept") }
        if lacksFields { words.append("without fields") }
        if title != "title" { words.append("title '\(title)'") }
        return words.map { ", \($0)" }.joined()
    }
}

extension Setup: CustomStringConvertible {
    var description: String {
        "configuration \(configuration), \(isTight ? "tight" : "roomy") limits, server "
            + "\(serverIsThere ? "there" : "away")"
    }
}
