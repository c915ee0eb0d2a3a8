package import Routing
package import Systemd

// `org.notifyd.Router1` as data. A test compares these tables with `org.notifyd.Router1.xml`.

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

/// The methods.
enum Method: String {
    case send, publish, withdraw
    case claim, claimNamed, claimProvisionally, complete, release, pass, press, claimTopic, markRead
    case openScreen, updateScreen, closeScreen, listScreens
    case snapshot, history, changes, awaitChanges, inbox, render, unread, explain, diagnose
    case mute, pause, snooze, forget

    /// As it is called.
    var name: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }

    typealias Kind = FairQueue<RouterInterface.Work>.Kind

    /// Each with its arguments, those of its reply, and who may call it.
    static let table: [(method: Method, input: String, output: String, kind: Kind, access: Access)] = [
        (.send, "topic:s title:s body:s", "id:t", .publish, .publish),
        (.publish, "topic:s title:s body:s fields:a{sv} options:a{sv}", "id:t", .publish, .publish),
        (.withdraw, "id:t", "", .claim, .publisher),
        (.claim, "id:t", "verdict:s", .claim, .claim),
        (.claimNamed, "source:s event_id:s options:a{sv}", "verdict:s", .claim, .claim),
        (.claimProvisionally, "id:t milliseconds:u", "verdict:s", .claim, .claim),
        (.complete, "id:t", "", .claim, .claim),
        (.release, "id:t", "", .claim, .holder),
        (.pass, "id:t", "", .claim, .holder),
        (.press, "id:t action:s", "", .claim, .claim),
        (.claimTopic, "topic:s grace_milliseconds:u", "count:u", .claim, .claim),
        (.markRead, "topic:s up_to:t", "count:u", .claim, .claim),
        (.openScreen, "topic:s options:a{sv}", "screen:t", .claim, .claim),
        (.updateScreen, "screen:t options:a{sv}", "", .claim, .claim),
        (.closeScreen, "screen:t", "", .claim, .everybody),
        (.listScreens, "", "screens:a(tssss)", .reading, .everybody),
        (.snapshot, "topic:s", "cursor:t events:a(tsssxsa{sv})", .reading, .everybody),
        (.history, "topic:s after:t limit:u", "events:a(tsssxsa{sv})", .reading, .everybody),
        (.changes, "after:t limit:u", "oldest:t changes:a(tssta{sv})", .reading, .everybody),
        (.awaitChanges, "after:t limit:u", "oldest:t changes:a(tssta{sv})", .reading, .everybody),
        (.inbox, "topic:s before:t limit:u", "events:a(tsssxsa{sv})", .reading, .everybody),
        (.render, "id:t", "title:s body:s", .reading, .everybody),
        (.unread, "topic:s", "count:u", .reading, .everybody),
        (.explain, "id:t", "decision:a{sv}", .reading, .everybody),
        (.diagnose, "", "problems:a(sss)", .reading, .everybody),
        (.mute, "topic:s seconds:u", "", .other, .control),
        (.pause, "seconds:u", "", .other, .control),
        (.snooze, "id:t seconds:u", "", .claim, .claim),
        (.forget, "topic:s up_to:t", "count:u", .other, .claimAndControl),
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
    case forget(TopicPrefix, upTo: EventID)
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
            case .complete: .route(.answered(try event(call), .completed, by: call.sender))
            case .release: .route(.answered(try event(call), .released, by: call.sender))
            case .pass: .route(.answered(try event(call), .passed, by: call.sender))
            case .press: .press(try event(call), action: try call.readText("action"))
            case .claimTopic: .route(.topicClaimed(try prefix(call), .grace(try milliseconds(call)), by: call.sender))
            case .markRead: .route(.topicClaimed(try prefix(call), .read(upTo: try event(call)), by: call.sender))
            case .openScreen:
                .route(.screenOpened(try prefix(call), try ScreenOptions(try options(call)), by: call.sender))
            case .updateScreen:
                .route(.screenChanged(try screen(call), try ScreenOptions(try options(call)), by: call.sender))
            case .closeScreen: .route(.screenChanged(try screen(call), nil, by: call.sender))
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
            case .mute: .route(.quieted(try prefix(call), for: try seconds(call)))
            case .pause: .route(.quieted(nil, for: try seconds(call)))
            case .snooze: .route(.snoozed(try event(call), for: try seconds(call), by: call.sender))
            case .forget: .forget(try prefix(call), upTo: try event(call))
            }
        }
    }

    /// - Throws: a refusal for every error of the body.
    func read<Result>(
        _ message: borrowing BusMessage, _ body: (borrowing BusMessage) throws -> Result
    ) throws(Refusal) -> Result {
        do {
            return try body(message)
        } catch let refusal as Refusal {
            throw refusal
        } catch let error as SystemdError where error.isNoncharacter {
            throw .invalidArguments(Refusal.noncharacter(in: "a text"))
        } catch let error as SystemdError where error.isTooLong {
            throw .tooLarge(
                "a text has more than \(BusMessage.longestText) bytes; "
                    + "a message may have \(limits.messageBytes) in all")
        } catch {
            throw .invalidArguments("the message cannot be read: \(error)")
        }
    }

    // MARK: Within `read`

    func prefix(_ call: borrowing BusMessage) throws -> TopicPrefix {
        let text = try call.readText("topic")
        do throws(TopicError) {
            return try TopicPrefix(text)
        } catch {
            throw Refusal.invalidTopic(error.description)
        }
    }

    func event(_ call: borrowing BusMessage) throws -> EventID { EventID(try call.readNumber("t")) }

    func screen(_ call: borrowing BusMessage) throws -> ScreenID { ScreenID(try call.readNumber("t")) }

    func limit(_ call: borrowing BusMessage) throws -> Int { Int(try call.readNumber("u", as: UInt32.self)) }

    func milliseconds(_ call: borrowing BusMessage) throws -> Duration { .milliseconds(Int64(try limit(call))) }

    func seconds(_ call: borrowing BusMessage) throws -> Duration { .seconds(Int64(try limit(call))) }

    func options(_ call: borrowing BusMessage) throws -> [Field] {
        var reader = DictionaryReader("option", limits: limits)
        return try reader.read(call)
    }
}

extension BusMessage {
    /// Reads a text.
    ///
    /// - Parameter name: what it is called in a refusal.
    func readText(_ name: String, as type: Unicode.Scalar = "s") throws -> String {
        do throws(SystemdError) {
            return try readString(as: type)
        } catch {
            guard error.isNoncharacter else { throw error }
            throw Refusal.invalidArguments(Refusal.noncharacter(in: "the \(name)"))
        }
    }
}

extension Refusal {
    /// sd-bus gives out no text with one, so it cannot be told which.
    fileprivate static func noncharacter(in what: String) -> String {
        "\(what) holds a noncharacter of Unicode, U+FDD0 to U+FDEF or one that ends in FFFE or FFFF, such as U+FFFF; "
            + "leave it out"
    }
}

extension Publication {
    /// Reads the arguments of `Send` and `Publish`.
    ///
    /// - Throws: `Refusal`, or `SystemdError` where the message has other arguments.
    package init(reading call: borrowing BusMessage, by method: Method, limits: Limits) throws {
        let topic = try call.readText("topic")
        let title = try call.readText("title")
        let body = try call.readText("body")
        self.init(
            topic: try Self.topic(topic), title: title, body: body, sender: call.sender, method: method,
            received: Clock.realtime(), size: topic.utf8.count + title.utf8.count + body.utf8.count)
        guard method == .publish else { return }
        var fields = DictionaryReader("field", limits: limits)
        self.fields = try fields.read(call)
        var options = DictionaryReader("option", limits: limits)
        self.options = try PublishOptions(try options.read(call))
        size += fields.size + options.size
    }

    private static func topic(_ text: String) throws(Refusal) -> Topic {
        do throws(TopicError) {
            return try Topic(text)
        } catch {
            throw .invalidTopic(error.description)
        }
    }
}
