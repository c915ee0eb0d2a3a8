import Routing
import Systemd

/// Follows the desktop's own “do not disturb”: a banner that the notification server does not show is not shown.
///
/// `Source` has the ways in which servers say it. A source is only asked, at each sign of a change again, so that
/// nothing in a signal is believed. Without an answer it counts as off: in doubt a banner is shown.
final class DesktopQuiet {
    private static let server = "org.freedesktop.Notifications"
    /// How long an answer may take. The first banners of a server wait for that.
    private static let timeout: Duration = .seconds(2)
    /// How often a server that reports no changes is asked while its “do not disturb” is on.
    private static let interval: Duration = .seconds(5)

    /// Called when it is switched on or off.
    var onChange: (Bool) -> Void = { _ in }

    private let bus: BusConnection
    private let loop: EventLoop
    private var source: Source?
    /// The unique name of the server.
    private var server: String?
    /// The unique name of the owner of `Source.name`, while there is one.
    private var settings: String?
    private var slots: [BusSlot] = []
    private var isOn = false
    /// Whether the server knows only the older question, and reports no changes.
    private var isOld = false
    /// Numbers the questions; only the answer to the latest one counts.
    private var number = 0
    private var timer: EventSource?
    private var child: ChildProcess?
    /// Whether there was a sign of a change while the child was running.
    private var isChildLate = false
    /// What waits until a new server has answered; `nil` after that.
    private var waiting: [() -> Void]?

    init(bus: BusConnection, loop: EventLoop) throws(SystemdError) {
        self.bus = bus
        self.loop = loop
        timer = try loop.timer(.monotonic) { [self] in readState() }
    }

    /// A server has taken the name, or the last one has left (`nil`).
    func follow(_ server: String?) {
        number += 1
        source = nil
        self.server = server
        settings = nil
        slots = []
        isOld = false
        setState(false)
        guard let server else { return }
        waiting = []
        let call = bus.methodCall(
            to: server, path: "/org/freedesktop/Notifications", interface: Self.server, member: "GetServerInformation")
        send(call) { [self] answer in
            guard answer.failure == nil, let name = try? answer.readString(), let source = Source.all[name] else {
                return setState(false)
            }
            self.source = source
            watch(source)
        }
    }

    /// Calls `action` once a new server has said whether it shows banners.
    func whenKnown(_ action: @escaping () -> Void) {
        if waiting == nil { action() } else { waiting?.append(action) }
    }

    /// A banner is due: asks a server that reports no changes. Its answer comes before that to a later question.
    func bannerDue() {
        if isOld { readState() }
    }

    // MARK: Watching

    private func watch(_ source: Source) {
        let sender =
            source.name.map { ExpectedSender.owner(of: $0) { [self] in settings } }
            ?? .owner(of: Self.server) { [self] in server }
        for rule in source.news { retain(try? bus.match(signal: rule, from: sender) { [self] _ in readState() }) }
        guard let name = source.name else { return readState() }
        retain(
            try? bus.matchOwnerChanges("arg0='\(name)'") { [self] _, owner in
                settings = owner
                readState()
            })
        send(bus.busCall("GetNameOwner", about: name)) { [self] answer in
            settings = answer.failure == nil ? try? answer.readString() : nil
            readState()
        }
    }

    /// Where there is no subscription, it is as it was at the beginning.
    private func retain(_ slot: consuming BusSlot?) {
        if let slot { slots.append(slot) }
    }

    // MARK: Asking

    private func readState() {
        guard let source else { return }
        number += 1
        guard let question = isOld ? source.olderQuestion : source.question else { return run(source.program) }
        guard let peer = source.name == nil ? server : settings else { return setState(false) }
        let call = bus.methodCall(to: peer, path: question.path, interface: question.interface, member: question.member)
        for argument in question.arguments { call.append(argument) }
        send(call) { [self] answer in
            guard let failure = answer.failure else { return setState((try? answer.readDoNotDisturb()) ?? false) }
            // A server that hangs has not changed its mind.
            if failure.isTimeout { return setState(isOn) }
            guard source.olderQuestion != nil, !isOld else { return setState(false) }
            isOld = true
            readState()
        }
    }

    /// A program that ends with 0 if it is on. Banners do not wait for it.
    private func run(_ program: [String]) {
        setState(isOn)
        isChildLate = child != nil
        guard child == nil else { return }
        let asked = number
        child = try? ChildProcess.start(program, on: loop) { [self] end in
            child = nil
            if isChildLate { return readState() }
            if asked == number { setState(end == .exited(0)) }
        }
    }

    private func setState(_ isOn: Bool) {
        if isOld, isOn { timer?.arm(at: Clock.monotonic() + Self.interval.microseconds) } else { timer?.disarm() }
        if isOn != self.isOn {
            self.isOn = isOn
            onChange(isOn)
        }
        let actions = waiting.take() ?? []
        for action in actions { action() }
    }

    private func send(_ call: consuming BusMessage, _ answer: @escaping (borrowing BusMessage) -> Void) {
        let asked = number
        bus.call(call, timeout: Self.timeout) { [self] message in if asked == number { answer(message) } }
    }
}

extension DesktopQuiet {
    /// How a notification server says whether its “do not disturb” is on.
    private struct Source {
        struct Question {
            let path: String
            let interface: String
            let member: String
            var arguments: [String] = []
        }

        /// Who is asked, where it is not the server itself.
        var name: String?
        var question: Question?
        /// What older versions are asked, which report no changes.
        var olderQuestion: Question?
        /// What is run instead of asking.
        var program: [String] = []
        /// The signals after which it is asked again.
        let news: [String]

        /// By the name in `GetServerInformation`.
        static let all = [
            "Plasma": property("Inhibited", of: "org.freedesktop.Notifications", at: "/org/freedesktop/Notifications"),
            "dunst": property("paused", of: "org.dunstproject.cmd0", at: "/org/freedesktop/Notifications"),
            "mako": mako, "SwayNotificationCenter": sway, "Xfce Notify Daemon": xfce, "gnome-shell": gnome,
        ]

        private static let properties = "org.freedesktop.DBus.Properties"

        private static func property(_ name: String, of interface: String, at path: String) -> Source {
            Source(
                question: Question(path: path, interface: properties, member: "Get", arguments: [interface, name]),
                news: ["path='\(path)',interface='\(properties)',member='PropertiesChanged',arg0='\(interface)'"])
        }

        /// Modes may have any name; this one is that of its manual page. Before 1.8 there is no property.
        private static var mako: Source {
            let (path, interface) = ("/fr/emersion/Mako", "fr.emersion.Mako")
            var source = property("Modes", of: interface, at: path)
            source.olderQuestion = Question(path: path, interface: interface, member: "ListModes")
            return source
        }

        private static var sway: Source {
            let (path, interface) = ("/org/erikreider/swaync/cc", "org.erikreider.swaync.cc")
            return Source(
                question: Question(path: path, interface: interface, member: "GetDnd"),
                news: ["Subscribe", "SubscribeV2"].map { "path='\(path)',interface='\(interface)',member='\($0)'" })
        }

        private static var xfce: Source {
            let (path, name, property) = ("/org/xfce/Xfconf", "org.xfce.Xfconf", ["xfce4-notifyd", "/do-not-disturb"])
            return Source(
                name: name, question: Question(path: path, interface: name, member: "GetProperty", arguments: property),
                news: ["PropertyChanged", "PropertyRemoved"].map {
                    "path='\(path)',interface='\(name)',member='\($0)',arg0='\(property[0])',arg1='\(property[1])'"
                })
        }

        /// dconf reports changes, and only its library knows the values.
        private static let gnome = Source(
            name: "ca.desrt.dconf",
            program: [
                "sh", "-c",
                "[ \"$(gsettings get org.gnome.desktop.notifications show-banners 2> /dev/null)\" = false ]",
            ],
            news: [
                "interface='ca.desrt.dconf.Writer',member='Notify',"
                    + "arg0path='/org/gnome/desktop/notifications/show-banners'"
            ])
    }
}

extension BusMessage {
    /// A flag, or a list of modes, also in variants.
    fileprivate borrowing func readDoNotDisturb() throws(SystemdError) -> Bool {
        while let (type, contents) = try peek() {
            switch type {
            case "b": return try readBoolean()
            case "v", "a": guard type == "v" || contents == "s", try enter(type, contents) else { return false }
            case "s": if try readString() == "do-not-disturb" { return true }
            default: return false
            }
        }
        return false
    }
}
