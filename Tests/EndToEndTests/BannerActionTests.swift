import Foundation
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Buttons: when a banner has them, and what pressing them does.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct BannerActionTests {
    private let stage: BannerStage! = Fixture.current()

    @Test(.bannerStage) func aButtonIsRelayedWithTheNewestEventOfItsBannerAndClosesIt() async throws {
        let server = try await stage.server()
        let first = try await stage.invite(from: "Mina")
        let banner = try await stage.banner(on: server)
        #expect(banner.actions == ["accept", "Join", "decline", "Decline"])
        #expect(try await stage.outcome(of: first).kind == "shown")
        let second = try await stage.invite(from: "영희")
        #expect(try await stage.outcome(of: second).count == 2)
        server.invoke("accept", on: banner.id)
        #expect(try await stage.action() == ["/run/r1/invite", .uint64(second.rawValue), "accept"])
        #expect(try await stage.outcome(of: first).kind == "dismissed")
        #expect(try await stage.outcome(of: second).kind == "dismissed")
        #expect(try await stage.close(on: server) == banner.id)
        #expect(try await stage.client.explain(first).action == nil)
        let explanation = try await stage.client.explain(second)
        #expect(explanation.action == "accept")
        #expect(explanation.reason == "It was shown, and the user pressed the button “accept”.")
    }

    @Test func aResidentBannerStaysUpWhenItsButtonIsPressed() async throws {
        let route = """
            [[route]]
            topic = "/note/{id}"
            resident = true
            actions = [ { key = "next", label = "Next" } ]
            """
        try await withBannerStage(route) { stage in
            let server = try await stage.server()
            let id = try await stage.client.send("/note/1", title: "one")
            #expect(try await stage.banner(on: server).hints["resident"] == .boolean(true))
            _ = try await stage.outcome(of: id)
            for _ in 1...2 {
                server.invoke("next", on: 1)
                #expect(try await stage.action() == ["/note/1", .uint64(id.rawValue), "next"])
            }
            #expect(server.closes.all.isEmpty)
            #expect(try await stage.client.claim(id) == .retracted)
        }
    }

    @Test(.bannerStage) func buttonsFollowWhatTheServerCanDoAtTheMoment() async throws {
        let server = try await stage.server(capabilities: ["body"])
        for (capabilities, buttons) in [(["body"], 0), (["body", "actions"], 4), (["body"], 0)] {
            server.setCapabilities(capabilities)
            _ = try await stage.invite(from: "Mina")
            #expect(try await stage.banner(on: server).actions.count == buttons)
        }
    }

    // MARK: Commands

    @Test func aCommandGetsTheEventInItsEnvironmentAndNoShell() async throws {
        let route = #"""
            [[route]]
            topic = "/note/{id}"
            resident = true
            actions = [
                { key = "tell", label = "Tell", exec = ["/bin/sh", "-c", "env | grep '^NOTIFYD_' | sort >&2; \#
                echo that is all >&2"] },
                { key = "say", label = "Say", exec = ["python3", "-c", "import sys; sys.stderr.write(sys.argv[1] + \#
                '\\n')", "$(touch x) ; $HOME *"] },
            ]
            """#
        try await withBannerStage(route) { stage in
            let server = try await stage.server()
            let trap = stage.daemon.folder.path + "/touched"
            let id = try await stage.client.publish(
                "/note/1", title: "$(touch \(trap))", body: "`touch \(trap)`; touch \(trap)",
                fields: ["from": .string("$(touch \(trap))"), "run-number": .uint32(7), "영희": "x", "b": .boolean(true)])
            _ = try await stage.outcome(of: id)
            server.invoke("tell", on: 1)
            try await stage.logged("that is all")
            // The rehearsal passes this one on, so that the programs know of a sanitizer.
            let told = stage.daemon.errors.all.filter {
                $0.hasPrefix("NOTIFYD_") && !$0.hasPrefix("NOTIFYD_TIMEOUT_FACTOR=")
            }
            #expect(
                told == [
                    "NOTIFYD_ACTION=tell", "NOTIFYD_BODY=`touch \(trap)`; touch \(trap)", "NOTIFYD_FIELD_B=true",
                    "NOTIFYD_FIELD_FROM=$(touch \(trap))", "NOTIFYD_FIELD_ID=1", "NOTIFYD_FIELD_RUN_NUMBER=7",
                    "NOTIFYD_FIELD___=x",
                    "NOTIFYD_ID=\(id)", "NOTIFYD_SUMMARY=$(touch \(trap))",
                    "NOTIFYD_TEXT=`touch \(trap)`; touch \(trap)", "NOTIFYD_TITLE=$(touch \(trap))",
                    "NOTIFYD_TOPIC=/note/1",
                ])
            server.invoke("say", on: 1)
            try await stage.logged("$(touch x) ; $HOME *")
            #expect(!FileManager.default.fileExists(atPath: trap))
        }
    }

    @Test func commandsThatFailAreLoggedAndAllAreReaped() async throws {
        let route = """
            [[route]]
            topic = "/note/{id}"
            resident = true
            actions = [
                { key = "missing", label = "1", exec = ["/nowhere/program", "argument"] },
                { key = "failing", label = "2", exec = ["sh", "-c", "exit 3"] },
                { key = "killed", label = "3", exec = ["sh", "-c", "kill -9 $$"] },
                { key = "fine", label = "4", exec = ["sh", "-c", "echo a fine command >&2"] },
            ]
            """
        try await withBannerStage(route) { stage in
            let server = try await stage.server()
            _ = try await stage.outcome(of: try await stage.client.send("/note/1", title: "one"))
            for (action, line) in [
                ("missing", "could not be started: action=missing command=/nowhere/program error=posix_spawnp"),
                ("failing", "The command of a button failed: action=failing command=sh end=exit code 3"),
                ("killed", "The command of a button failed: action=killed command=sh end=signal 9"),
                ("fine", "a fine command"),
            ] {
                server.invoke(action, on: 1)
                try await stage.logged(line)
            }
            try await stage.until("failed-commands", is: 3)
            let daemon = try #require(stage.daemon.identifier)
            try await stage.until("no command is left, not even as a zombie") { children(of: daemon).isEmpty }
        }
    }

    /// The processes a process has started, in whatever state.
    private func children(of parent: Int32) -> [String] {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return processes.filter { process in
            guard Int32(process) != nil,
                let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
            else { return false }
            // PID (NAME) STATE PPID …, and the name may hold anything.
            let words = status.split(separator: ")").last?.split(separator: " ") ?? []
            return words.count > 1 && words[1] == "\(parent)"
        }
    }

    // MARK: Commands as units

    private static let managed = ["NOTIFY_SOCKET": "/nowhere/notify"]
    private static let speaking = """
        [[route]]
        topic = "/note/{id}"
        actions = [ { key = "speak", label = "Speak", exec = ["sh", "-c", "echo it speaks >&2"] } ]
        """

    @Test(.bannerStage(speaking, environment: managed)) func withoutTheManagerOnItsBusNotifydStartsTheCommandItself()
        async throws
    {
        let server = try await stage.press("speak")
        try await stage.logged("it speaks")
        server.stop()
    }

    @Test(.bannerStage(speaking, environment: managed)) func aCommandTakesTheFirstUnitThatIsFreeOfSixteen() async throws
    {
        let calls = Mailbox<Message>()
        let manager = try await stage.manager { call in
            calls.put(call.message)
            call.fail("org.freedesktop.systemd1.UnitExists", "It is running.")
        }
        let server = try await stage.press("speak")
        try await stage.logged("Too many commands of buttons are running")
        #expect(calls.all.map { $0.arguments.first?.string } == (1...16).map { "notifyd-button-\($0).service" })
        let first = try #require(calls.all.first)
        #expect(first.member == "StartTransientUnit")
        #expect(first.signature == "ssa(sv)a(sa(sv))")
        // The manager puts nothing of the event into the command line.
        let properties = try #require(first.arguments[2].elements).compactMap(\.elements)
        let lines = try #require(properties.first { $0[0] == "ExecStartEx" })[1]
        guard case .variant(let value) = lines, let line = value.elements?.first?.elements else {
            Issue.record("the command line is \(lines)")
            return
        }
        #expect(line[1] == .strings(["sh", "-c", "echo it speaks >&2"]))
        #expect(line[2] == .strings(["no-env-expand"]))
        manager.close()
        server.stop()
    }

    @Test(.bannerStage(speaking, environment: managed)) func aUnitThatCannotBeStartedIsLoggedAndCounted() async throws {
        let manager = try await Connection.open(stage.bus.address)
        let name = "org.freedesktop.systemd1"
        let job = "/org/freedesktop/systemd1/job/7"
        manager.export("\(name).Manager") { call in
            call.reply([.objectPath(job)])
            manager.send(
                .signal(
                    "JobRemoved", of: "\(name).Manager", at: "/org/freedesktop/systemd1",
                    [.uint32(7), .objectPath(job), .string("notifyd-button-1.service"), "failed"]))
        }
        try await manager.requestName(name)
        let server = try await stage.press("speak")
        try await stage.logged("The command of a button could not be started")
        try await stage.until("failed-commands", is: 1)
        manager.close()
        server.stop()
    }

    // MARK: Programs

    /// As in a unit: the folder of notifyctl is not in `PATH`.
    private static let plain = ["PATH": "/usr/bin:/bin"]
    private static let folder = BuiltPrograms.notifyd.split(separator: "/").dropLast().map { "/" + $0 }.joined()
    private static let beside = #"""
        [[route]]
        topic = "/note/{id}"
        resident = true
        actions = [
            { key = "itself", label = "Itself", exec = ["notifyctl", "claim", "nothing"] },
            { key = "shell", label = "Shell", exec = ["sh", "-c", "notifyctl show nothing"] },
        ]
        """#

    @Test(.bannerStage(beside, environment: plain)) func aCommandFindsTheProgramsBesideNotifyd() async throws {
        let server = try await stage.server()
        _ = try await stage.outcome(of: try await stage.client.send("/note/1", title: "one"))
        for action in ["itself", "shell"] {
            server.invoke(action, on: 1)
            try await stage.logged("“nothing” is neither the id of an event")
        }
    }

    @Test(.bannerStage(beside, environment: managed.merging(plain) { $1 }))
    func aUnitIsLookedForInThePathOfTheManagerAndBesideNotifyd() async throws {
        let calls = Mailbox<Message>()
        let environment = ["HOME=/h", "PATH=/home/mina/bin/:/usr//bin:rel:/a/../b", "X=y"]
        let manager = try await stage.manager(properties: environment) { call in
            calls.put(call.message)
            call.reply([.objectPath("/org/freedesktop/systemd1/job/7")])
        }
        let server = try await stage.press("itself")
        let call = try #require(await calls.next(within: BannerStage.patience))
        let properties = try #require(call.arguments[2].elements).compactMap(\.elements)
        let path = properties.first { $0[0] == "ExecSearchPath" }?[1]
        #expect(path == .variant(.strings(["/home/mina/bin", "/usr/bin", Self.folder])))
        manager.close()
        server.stop()
    }

    // MARK: What does not work

    @Test func aButtonThatFailsIsToldUntilItWorks() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let file = "\(folder.path)/there"
        let route = """
            [[route]]
            topic = "/note/{id}"
            resident = true
            actions = [
                { key = "look", label = "Look", exec = ["test", "-e", "\(file)"] },
                { key = "missing", label = "Missing", exec = ["/nowhere/program"] },
            ]
            """
        try await withBannerStage(route) { stage in
            func problems() async throws -> [String] {
                let reply = try await stage.connection.call(.toRouter("Diagnose"))
                let rows = reply.arguments.first?.elements ?? []
                #expect(rows.allSatisfy { $0.elements?.count == 3 && $0.elements?.first == "buttons" })
                return rows.compactMap { $0.elements?[1].string }
            }
            let server = try await stage.server()
            _ = try await stage.outcome(of: try await stage.client.send("/note/1", title: "one"))
            #expect(try await problems() == [])
            for count: UInt64 in 1...2 {
                server.invoke("look", on: 1)
                try await stage.until("failed-commands", is: count)
            }
            server.invoke("missing", on: 1)
            try await stage.until("failed-commands", is: 3)
            let told = try await problems()
            #expect(told.count == 2)
            #expect(told.first?.hasPrefix("“Look” of /note/{id} failed: exit code 1 (20") == true, "\(told)")
            #expect(told.last?.hasPrefix("“Missing” of /note/{id} could not be started: ") == true, "\(told)")
            try folder.write("", to: "there")
            server.invoke("look", on: 1)
            try await stage.until("the one that works is not told") { try await problems() == [told[1]] }
            try await stage.daemon.reload(bannerDefaults)
            #expect(try await problems() == [])
        }
    }

    // MARK: Applications

    @Test func anApplicationIsActivatedWithTheTokenThatCameBefore() async throws {
        let route = """
            [[route]]
            topic = "/note/{id}"
            resident = true
            actions = [
                { key = "open", label = "Open", activate = "org.example.Running-App" },
                { key = "absent", label = "Other", activate = "org.example.Absent" },
            ]
            """
        try await withBannerStage(route) { stage in
            let server = try await stage.server()
            let calls = Mailbox<Message>()
            let application = try await Connection.open(stage.bus.address)
            application.export("org.freedesktop.Application") { call in
                calls.put(call.message)
                call.reply()
            }
            try await application.requestName("org.example.Running-App")
            for topic in ["/note/1", "/note/2"] {
                _ = try await stage.outcome(of: try await stage.client.send(topic, title: "one"))
            }

            server.invoke("open", on: 1, token: "token-1")
            let first = try #require(await calls.next(within: BannerStage.patience))
            #expect(first.member == "ActivateAction")
            #expect(first.path == "/org/example/Running_App")
            #expect(first.signature == "sava{sv}")
            #expect(first.arguments[0] == "open")
            #expect(first.arguments[1].elements?.map(\.string) == ["/note/1"])
            #expect(first.arguments[2].entries == ["activation-token": "token-1", "desktop-startup-id": "token-1"])

            // A token is good for one button of one banner.
            server.invoke("open", on: 1)
            #expect(try #require(await calls.next(within: BannerStage.patience)).arguments[2].entries == [:])
            server.grantActivation("token-2", on: 1)
            server.invoke("open", on: 2)
            #expect(try #require(await calls.next(within: BannerStage.patience)).arguments[2].entries == [:])

            server.invoke("absent", on: 1)
            try await stage.logged("The application of a button could not be activated")
            application.close()
        }
    }

    // MARK: Reloading

    @Test func aButtonDoesWhatItsRouteSaidWhenTheEventCame() async throws {
        func route(_ changed: String) -> String {
            """
            [[route]]
            topic = "/note/{id}"
            actions = [
                { key = "same", label = "Same", exec = ["sh", "-c", "echo same command >&2"] },
                \(changed)
            ]
            """
        }
        let before = route(#"{ key = "other", label = "Old", exec = ["sh", "-c", "echo old command >&2"] }"#)
        let after = route(#"{ key = "other", label = "New", exec = ["sh", "-c", "echo new command >&2"] }"#)
        try await withBannerStage(before) { stage in
            let server = try await stage.server()
            let id = try await stage.client.send("/note/1", title: "one")
            _ = try await stage.outcome(of: id)
            try await stage.daemon.reload(bannerDefaults + after)
            server.invoke("other", on: 1)
            #expect(try await stage.action() == ["/note/1", .uint64(id.rawValue), "other"])
            try await stage.logged("old command")
            _ = try await stage.outcome(of: try await stage.client.send("/note/2", title: "two"))
            server.invoke("other", on: 2)
            try await stage.logged("new command")
            // A route without buttons.
            _ = try await stage.outcome(of: try await stage.client.send("/note/3", title: "three"))
            try await stage.daemon.reload(bannerDefaults)
            server.invoke("same", on: 3)
            try await stage.logged("same command")
        }
    }
}

extension BannerStage {
    /// A stand-in for the service manager.
    fileprivate func manager(
        properties: [String] = [], _ answer: @escaping Connection.CallHandler
    ) async throws -> Connection {
        let manager = try await Connection.open(bus.address)
        manager.export("org.freedesktop.DBus.Properties") { $0.reply([.variant(.strings(properties))]) }
        manager.export("org.freedesktop.systemd1.Manager", handler: answer)
        try await manager.requestName("org.freedesktop.systemd1")
        return manager
    }

    /// Has an event shown by a server, and presses a button of its banner.
    fileprivate func press(_ button: String) async throws -> NotificationServer {
        let server = try await server()
        _ = try await outcome(of: try await client.send("/note/1", title: "one"))
        server.invoke(button, on: 1)
        return server
    }

    fileprivate func invite(from name: String) async throws -> EventID {
        try await client.publish("/run/r1/invite", fields: ["from": .string(name)])
    }
}
