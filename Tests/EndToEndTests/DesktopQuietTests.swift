import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Synchronization
import Testing

/// The desktop's own “do not disturb” with stand-ins for notification servers, written after their sources. The rig
/// `do-not-disturb.sh` does the same with real ones.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct DesktopQuietTests {
    private let stage: BannerStage! = Fixture.current()
    private let rig: Rig! = Fixture.current()

    /// A notification server with a “do not disturb”.
    final class StandIn: Sendable {
        enum Kind: String, CaseIterable, Sendable {
            case plasma = "Plasma"
            case dunst
            case mako
            case sway = "SwayNotificationCenter"

            /// What its clients ask for: interface, path, member.
            var question: (interface: String, path: String, name: String) {
                switch self {
                case .plasma: ("org.freedesktop.Notifications", "/org/freedesktop/Notifications", "Inhibited")
                case .dunst: ("org.dunstproject.cmd0", "/org/freedesktop/Notifications", "paused")
                case .mako: ("fr.emersion.Mako", "/fr/emersion/Mako", "Modes")
                case .sway: ("org.erikreider.swaync.cc", "/org/erikreider/swaync/cc", "GetDnd")
                }
            }
        }

        private let kind: Kind
        private let connection: Connection
        private let isOn: Mutex<Bool>
        let titles = Mailbox<String>()

        init(_ kind: Kind, on bus: PrivateBus, isOn: Bool = false) async throws {
            self.kind = kind
            self.isOn = Mutex(isOn)
            connection = try await Connection.open(bus.address)
            connection.export(NotificationServer.name) { [self] call in
                switch call.message.member {
                case "GetServerInformation": call.reply([.string(kind.rawValue), "nobody", "1", "1.2"])
                case "GetCapabilities": call.reply([.array([], of: .string)])
                case "Notify":
                    titles.put(call.message.arguments[3].string ?? "")
                    call.reply([.uint32(UInt32(titles.all.count))])
                default: call.reply()
                }
            }
            connection.export("org.freedesktop.DBus.Properties") { [self] call in
                let asked = call.message.arguments.map(\.string)
                guard call.message.path == kind.question.path, asked == [kind.question.interface, kind.question.name]
                else { return call.fail("org.freedesktop.DBus.Error.UnknownProperty", "There is no such property.") }
                call.reply([.variant(value)])
            }
            if kind == .sway {
                connection.export(kind.question.interface) { [self] call in
                    guard call.message.member == kind.question.name else { return call.reply() }
                    call.reply([value])
                }
            }
            try await connection.requestName(NotificationServer.name)
        }

        private var value: Value {
            let isOn = isOn.withLock { $0 }
            guard kind == .mako else { return .boolean(isOn) }
            return .array(isOn ? ["default", "do-not-disturb"] : ["default"], of: .string)
        }

        func set(_ isOn: Bool) {
            self.isOn.withLock { $0 = isOn }
            let (interface, path, name) = kind.question
            switch kind {
            case .sway:
                connection.send(
                    .signal("SubscribeV2", of: interface, at: path, [.uint32(0), .boolean(isOn), false, false]))
            case .plasma, .dunst, .mako:
                connection.send(
                    .signal(
                        "PropertiesChanged", of: "org.freedesktop.DBus.Properties", at: path,
                        [.string(interface), .variants([name: value]), .array([], of: .string)]))
            }
        }

        func close() { connection.close() }
    }

    @Test(.bannerStage, arguments: StandIn.Kind.allCases)
    func itIsFollowedAndOnlyWhatIsCriticalComesThrough(_ kind: StandIn.Kind) async throws {
        // It is on before notifyd hears of the server.
        let waiting = try await stage.client.publish("/a", title: "waiting")
        let server = try await StandIn(kind, on: stage.bus, isOn: true)
        #expect(try await stage.outcome(of: waiting).kind == "muted")
        #expect(try await stage.client.quiet() == [Quiet(topic: "/", cause: .desktop)])
        #expect(try await stage.client.explain(waiting).reason == "The desktop's own “do not disturb” was on.")
        let critical = try await stage.client.publish(
            "/a", title: "critical", options: PublishOptions(urgency: .critical))
        #expect(try await stage.outcome(of: critical).kind == "shown")
        #expect(try await stage.client.explain(critical).reason.hasSuffix("was on. It is critical."))
        server.set(false)
        try await stage.until("it is off") { try await stage.client.quiet().isEmpty }
        let shown = try await stage.client.publish("/b", title: "shown")
        #expect(try await stage.outcome(of: shown).kind == "shown")
        server.set(true)
        try await stage.until("it is on") { try await stage.client.quiet().map(\.cause) == [.desktop] }
        let own = try await stage.client.publish("/c", options: PublishOptions(ownBanner: true))
        #expect(try await stage.outcome(of: own).kind == "shown")
        #expect(server.titles.all == ["critical", "shown"])
        // With the server it is gone.
        server.close()
        try await stage.until("it is over") { try await stage.client.quiet().isEmpty }
    }

    @Test(.rig) func itIsSwitchedOffWhereItIsSwitchedOn() async throws {
        rig.server.stop()
        let connection = try await Connection.open(rig.bus.address)
        try await rig.until("the name is free") {
            try await connection.owner(of: NotificationServer.name) == nil
        }
        connection.close()
        let server = try await StandIn(.plasma, on: rig.bus, isOn: true)
        try await rig.until("it is on") { try await rig.client.quiet().map(\.cause) == [.desktop] }
        for refused in [
            try await rig.run("resume"), try await rig.run("resume", "/"), try await rig.run("mute", "/", "0"),
        ] {
            #expect(refused.exit == .code(77))
            #expect(refused.errors.joined().contains("switch it off there"), "\(refused.errors)")
        }
        #expect(try await rig.run("quiet").output == ["/  until it is switched off there  desktop"])
        #expect(try await rig.run("status").output.contains { $0.contains("held back by “do not disturb”") })
        // What is notifyd's own is ended all the same.
        #expect(try await rig.run("pause").exit == .code(0))
        let resumed = try await rig.run("resume")
        #expect(resumed.exit == .code(0))
        #expect(resumed.output.joined().contains("switch it off there"), "\(resumed.output)")
        #expect(try await !rig.client.paused())
        server.close()
    }
}
