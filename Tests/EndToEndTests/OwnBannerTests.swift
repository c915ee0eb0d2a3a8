import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// `own-banner` with a real daemon: the publisher shows the banner, and hears by outcomes what to do with it.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct OwnBannerTests {
    private func options(_ number: Int = 0, window: Duration? = nil) -> PublishOptions {
        PublishOptions(
            source: "desktop", eventID: "\(number)", window: window, ownBanner: true,
            appearance: BannerOptions(buttons: [.init(key: "open", label: "Open")]))
    }

    @Test func theServerHearsNothingAndThePublisherHowEachEventEnds() async throws {
        try await withBannerStage { stage in
            let server = try await stage.server()
            func shown(_ number: Int) async throws -> EventID {
                let id = try await stage.client.publish("/app/chat", title: "t", options: options(number))
                let outcome = try await stage.outcome(of: id)
                #expect(outcome == BannerStage.Resolved(kind: "shown", banner: nil, count: 1))
                return id
            }
            let pressed = try await shown(1)
            try await stage.client.press("open", of: pressed)
            #expect(try await stage.action() == ["/app/chat", .uint64(pressed.rawValue), "open"])
            #expect(try await stage.outcome(of: pressed).kind == "retracted")
            let explanation = try await stage.client.explain(pressed)
            #expect(explanation.action == "open")
            #expect(explanation.reason.hasPrefix("It was shown. "))
            #expect(explanation.reason == "It was shown. The user pressed its button “open”.")

            let dismissed = try await shown(2)
            #expect(
                try await stage.client.claimNamed(
                    source: "desktop", eventID: "2", options: NamedClaimOptions(.dismissed)) == .retracted)
            #expect(try await stage.outcome(of: dismissed).kind == "dismissed")
            let end = try await stage.client.explain(dismissed).reason
            #expect(end.hasPrefix("It was shown, and the user closed its banner; ") && end.hasSuffix(" said so."))
            let read = try await shown(3)
            #expect(try await stage.client.markRead("/app") == 1)
            #expect(try await stage.outcome(of: read).kind == "retracted")
            let withdrawn = try await shown(4)
            try await stage.client.withdraw(withdrawn)
            #expect(try await stage.outcome(of: withdrawn).kind == "withdrawn")
            #expect(try await stage.client.explain(withdrawn).reason.hasPrefix("It was shown. "))

            let snoozed = try await shown(5)
            #expect(
                try await stage.client.explain(snoozed).reason.hasSuffix("Its publisher was told to show the banner."))
            try await stage.client.snooze(snoozed, for: .seconds(600))
            #expect(try await stage.outcome(of: snoozed).kind == "muted")
            #expect(try await stage.client.explain(snoozed).reason.contains("snoozed it. It is snoozed"))
            #expect(try await stage.client.inbox().map(\.id) == [snoozed])

            // Other devices show a banner of their own.
            let event = try await stage.client.journalChanges().changes.last { $0.kind == "event" }
            #expect(event?.details["options"]?.entries?.keys.sorted() == ["actions"])
            #expect(server.banners.all.isEmpty)
        }
    }

    @Test func aShellScriptMayShowTheBanner() async throws {
        try await withRig { rig in
            let sent = try await rig.run("send", "/app/chat", "Mina", "--own-banner", "--wait")
            #expect(sent.exit == .code(0))
            #expect(sent.output.last?.hasPrefix("shown") == true)
            #expect(rig.server.banners.all.isEmpty)
            #expect(try await rig.run("send", "/a", "--own-banner", "--no-banner").exit == .code(64))
        }
    }
}
