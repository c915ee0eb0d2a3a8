import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// What people get wrong, and what others do on purpose.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct LinkFaultTests {
    private let rig: LinkRig! = Fixture.current()
    private static let silent = PublishOptions(banner: false)

    @Test(.link) func whatNotifydNeverTakesIsADeadLetter() async throws {
        try rig.two.daemon.configure("[[policy]]\ntopic = \"/secret\"\ndeny = [\"publish\"]\n")
        rig.two.daemon.signal(SIGHUP)
        try await rig.two.until("the policy is in force") {
            do throws(NotifyError) {
                try await rig.two.client.publish("/secret/probe", options: Self.silent)
                return false
            } catch {
                return true
            }
        }
        try await rig.one.client.publish("/secret/plan", title: "not here", options: Self.silent)
        try await rig.one.client.publish("/post/27", title: "one", options: Self.silent)
        // It holds up nothing.
        try await rig.two.hears("one")
        try await rig.two.until("DeadLetters", is: 1)
        #expect(!rig.two.bridge.log.contains("not here"), "the log has the title of an event")
    }

    /// A cloned disk: the state of the daemon and of the bridge.
    @Test(.link(isStarted: false)) func twoMachinesWithOneDeviceBothStop() async throws {
        try await rig.one.bridge.start()
        await rig.two.daemon.stop()
        try await runToEnd(
            "/bin/cp", ["-a", rig.one.daemon.folder.path + "/state/.", rig.two.daemon.folder.path + "/state/"])
        try await rig.two.daemon.start()
        #expect(try await rig.one.client.device() == rig.two.client.device())
        try rig.two.bridge.launch()
        for device in rig.devices {
            try await device.until(state: "failed", within: .seconds(60))
            #expect(try await device.bridge.property("Detail")?.string?.contains("notifyctl link reset") == true)
        }
    }

    @Test(.link) func aNewJournalIsANewDevice() async throws {
        try await rig.two.client.publish("/post/27", title: "before", options: Self.silent)
        try await rig.one.hears("before")
        let before = try await rig.two.client.device()
        await rig.two.daemon.stop()
        try await runToEnd("/bin/rm", ["-rf", rig.two.daemon.folder.path + "/state/notifyd"])
        try await rig.two.daemon.start()
        let after = try await rig.two.client.device()
        #expect(after != before)
        // What is published before it has joined is not said.
        try await rig.one.sees(device: after)
        try await rig.two.client.publish("/post/27", title: "after", options: Self.silent)
        try await rig.one.hears("after")
        // It was not there before, and begins with the present.
        try await rig.two.until("the other is online") { try await rig.two.isOnline("desk") }
        try await rig.one.client.publish("/post/27", title: "back", options: Self.silent)
        try await rig.two.hears("back")
        #expect(try await rig.two.titles() == ["after", "back"])
        #expect(try await rig.one.titles() == ["before", "after", "back"])
    }

    @Test(.link) func aReloadTakesTheNewConfiguration() async throws {
        try rig.one.bridge.configure(LinkRig.configuration(rig.broker, "table", link: "skip = [\"/local\"]"))
        rig.one.bridge.signal(SIGHUP)
        try await rig.two.until("its name has changed") { try await rig.two.isOnline("table") }
        try await rig.one.client.publish("/local/1", title: "local", options: Self.silent)
        try await rig.one.client.publish("/post/27", title: "one", options: Self.silent)
        try await rig.two.hears("one")
        #expect(try await rig.two.titles() == ["one"])
    }

    @Test(.link(1, isStarted: false)) func aKeyThatIsNoneIsShown() async throws {
        try rig.one.bridge.writeSecret("secret", to: "link.key")
        try rig.one.bridge.launch()
        try await rig.one.until(state: "failed")
        #expect(try await rig.one.bridge.property("Detail")?.string?.contains("32 bytes in Base64") == true)
        #expect(!rig.one.bridge.log.contains("secret\""))
        // It needs no restart.
        try rig.one.bridge.writeSecret(LinkRig.key, to: "link.key")
        try await rig.one.until(state: "connected", within: .seconds(40))
    }

    /// The keys are changed one device after the other: accept, seal, refuse.
    @Test func keysAreChangedWithoutALoss() async throws {
        let new = "//////////////////////////////////////////8="
        try await withLink { rig in
            var expected: [String] = []
            func say(_ title: String) async throws {
                try await rig.one.client.publish("/post/27", title: title, options: Self.silent)
                try await rig.two.client.publish("/post/27", title: title + " too", options: Self.silent)
                for device in rig.devices {
                    try await device.hears(title)
                    try await device.hears(title + " too")
                }
                expected += [title, title + " too"]
            }
            try await say("before")
            for (key, accept) in [(LinkRig.key, new), (new, LinkRig.key), (new, nil)] {
                for device in rig.devices {
                    try device.bridge.writeSecret(key, to: "link.key")
                    if let accept { try device.bridge.writeSecret(accept, to: "other.key") }
                    let link = accept == nil ? "" : "accept = { file = \"other.key\" }"
                    try device.bridge.configure(LinkRig.configuration(rig.broker, device.name, link: link))
                    await device.bridge.stop()
                    try await device.bridge.start()
                }
                try await say("\(expected.count)")
            }
            for device in rig.devices { #expect(try await device.titles().sorted() == expected.sorted()) }
        }
    }

    /// What everybody on the way sees: neither topics nor texts.
    @Test(.link) func theBrokerReadsNothingOfASealedLink() async throws {
        let witness = try ChildProcess(
            "/usr/bin/mosquitto_sub", ["--unix", rig.broker.socket, "-q", "1", "-v", "-t", "#"],
            environment: ["PATH": "/usr/bin:/bin"], capturing: [1])
        defer { witness.signal(SIGKILL) }
        // What is retained comes first: then it listens.
        #expect(await witness.lines(of: 1).next(within: .seconds(10)) != nil)
        try await rig.one.client.publish("/post/27", title: "whisper", options: Self.silent)
        try await rig.two.hears("whisper")
        #expect(await witness.lines(of: 1).next(within: .seconds(10)) { $0.contains("/s/") } != nil)
        let everything = witness.lines(of: 1).all.joined()
        for word in ["whisper", "post", "desk", "laptop"] { #expect(!everything.contains(word), "\(word)") }
    }
}
