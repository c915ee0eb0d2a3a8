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
