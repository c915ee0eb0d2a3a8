import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Who may do what, on a bus without units: a caller is known only by its user. Units and apps have their turn in
/// `Rigs/systemd-user.sh`.
@Suite(.timeLimit(.minutes(1))) struct PolicyTests {
    private let rig: Rig! = Fixture.current()
    private static let me = "user = \(getuid())\n"

    @Test(.rig(configuration: "[[policy]]\ntopic = \"/secret\"\ndeny = [\"claim\"]\n"))
    func theBusIsAskedOnceAboutACallerAndOnlyWhereARuleIsAboutCallers() async throws {
        let (questions, monitor) = try await rig.calls(of: "GetConnectionCredentials", on: Bus.interface)
        let test = try await Connection.open(rig.bus.address)
        defer {
            monitor.close()
            test.close()
        }
        // The monitor sees everything in the order of the bus: a question of our own says that nothing came before
        // it.
        let ask = Message.call(
            "GetConnectionCredentials", of: Bus.interface, at: Bus.path, on: Bus.name, [.string(test.uniqueName)])
        let id = try await rig.client.send("/post/27")
        #expect(try await rig.client.claim(id) == .suppressed)
        _ = try await test.call(ask)
        #expect(await questions.next(within: .seconds(10))?.sender == test.uniqueName)

        try await rig.daemon.reload("[[policy]]\ndeny = [\"control\"]\n\(Self.me)")
        for _ in 1...3 { _ = try await rig.client.send("/post/27") }
        _ = try await test.call(ask)
        let asker = try #require(await questions.next(within: .seconds(10))?.sender)
        #expect(asker != test.uniqueName)
        #expect(await questions.next(within: .seconds(10))?.sender == test.uniqueName)
    }

    @Test(.rig(configuration: "[[policy]]\ntopic = \"/secret\"\ndeny = [\"publish\"]\n\(me)"))
    func whoMayNotPublishIsToldByWhichRule() async throws {
        let refusal = await #expect(throws: NotifyError.self) { try await rig.client.publish("/secret/plan") }
        #expect(refusal?.shortName == "AccessDenied")
        #expect(refusal?.message.contains("config.toml:1: deny publish at or below /secret") == true)
        #expect(refusal?.message.contains("You are user \(getuid())") == true)
        let other = try await rig.outcome(ofEventAt: "/secrets")
        #expect(other == "shown")
        #expect(try await rig.client.statistics()["denied"] == 1)
        #expect(try await rig.client.history("/secret").isEmpty)
    }

    @Test(.rig(configuration: "[[policy]]\ntopic = \"/post\"\ndeny = [\"claim\"]\n\(me)"))
    func whoMayNotClaimKeepsNoBannerAway() async throws {
        let button = BannerOptions(buttons: [.init(key: "yes", label: "Yes")])
        let id = try await rig.client.publish("/post/27", options: PublishOptions(appearance: button))
        await expectDenied { _ = try await rig.client.claim(id) }
        await expectDenied { try await rig.client.press("yes", of: id) }
        await expectDenied { _ = try await rig.client.forget("/") }
        await expectDenied { _ = try await rig.client.claimProvisionally(id, within: .seconds(5)) }
        await expectDenied { _ = try await rig.client.claimTopic("/post/27", grace: .seconds(5)) }
        await expectDenied { _ = try await rig.client.openScreen("/") }
        #expect(await rig.listener.resolution(of: id)?.outcome == "shown")
        #expect(await rig.server.banners.next(within: .seconds(5)) != nil)
        // Late claims are claims too.
        await expectDenied { _ = try await rig.client.claim(id) }
        #expect(rig.server.closes.all.isEmpty)
        let screen = try await rig.client.openScreen("/run")
        #expect(try await rig.outcome(ofEventAt: "/run/r1/cancelled") == "claimed")
        await screen.close()
    }

    @Test func aDeniedClaimOfAnEventOfAnEarlierRunChangesNothing() async throws {
        let route = "[banner]\nmax_per_second = 0\n[[route]]\ntopic = \"/a/{name}\"\ncoalesce = \"route\"\n"
        let rule = "[[policy]]\ntopic = \"/a/secret\"\ndeny = [\"claim\"]\n\(Self.me)"
        try await withRig(configuration: route + rule) { rig in
            let options = PublishOptions(window: .milliseconds(300))
            let secret = try await rig.client.publish("/a/secret", options: options)
            let open = try await rig.client.publish("/a/open", options: options)
            for id in [secret, open] {
                let resolution = await rig.listener.resolution(of: id)
                #expect(resolution?.outcome == "shown")
                #expect(resolution?.banner == 1)
            }
            #expect(await rig.daemon.stop() == .code(0))
            try await rig.daemon.start()
            let remembered = try await rig.client.statistics()["remembered-events"]
            await expectDenied { _ = try await rig.client.claim(secret) }
            await expectDenied { _ = try await rig.client.claimProvisionally(secret, within: .seconds(5)) }
            await expectDenied { try await rig.client.complete(secret) }
            #expect(try await rig.client.statistics()["remembered-events"] == remembered)
            #expect(try await rig.client.explain(secret).outcome == .shown)
            #expect(try await rig.client.claim(open) == .recorded)
            #expect(rig.server.closes.all.isEmpty)

            try await rig.daemon.reload(route)
            #expect(try await rig.client.claim(secret) == .retracted)
            #expect(await rig.server.closes.next(within: .seconds(5))?.id == 1)
        }
    }

    @Test func whoMayNotControlNeitherMutesNorPauses() async throws {
        let rule = "[[policy]]\ntopic = \"/post\"\ndeny = [\"control\"]\n\(Self.me)"
        try await withRig(configuration: rule) { rig in
            await expectDenied { try await rig.client.setPaused(true) }
            await expectDenied { try await rig.client.mute("/post/27", for: .seconds(60)) }
            await expectDenied { try await rig.client.mute("/", for: .seconds(60)) }
            for topic in ["/post/27", "/"] { await expectDenied { _ = try await rig.client.forget(topic) } }
            #expect(try await rig.client.paused() == false)
            try await rig.client.mute("/run", for: .seconds(60))
            #expect(try await rig.outcome(ofEventAt: "/run/r1/cancelled") == "muted")
            #expect(try await rig.outcome(ofEventAt: "/post/27") == "shown")

            try await rig.daemon.reload("[[policy]]\nallow = [\"control\"]\n\(Self.me)" + rule)
            try await rig.client.setPaused(true)
            #expect(try await rig.client.paused())
            #expect(try await rig.outcome(ofEventAt: "/post/28") == "muted")
        }
    }

    @Test(.rig(configuration: "")) func anotherPolicyClosesTheScreensItForbids() async throws {
        let forbidden = try await rig.client.openScreen("/post/27")
        let allowed = try await rig.client.openScreen("/run")
        #expect(try await rig.outcome(ofEventAt: "/post/27") == "claimed")
        try await rig.daemon.reload("[[policy]]\ntopic = \"/post\"\ndeny = [\"claim\"]\n\(Self.me)")
        try await rig.until("only /run is on screen") { try await rig.client.screens().map(\.topic) == ["/run"] }
        #expect(try await rig.outcome(ofEventAt: "/post/27") == "shown")
        #expect(try await rig.outcome(ofEventAt: "/run/r1/cancelled") == "claimed")
        await forbidden.close()
        await allowed.close()
    }

    @Test(.rig(configuration: "[[policy]]\ndeny = [\"control\"]\n")) func aBadRuleLeavesTheOldPolicyInForce()
        async throws
    {
        try rig.daemon.configure("[[policy]]\ndenny = [\"control\"]\n")
        rig.daemon.signal(SIGHUP)
        #expect(await rig.daemon.errors.next(within: .seconds(10)) { $0.contains("config.toml:2:1") } != nil)
        await expectDenied { try await rig.client.setPaused(true) }
    }

    @Test(.rig(configuration: "[[policy]]\ndeny = [\"control\"]\nunit = \"no.service\"\n"))
    func callsOfOneCallerKeepTheirOrderWhileItIsFoundOutWhoItIs() async throws {
        let caller = try await Connection.open(rig.bus.address)
        defer { caller.close() }
        caller.send(oneWay("Send", ["/post/1", "", ""]))
        caller.send(oneWay("Send", ["/post/1", "", ""]))
        let claimed = try await caller.call(.toRouter("ClaimTopic", ["/post", .uint32(0)]))
        #expect(claimed.arguments == [.uint32(2)])
    }

    /// The daemon stands still until the caller is gone, so that nobody can say any more who it was.
    @Test func aCallerThatIsGoneMayOnlyWhatEverybodyMay() async throws {
        let rules = """
            [[policy]]
            topic = "/a"
            deny = ["publish"]
            unit = "no.service"
            [[policy]]
            topic = "/b"
            allow = ["publish"]
            \(Self.me)
            [[policy]]
            topic = "/b"
            deny = ["publish"]

            """
        try await withRig(configuration: rules) { rig in
            let caller = try await Connection.open(rig.bus.address)
            let name = caller.uniqueName
            rig.daemon.signal(SIGSTOP)
            for topic in ["/a", "/b", "/c"] { caller.send(oneWay("Send", [.string(topic), "", ""])) }
            caller.send(oneWay("OpenScreen", ["/c", .variants([:])]))
            try await rig.departure(of: name) { caller.close() }
            rig.daemon.signal(SIGCONT)
            try await rig.until("two calls are denied") { try await rig.client.statistics()["denied"] == 2 }
            let published = try await rig.client.history().map(\.event.topic)
            #expect(published == ["/c"])
            #expect(try await rig.client.screens().isEmpty)
            // It is known about somebody who is there, and the same rules let it.
            for topic in ["/a", "/b"] { #expect(try await rig.outcome(ofEventAt: topic) == "shown") }
        }
    }

    /// What is left of it is a child that has its connection, and whose unit nobody knows.
    @Test(.rig(configuration: "[[policy]]\ntopic = \"/a\"\ndeny = [\"publish\"]\nunit = \"no.service\"\n"))
    func aProcessThatHasEndedHasNoUnitEvenWhereItsConnectionGoesOn() async throws {
        let script = """
            import dbus.bus, os, time
            bus = dbus.bus.BusConnection("\(rig.bus.address)")
            parent = os.getpid()
            if os.fork() > 0: os._exit(0)
            while os.path.exists("/proc/%d" % parent): time.sleep(0.01)
            for topic in ["/b", "/a"]:
                try:
                    bus.call_blocking("org.notifyd.Router1", "/org/notifyd/Router1", "org.notifyd.Router1",
                                      "Send", "sss", [topic, "", ""])
                    print(topic, "published")
                except dbus.DBusException as error:
                    print(topic, error)
            """
        let process = try ChildProcess("/usr/bin/python3", ["-c", script], environment: [:], capturing: [1])
        let said = try #require(await process.allLines(of: 1))
        #expect(said.first == "/b published")
        #expect(said.last?.contains("AccessDenied") == true)
        #expect(said.last?.contains("You are user \(getuid()), unit unknown, app unknown") == true, "\(said)")
        #expect(try await rig.outcome(ofEventAt: "/a") == "shown")
    }

    @Test(.rig(configuration: "[[policy]]\ndeny = [\"control\"]\n\(me)")) func onlySoManyCallsWait() async throws {
        let caller = try await Connection.open(rig.bus.address)
        let (calls, monitor) = try await rig.calls(of: "Unread")
        defer {
            caller.close()
            monitor.close()
        }
        // It stands still until all of them are on the bus, and so ahead of the answer about who makes them.
        rig.daemon.signal(SIGSTOP)
        for _ in 1...10_000 { caller.send(oneWay("Unread", ["/"])) }
        let last = Task { try await caller.call(.toRouter("Unread", ["/"])) }
        try await rig.until("all calls are on the bus") { calls.all.count == 10_001 }
        rig.daemon.signal(SIGCONT)
        #expect(await refusal { try await last.value }?.shortName == "LimitExceeded")
        try await rig.until("those that wait are handled") {
            (try? await caller.call(.toRouter("Unread", ["/"])))?.arguments == [.uint32(0)]
        }
    }

    // MARK: Helpers

    private func oneWay(_ member: String, _ arguments: [Value]) -> Message {
        var message = Message.toRouter(member, arguments)
        message.expectsReply = false
        return message
    }

    private func expectDenied(_ body: () async throws -> Void) async {
        #expect(await refusal(of: body)?.shortName == "AccessDenied")
    }
}
