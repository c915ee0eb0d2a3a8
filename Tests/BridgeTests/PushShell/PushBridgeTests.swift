import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import NotifyText
import Testing

/// The bridge between a distributor and a real notifyd.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct PushBridgeTests {
    private let stage: PushStage! = Fixture.current()

    @Test(.pushStage) func aPushBecomesAnEvent() async throws {
        try stage.configure("[[map]]\nendpoint = \"chat\"\ntitle = \"{{who}}: {{text}}\"\nbelow = \"{{room}}\"\n")
        // The command starts the bridge, and the bridge the distributor.
        let post = try await stage.create("post", "/post")
        #expect(post.endpoint.hasPrefix("https://push.example/") && post.json["state"]?.string == "registered")
        #expect(post.publicKey.utf8.count == 87 && post.auth.utf8.count == 22)
        let chat = try await stage.create("chat", "/chat", vapid: "none")
        try await stage.waitFor("connected", "2 endpoints")

        try await stage.send(
            #"{"title": "Nice!", "body": "Mina", "topic": "27", "urgency": "high", "fields": {"n": 7}}"#, to: post)
        try await stage.send("Hello\nthere", to: post)
        try await stage.send(#"{"who": "Mina", "text": "Hi", "room": "garden"}"#, to: chat)
        try await stage.waitForAcknowledgements(3)
        let rows = try await stage.client.journalChanges().changes.filter { $0.kind == "event" }
        #expect(rows.map(\.topic) == ["/post/27", "/post", "/chat/garden"])
        #expect(rows.map { $0.details["title"]?.string } == ["Nice!", "Hello", "Mina: Hi"])
        #expect(rows.map { $0.details["body"]?.string } == ["Mina", "there", ""])
        #expect(rows[0].details["urgency"]?.integer() == 2 && rows[0].details["via"]?.string == "unifiedpush")
        #expect(rows[0].details["fields"]?.entries?["n"]?.integer() == 7)
        #expect(rows[0].details["source"]?.string?.hasPrefix("unifiedpush:post:") == true)

        // The distributor was given what the specification asks for.
        let clients = try #require(try await stage.distributorState()["clients"]?.members)
        #expect(clients.allSatisfy { $0.0.utf8.count <= 100 && $0.1["service"]?.string == PushStage.connector })
        let keys = clients.compactMap { $0.1["vapid"]?.string }
        #expect(keys.map(\.utf8.count).sorted() == [0, 87])
        #expect(keys.contains(post.json["vapid"]?["public"]?.string ?? "-"))

        // What is delivered twice is one event, also with the bytes of one message under another id.
        try await stage.ask("Replay")
        try await stage.waitForAcknowledgements(3)
        #expect(try await stage.titles().count == 3)

        let list = try await stage.notifyctl("push-endpoint", "list")
        #expect(list.output.count == 2 && list.output[1].hasPrefix("post  /post  registered"), "\(list)")
        let shown = try await stage.notifyctl("push-endpoint", "show", "post")
        #expect(shown.output.contains { $0.contains(post.auth) }, "\(shown)")
        #expect(try await stage.notifyctl("push-endpoint", "show", "x").code == 1)
        #expect(try await stage.notifyctl("push-endpoint", "create", "post", "--topic", "/x").code == 1)
        #expect(try await stage.notifyctl("push-endpoint", "create", "a b", "--topic", "/x").code == 65)
        #expect(try await stage.notifyctl("push-endpoint", "create", "a", "--topic", "x").code == 65)
        #expect(
            try await stage.notifyctl("push-endpoint", "create", "a", "--topic", "/x", "--vapid", "k").code == 65)

        // A sender with a key of its own signs with it, also where it tries.
        let key = post.json["vapid"]?["public"]?.string ?? ""
        let theirs = try await stage.notifyctl(
            "push-endpoint", "create", "theirs", "--topic", "/theirs", "--vapid", key)
        #expect(theirs.output.last?.contains(#"vapid_private_key="private_key.pem""#) == true, "\(theirs)")
        #expect(try await stage.notifyctl("push-endpoint", "remove", "theirs").code == 0)

        let removed = try await stage.notifyctl("push-endpoint", "remove", "chat")
        #expect(removed.code == 0)
        try await eventually("the distributor has heard of it") {
            try await stage.distributorState()["clients"]?.members?.count == 1 ? true : nil
        }
        #expect(!stage.log.contains(post.auth) && !stage.log.contains("Nice!"))
    }

    @Test(.pushStage) func whatCannotBecomeAnEventIsADeadLetter() async throws {
        let post = try await stage.create("post", "/post")
        // Encrypted for others, no encryption at all, no text, a topic that is none.
        let other = try await stage.create("other", "/other")
        try await stage.ask(
            "Send", [post.endpoint, other.publicKey, other.auth, "secret"].map(Value.string))
        let bytes = Value.bytes(Array("Hello".utf8))
        try await stage.ask("Push", [.string(post.endpoint), bytes, .boolean(false)])
        // A distributor that gives rubbish does not stop the bridge.
        let long = Value.bytes(Array(repeating: 7, count: 8_000_000))
        try await stage.ask("Push", [.string(post.endpoint), long, .boolean(false)])
        try await stage.send("", to: post)
        try await stage.send(#"{"title": "a", "topic": "*"}"#, to: post)
        try await stage.send("good", to: post)
        try await stage.waitForAcknowledgements(6)
        #expect(try await stage.titles() == ["good"])
        try await eventually("they are counted") {
            await stage.property("DeadLetters")?.integer() == 5 ? true : nil
        }
        let letters = try await stage.notifyctl("bridges", "unifiedpush", "--dead-letters", "--json=short")
        #expect(letters.output.count == 5)
        #expect(letters.output.contains { $0.contains("4096") }, "\(letters)")
        #expect(letters.output.contains { $0.contains("encrypted for other keys") }, "\(letters)")
        #expect(letters.output.contains { $0.contains("ends within its header") }, "\(letters)")
    }

    /// Every program on the bus may send calls, and some could learn a token.
    @Test(.pushStage(distributors: [PushStage.distributor, PushStage.other])) func onlyTheDistributorIsBelieved()
        async throws
    {
        try stage.configure("distributor = \"\(PushStage.distributor)\"\n")
        let post = try await stage.create("post", "/post")
        let token = try #require(try await stage.distributorState()["clients"]?.members?.first?.0)
        let forger = try await Connection.open(stage.bus.address)
        defer { forger.close() }
        for name in [nil, PushStage.other] {
            // Another distributor is as little believed as anybody.
            if let name { try await forger.requestName(name) }
            for member in ["Message", "NewEndpoint", "Unregistered"] {
                let arguments: [String: Value] = [
                    "token": .string(token), "endpoint": "https://evil.example/",
                    "message": .array([.byte(1)], of: .byte),
                ]
                await #expect { () async throws -> Void in
                    _ = try await forger.call(
                        .call(
                            member, of: "org.unifiedpush.Connector2", at: "/org/unifiedpush/Connector",
                            on: PushStage.connector, [.variants(arguments)]))
                } throws: { error in
                    (error as? NotifyError)?.name == "org.freedesktop.DBus.Error.AccessDenied"
                }
            }
        }
        try await stage.send("good", to: post)
        try await stage.waitForAcknowledgements(1)
        let shown = try await stage.notifyctl("push-endpoint", "show", "post", "--json=short")
        #expect(shown.output.first?.contains(post.endpoint) == true)
        #expect(await stage.property("DeadLetters")?.integer() == 0)
    }

    @Test(.pushStage) func theBusStartsIt() async throws {
        let post = try await stage.create("post", "/post")
        await stage.kill(PushStage.bridge)
        try await stage.send("one", to: post)
        try await stage.waitForAcknowledgements(1)
        // A stop is answered before the name is given away, and nothing is lost over it.
        await stage.kill(PushStage.bridge, SIGTERM)
        await stage.kill(PushStage.distributor)
        try await stage.send("two", to: post)
        try await stage.waitFor(["one", "two"])
        try await stage.waitFor("connected")
        #expect(try await stage.notifyctl("push-endpoint", "list").output.count == 1)

        // Somebody may have stopped the distributor: it is not started again at once, and registered with when it
        // is back.
        await stage.kill(PushStage.distributor, SIGTERM)
        try await stage.waitFor("waiting", "has ended")
        try await stage.start(PushStage.distributor)
        try await stage.waitFor("connected", "1 endpoint")

        let text = try await stage.connection.call(
            .call(
                "Introspect", of: "org.freedesktop.DBus.Introspectable", at: "/org/notifyd/Bridge1",
                on: PushStage.bridge)
        ).arguments.first?.string
        let own = try interfaceMembers(of: "org.notifyd.Push1", in: try #require(text))
        let contract = try Project.text("systemd/org.notifyd.Push1.xml")
        #expect(try own == interfaceMembers(of: "org.notifyd.Push1", in: contract) && own.count == 5)
    }

    @Test(.pushStage) func theDistributorMayBeAwayOrRude() async throws {
        try await stage.start(PushStage.distributor)
        try await stage.ask("Refuse", ["NETWORK"])
        let waiting = try await stage.create("post", "/post")
        #expect(waiting.endpoint.isEmpty && waiting.json["state"]?.string == "waiting")
        try await stage.waitFor("waiting", "no network")
        try await stage.ask("Refuse", ["ACTION_REQUIRED"])
        try await stage.waitFor("failed", "needs you")
        try await stage.ask("Refuse", [""])
        try await stage.waitFor("connected", "1 endpoint")

        // A new address is told.
        let before = try await stage.create("a", "/a")
        try await stage.ask("Move")
        try await eventually("the address is another one") {
            let shown = try await stage.notifyctl("push-endpoint", "show", "a", "--json=short")
            return shown.output.first?.contains(before.endpoint + "\"") == false ? true : nil
        }
        let list = try await stage.notifyctl("push-endpoint", "list")
        #expect(list.output.allSatisfy { $0.contains("new address since") }, "\(list)")

        // One that senders cannot use is told, and waited for no longer.
        try await stage.ask("Serve", ["ftp://push.example"])
        let bad = try await stage.notifyctl("push-endpoint", "create", "bad", "--topic", "/bad", "--json=short")
        #expect(bad.output.first?.contains("none of https://") == true, "\(bad)")
        try await stage.ask("Serve", ["https://push.example/Test"])
        #expect(try await stage.notifyctl("push-endpoint", "remove", "bad").code == 0)
    }

    /// The pause before it is short, since nothing has failed before.
    @Test(.pushStage) func aRegistrationThatTheUserHasEndedComesBack() async throws {
        try await stage.start(PushStage.distributor)
        for name in ["post", "a"] { _ = try await stage.create(name, "/\(name)") }
        try await stage.waitFor("connected", "2 endpoints")
        try await stage.ask("Drop")
        try await eventually("its log says so") {
            stage.log.contains("has unregistered an endpoint") ? true : nil
        }
        try await stage.waitForClients(2, of: PushStage.distributor)
        try await stage.waitFor("connected", "2 endpoints")
    }

    @Test func ofSeveralDistributorsOneIsChosen() async throws {
        try await withPushStage(distributors: [PushStage.distributor, PushStage.other]) { stage in
            let post = try await stage.create("post", "/post")
            #expect(post.json["state"]?.string == "failed", "\(post.json)")
            try await stage.waitFor("failed", "several distributors")
            try await stage.reconfigure("distributor = \"\(PushStage.distributor)\"\n")
            try await stage.waitFor("connected", PushStage.distributor)
        }
        try await withPushStage(distributors: []) { stage in
            let post = try await stage.create("post", "/post")
            #expect(post.json["state"]?.string == "waiting")
            try await stage.waitFor("waiting", "no distributor")
        }
    }

    /// Its sender knows an address of one distributor: another one is taken only where the user says so.
    @Test(.pushStage) func anEndpointStaysWithItsDistributor() async throws {
        let post = try await stage.create("post", "/post")
        try await stage.uninstall(PushStage.distributor)
        try await stage.install(PushStage.other)
        try await stage.start(PushStage.other)
        for isRestarted in [false, true] {
            if isRestarted {
                await stage.kill(PushStage.bridge)
                try await stage.start()
            }
            try await stage.waitFor("waiting", "is away")
            let list = try await stage.notifyctl("push-endpoint", "list", "--json=short").output.first
            #expect(list?.contains(post.endpoint + "\"") == true && list?.contains("waiting") == true)
        }
        // One that cannot be had changes nothing either.
        try await stage.reconfigure("distributor = \"org.unifiedpush.Distributor.Nobody\"\n")
        try await stage.waitFor("waiting", "is it installed")
        #expect(try await stage.distributorState(PushStage.other)["clients"]?.members?.isEmpty == true)

        try await stage.reconfigure("")
        let moved = try await stage.notifyctl("push-endpoint", "move", "post", "--json=short")
        #expect(moved.code == 0 && moved.output.first?.contains("push.example/Other/") == true, "\(moved)")
        let list = try await stage.notifyctl("push-endpoint", "list")
        #expect(list.output.first?.contains("new address since") == true, "\(list)")
        try await stage.waitForClients(1, of: PushStage.other)

        // The one that was away is told, and does not get it back.
        try await stage.install(PushStage.distributor)
        try await stage.start(PushStage.distributor)
        try await stage.waitForClients(0, of: PushStage.distributor)
        try await stage.waitFor("connected", PushStage.other)
        let refused = try await stage.notifyctl("push-endpoint", "move", "post")
        #expect(refused.code == 77 && refused.errors.joined().contains("is installed"), "\(refused)")

        // The configuration moves it.
        try await stage.reconfigure("distributor = \"\(PushStage.distributor)\"\n")
        try await stage.waitForClients(1, of: PushStage.distributor)
        try await stage.waitForClients(0, of: PushStage.other)
        try await stage.waitFor("connected", PushStage.distributor)
        let shown = try await stage.notifyctl("push-endpoint", "show", "post", "--json=short").output.first
        #expect(shown?.contains("push.example/Test/") == true && shown?.contains(post.publicKey) == true)
    }
}
