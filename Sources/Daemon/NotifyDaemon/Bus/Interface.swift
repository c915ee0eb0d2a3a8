import Routing
import Systemd

// `org.notifyd.Router1` as data. A test compares these tables with `org.notifyd.Router1.xml`.

/// The methods.
enum Method {
    case send, publish, withdraw
    case claim, claimNamed, claimProvisionally, complete, release, pass, press, claimTopic, markRead
    case openScreen, updateScreen, closeScreen, listScreens
    case snapshot, history, changes, awaitChanges, inbox, render, unread, explain, diagnose
    case mute, pause, snooze, forget
}

/// Who may make a call.
enum Access {
    /// Everybody: nothing is changed, or a claim given up.
    case everybody
    case publish, claim, control
    /// Who may do both.
    case claimAndControl
    /// Who has published the event, and who may publish at its topic.
    case publisher
    /// Only the holder of an event in memory has an effect; who may claim it, else.
    case holder

    /// The permissions that the caller needs where the call is about.
    var permissions: [Permission] {
        switch self {
        case .everybody: []
        case .publish, .publisher: [.publish]
        case .claim, .holder: [.claim]
        case .control: [.control]
        case .claimAndControl: [.claim, .control]
        }
    }
}

/// A method of the table.
struct MethodEntry {
    typealias Kind = FairQueue<RouterInterface.Work>.Kind

    let method: Method
    let name: String
    let input: String
    let output: String
    let kind: Kind
    let access: Access

    init(
        _ method: Method, _ name: String, in input: String = "", out output: String = "", _ kind: Kind, _ access: Access
    ) {
        (self.method, self.name, self.input, self.output) = (method, name, input, output)
        (self.kind, self.access) = (kind, access)
    }

    static let all = [
        Self(.send, "Send", in: "topic:s title:s body:s", out: "id:t", .publish, .publish),
        Self(
            .publish, "Publish", in: "topic:s title:s body:s fields:a{sv} options:a{sv}", out: "id:t", .publish,
            .publish),
        Self(.withdraw, "Withdraw", in: "id:t", .claim, .publisher),
        Self(.claim, "Claim", in: "id:t", out: "verdict:s", .claim, .claim),
        Self(.claimNamed, "ClaimNamed", in: "source:s event_id:s options:a{sv}", out: "verdict:s", .claim, .claim),
        Self(.claimProvisionally, "ClaimProvisionally", in: "id:t milliseconds:u", out: "verdict:s", .claim, .claim),
        Self(.complete, "Complete", in: "id:t", .claim, .claim),
        Self(.release, "Release", in: "id:t", .claim, .holder),
        Self(.pass, "Pass", in: "id:t", .claim, .holder),
        Self(.press, "Press", in: "id:t action:s", .claim, .claim),
        Self(.claimTopic, "ClaimTopic", in: "topic:s grace_milliseconds:u", out: "count:u", .claim, .claim),
        Self(.markRead, "MarkRead", in: "topic:s up_to:t", out: "count:u", .claim, .claim),
        Self(.openScreen, "OpenScreen", in: "topic:s options:a{sv}", out: "screen:t", .claim, .claim),
        Self(.updateScreen, "UpdateScreen", in: "screen:t options:a{sv}", .claim, .claim),
        Self(.closeScreen, "CloseScreen", in: "screen:t", .claim, .everybody),
        Self(.listScreens, "ListScreens", out: "screens:a(tssss)", .reading, .everybody),
        Self(.snapshot, "Snapshot", in: "topic:s", out: "cursor:t events:a(tsssxsa{sv})", .reading, .everybody),
        Self(
            .history, "History", in: "topic:s after:t limit:u", out: "events:a(tsssxsa{sv})", .reading, .everybody),
        Self(
            .changes, "Changes", in: "after:t limit:u", out: "oldest:t changes:a(tssta{sv})", .reading, .everybody),
        Self(
            .awaitChanges, "AwaitChanges", in: "after:t limit:u", out: "oldest:t changes:a(tssta{sv})", .reading,
            .everybody),
        Self(.inbox, "Inbox", in: "topic:s before:t limit:u", out: "events:a(tsssxsa{sv})", .reading, .everybody),
        Self(.render, "Render", in: "id:t", out: "title:s body:s", .reading, .everybody),
        Self(.unread, "Unread", in: "topic:s", out: "count:u", .reading, .everybody),
        Self(.explain, "Explain", in: "id:t", out: "decision:a{sv}", .reading, .everybody),
        Self(.diagnose, "Diagnose", out: "problems:a(sss)", .reading, .everybody),
        Self(.mute, "Mute", in: "topic:s seconds:u", .other, .control),
        Self(.pause, "Pause", in: "seconds:u", .other, .control),
        Self(.snooze, "Snooze", in: "id:t seconds:u", .claim, .claim),
        Self(.forget, "Forget", in: "topic:s up_to:t", out: "count:u", .other, .claimAndControl),
    ]
}

/// The properties.
enum Property: String, CaseIterable {
    case quiet = "Quiet"
    case paused = "Paused"
    case degraded = "Degraded"
    case version = "Version"
    case device = "Device"
    case defaultWindow = "DefaultWindowMilliseconds"
    case pending = "Pending"
    case statistics = "Statistics"

    var type: String {
        switch self {
        case .quiet: "a(sxs)"
        case .paused: "b"
        case .degraded, .version, .device: "s"
        case .defaultWindow, .pending: "u"
        case .statistics: "a{st}"
        }
    }

    var change: BusInterface.Change {
        switch self {
        case .quiet, .paused, .degraded, .device, .defaultWindow: .announced
        case .version: .constant
        case .pending, .statistics: .unannounced
        }
    }
}

extension Signal {
    /// The name and the arguments of each.
    static let table = [
        ("Event", "topic:s id:t title:s body:s fields:a{sv} info:a{sv}"),
        ("Resolved", "topic:s id:t outcome:s details:a{sv}"), ("Removed", "topic:s id:t"),
        ("ScreensChanged", "topic:s attended:b"), ("ActionInvoked", "topic:s id:t action:s"),
    ]
}

/// A call whose arguments have been read.
indirect enum Request {
    /// For the router.
    case route(Call)
    case claimNamed(Origin, NamedClaimOptions)
    case press(EventID, action: String)
    case snooze(EventID, for: Duration)
    case forget(TopicPrefix, upTo: EventID)
    case setPaused(Bool)
    /// For a reply that may be long.
    case read(any Reading)
    case history(TopicPrefix, after: EventID, limit: Int)
    case awaitChanges(after: UInt64, limit: Int)
    case render(EventID)
    case explain(EventID)
    case diagnose

    /// About how long the call is.
    var bytes: Int { if case .route(.published(let publication)) = self { publication.memoryCost } else { 0 } }
}

extension BusCodec {
    /// Reads the arguments of a call.
    func request(_ method: Method, _ call: borrowing BusMessage) throws(Refusal) -> Request {
        try read(call) { call in
            switch method {
            case .send: .route(.published(try Publication(reading: call, by: .send, limits: limits)))
            case .publish: .route(.published(try Publication(reading: call, by: .publish, limits: limits)))
            case .withdraw: .route(.withdrawn(try event(call), by: call.sender))
            case .claim: .route(.claimed(try event(call), by: call.sender))
            case .claimNamed:
                .claimNamed(
                    try Origin(named: try call.readText("source"), try call.readText("event_id")),
                    try NamedClaimOptions(try options(call)))
            case .claimProvisionally:
                .route(.claimedProvisionally(try event(call), within: try milliseconds(call), by: call.sender))
            case .complete: .route(.completed(try event(call), by: call.sender))
            case .release: .route(.released(try event(call), by: call.sender))
            case .pass: .route(.passed(try event(call), by: call.sender))
            case .press: .press(try event(call), action: try call.readText("action"))
            case .claimTopic:
                .route(.topicClaimed(try prefix(call), grace: try milliseconds(call), by: call.sender))
            case .markRead: .route(.markedRead(try prefix(call), upTo: try event(call), by: call.sender))
            case .openScreen:
                .route(.screenOpened(try prefix(call), try ScreenOptions(try options(call)), by: call.sender))
            case .updateScreen:
                .route(.screenUpdated(try screen(call), try ScreenOptions(try options(call)), by: call.sender))
            case .closeScreen: .route(.screenClosed(try screen(call), by: call.sender))
            case .listScreens: .read(ScreenList())
            case .snapshot: .read(Snapshot(of: try prefix(call)))
            case .history: .history(try prefix(call), after: try event(call), limit: try limit(call))
            case .changes: .read(ChangeList(after: try call.readNumber("t"), limit: try limit(call)))
            case .awaitChanges: .awaitChanges(after: try call.readNumber("t"), limit: try limit(call))
            case .inbox: .read(Inbox(of: try prefix(call), before: try event(call), limit: try limit(call)))
            case .render: .render(try event(call))
            case .unread: .read(UnreadCount(of: try prefix(call)))
            case .explain: .explain(try event(call))
            case .diagnose: .diagnose
            case .mute: .route(.muted(try prefix(call), for: try seconds(call)))
            case .pause: .route(.pausedFor(try seconds(call)))
            case .snooze: .snooze(try event(call), for: try seconds(call))
            case .forget: .forget(try prefix(call), upTo: try event(call))
            }
        }
    }
}
