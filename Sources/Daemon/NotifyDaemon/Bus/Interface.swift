import Routing
import Systemd

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
enum Property: String {
    case quiet = "Quiet"
    case paused = "Paused"
    case degraded = "Degraded"
    case version = "Version"
    case device = "Device"
    case defaultWindow = "DefaultWindowMilliseconds"
    case pending = "Pending"
    case statistics = "Statistics"

    /// Each with its type, and how its changes are told.
    static let table: [(property: Property, type: String, change: BusInterface.Change)] = [
        (.quiet, "a(sxs)", .announced), (.paused, "b", .announced), (.degraded, "s", .announced),
        (.version, "s", .constant), (.device, "s", .announced), (.defaultWindow, "u", .announced),
        (.pending, "u", .unannounced), (.statistics, "a{st}", .unannounced),
    ]
}

extension Signal {
    /// The name and the arguments of each.
    static let table = [
        ("Event", "topic:s id:t title:s body:s fields:a{sv} info:a{sv}"),
        ("Resolved", "topic:s id:t outcome:s details:a{sv}"), ("Removed", "topic:s id:t"),
        ("ScreensChanged", "topic:s attended:b"), ("ActionInvoked", "topic:s id:t action:s"),
    ]
}

extension Daemon {
    /// Appends the value of a property.
    func append(_ property: Property, to message: borrowing BusMessage) {
        switch property {
        case .quiet:
            message.appendContainer("a", "(sxs)") { list in
                for (topic, until, cause) in quiet {
                    list.appendContainer("r", "sxs") { entry in
                        entry.append(topic)
                        entry.append(until, as: "x")
                        entry.append(cause)
                    }
                }
            }
        case .paused: message.append(router.pausesBanners)
        case .degraded: message.append(storage.degradation)
        case .version: message.append(notifydVersion)
        case .device: message.append(router.device)
        case .defaultWindow: message.append(configuration.defaultWindow.millisecondsRoundedUp, as: "u")
        case .pending: message.append(UInt32(clamping: router.undecidedCount), as: "u")
        case .statistics:
            message.appendContainer("a", "{st}") { entries in
                for (name, value) in statistics {
                    entries.appendContainer("e", "st") { entry in
                        entry.append(name)
                        entry.append(value, as: "t")
                    }
                }
            }
        }
    }
}
