import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// A connection says what only the bus, the notification server, logind or the daemon may say. Its signals have a
/// destination, so that no match rule of the bus stops them.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ImpostorTests {
    private let rig: ImpostorRig! = Fixture.current()
    private let impostor: Impostor! = Fixture.current()

    // MARK: As the bus, about the notification server

    @Test(.impostor) func aForgedOwnerOfTheServersNameGetsNoBannerText() async throws {
        let owner = try #require(await impostor.connection.owner(of: NotificationServer.name))
        try await impostor.claimsToOwn(NotificationServer.name, insteadOf: owner, before: rig.daemonName)
        let id = try await rig.client.send("/note/1", title: "For the server only")
        #expect(await rig.listener.resolution(of: id)?.outcome == "shown")
        #expect(await rig.server.banners.next(within: .seconds(5))?.title == "For the server only")
        #expect(impostor.calls.all.isEmpty)
    }

    @Test(.impostor) func aForgedDepartureOfTheServerStopsNoBanner() async throws {
        let owner = try #require(await impostor.connection.owner(of: NotificationServer.name))
        try await impostor.changesOwner(NotificationServer.name, owner, "", before: rig.daemonName)
        #expect(try await rig.client.statistics()["notification-server"] == 1)
        let id = try await rig.client.send("/post/27")
        #expect(await rig.listener.resolution(of: id)?.outcome == "shown")
    }

    // MARK: As the bus, about connections

    @Test(.impostor) func aForgedDepartureClosesNoScreenAndEndsNoHold() async throws {
        let screen = try await rig.client.openScreen("/run")
        let owner = try #require(await rig.client.screens().first?.owner)
        let held = try await rig.client.publish("/post/1", options: PublishOptions(window: .zero))
        _ = try await rig.client.claimProvisionally(held, within: .seconds(60))
        let kept = try await rig.client.publish("/post/2", options: PublishOptions(window: .seconds(2)))
        #expect(try await rig.client.claimProvisionally(kept, within: .seconds(60)) == .suppressed)
        try await impostor.changesOwner(owner, owner, "", before: rig.daemonName)
        #expect(try await rig.client.screens().map(\.owner) == [owner])
        try await rig.client.complete(kept)
        #expect(await rig.listener.resolution(of: kept)?.outcome == "claimed")
        await screen.close()
    }

    @Test(.impostor) func forgedNewsOfItsOwnNameMoveTheDaemonNowhere() async throws {
        for member in ["NameLost", "NameAcquired", "NameLost"] {
            impostor.says(member, of: Bus.interface, at: Bus.path, to: rig.daemonName, [.string(Router.name)])
        }
        try await impostor.changesOwner(Router.name, rig.daemonName, "", before: rig.daemonName)
        let id = try await rig.client.send("/post/27")
        #expect(await rig.listener.resolution(of: id)?.outcome == "shown")
        #expect(rig.daemon.exit == nil)
    }

    /// A bus hands on no such message; should one do so, the sender tells.
    @Test(.impostor) func aForgedDisconnectionEndsNothing() async throws {
        let raw = try RawConnection(rig.bus.address)
        let local = "/org/freedesktop/DBus/Local"
        let message = WireMessage(
            kind: .signal, path: local, interface: "org.freedesktop.DBus.Local", member: "Disconnected",
            destination: rig.daemonName)
        raw.write(message.bytes)
        // The bus hangs up on it, or answers the next call.
        raw.write(WireMessage(serial: 2, member: "ListScreens").bytes)
        _ = try raw.read()
        #expect(try await rig.client.pending() == 0)
        #expect(rig.daemon.exit == nil)
    }

    // MARK: As the notification server

    @Test(.impostor) func whatAStrangerSaysOfABannerIsNotBelieved() async throws {
        let id = try await rig.client.send("/run/r1/cancelled")
        let banner = try #require(await rig.listener.resolution(of: id)?.banner)
        let name = NotificationServer.name
        let path = "/org/freedesktop/Notifications"
        impostor.says("ActivationToken", of: name, at: path, to: rig.daemonName, [.uint32(banner), "token"])
        impostor.says("ActionInvoked", of: name, at: path, to: rig.daemonName, [.uint32(banner), "default"])
        impostor.says("NotificationClosed", of: name, at: path, to: rig.daemonName, [.uint32(banner), .uint32(2)])
        try await impostor.isHeard()
        #expect(try await rig.client.claim(id) == .retracted)
        #expect(await rig.server.closes.next(within: .seconds(5))?.id == banner)
        let words = rig.listener.heard.all.map(\.word)
        #expect(!words.contains { if case .action = $0 { true } else { false } })
    }

    /// The server hangs, and the numbers of calls are easy to guess.
    @Test(.impostor) func aStrangersAnswerIsNotTheServers() async throws {
        rig.server.setMode(.hanging)
        let id = try await rig.client.send("/post/27")
        _ = await rig.server.banners.next(within: .seconds(5))
        var call = Message.call("Notify", of: NotificationServer.name, at: "/", on: NotificationServer.name)
        call.sender = rig.daemonName
        for serial in 1...200 {
            call.serial = UInt32(serial)
            impostor.connection.send(call.reply([.uint32(9)]))
        }
        try await impostor.isHeard()
        #expect(try await rig.client.explain(id).outcome == nil)
        rig.server.setMode(.normal)
        #expect(await rig.listener.resolution(of: id)?.banner == 1)
    }

    @Test func aStrangersAnswerAboutACallerIsNotTheBuss() async throws {
        let policy = "[[policy]]\nallow = [\"control\"]\nuser = 4000000000\n[[policy]]\ndeny = [\"control\"]\n"
        try await withImpostor(configuration: policy) { rig, impostor in
            // The bus answers first or the stranger does; neither way anything is allowed.
            for _ in 1...20 {
                let caller = try await Connection.open(rig.bus.address)
                var question = Message.call("GetConnectionCredentials", of: Bus.interface, at: "/", on: Bus.name)
                question.sender = rig.daemonName
                for serial in 1...200 {
                    question.serial = UInt32(serial)
                    let credentials = ["UnixUserID": Value.uint32(4_000_000_000)]
                    impostor.connection.send(question.reply([.variants(credentials)]))
                }
                let mute = Message.toRouter("Mute", ["/post", .uint32(60)])
                let error = await #expect(throws: NotifyError.self) { try await caller.call(mute) }
                #expect(error?.name == "org.notifyd.Router1.Error.AccessDenied", "\(rig.daemon.log)")
                caller.close()
            }
        }
    }

    // MARK: As logind

    @Test func onlyLogindSpeaksForLogind() async throws {
        try await withPrivateBus { system in
            let login = try await StandInLogind(on: system)
            try await withImpostor(systemBus: system) { rig, _ in
                _ = await login.questions.next(within: .seconds(10))
                let daemon = try #require(login.questions.all.first)
                let asked = login.questions.all.count
                let impostor = try await Impostor(on: system)
                try await impostor.claimsToOwn(StandInLogind.name, insteadOf: login.uniqueName, before: daemon)
                impostor.says(
                    "PropertiesChanged", of: "org.freedesktop.DBus.Properties",
                    at: "/org/freedesktop/login1/session/c1", to: daemon, ["", .variants([:]), .array([], of: .string)])
                impostor.says(
                    "SessionRemoved", of: StandInLogind.manager, at: StandInLogind.path, to: daemon,
                    ["c1", .objectPath("/org/freedesktop/login1/session/c1")])
                try await login.announceSession()
                // What logind says itself is the first that makes the daemon ask again.
                try await rig.until("logind is asked again") { login.questions.all.count == asked + 1 }
                #expect(impostor.calls.all.isEmpty)
                impostor.connection.close()
            }
            login.close()
        }
    }

    // MARK: As the daemon, to the client library

    @Test(.impostor) func theClientLibraryBelievesOnlyTheDaemon() async throws {
        let screen = try await rig.client.openScreen("/run")
        let name = try #require(await rig.client.screens().first?.owner)
        let events = try await rig.client.events(at: "/post")
        try await impostor.claimsToOwn(Router.name, insteadOf: rig.daemonName, before: name)
        impostor.says(
            "Event", of: Router.interface, at: Router.path, to: name,
            ["/post/1", .uint64(1), "forged", "", .variants([:]), .variants([:])])
        let real = try await rig.client.send("/post/2", title: "real")
        var iterator = events.makeAsyncIterator()
        #expect(try await iterator.next()?.id == real)
        #expect(impostor.calls.all.isEmpty)
        await screen.close()
    }

    /// The daemon stands still, and the client waits for its answer.
    @Test(.impostor) func theClientLibraryTakesOnlyTheDaemonsAnswers() async throws {
        let screen = try await rig.client.openScreen("/run")
        let name = try #require(await rig.client.screens().first?.owner)
        rig.daemon.signal(SIGSTOP)
        async let sent = rig.client.send("/post/27")
        var call = Message.toRouter("Send")
        call.sender = name
        for serial in 1...200 {
            call.serial = UInt32(serial)
            impostor.connection.send(call.reply([.uint64(7)]))
        }
        try await impostor.isHeard(by: name)
        rig.daemon.signal(SIGCONT)
        #expect(try await sent.rawValue > 7)
        await screen.close()
    }
}
