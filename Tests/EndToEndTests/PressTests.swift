import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// `Press`: a button of an event without its banner.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct PressTests {
    private let stage: BannerStage! = Fixture.current()

    @Test func aPressIsAnnouncedRunsTheCommandAndClaims() async throws {
        let route = #"""
            [[route]]
            topic = "/run/{session}/invite"
            actions = [ { key = "accept", label = "Join", exec = ["sh", "-c", "echo pressed \#
            $NOTIFYD_ACTION $NOTIFYD_ID >&2"] } ]
            """#
        try await withBannerStage(route) { stage in
            let server = try await stage.server()
            let shown = try await stage.client.publish("/run/r1/invite", fields: ["from": "Mina"])
            let banner = try await stage.banner(on: server)
            #expect(try await stage.outcome(of: shown).kind == "shown")
            let unknown = await refusal { try await stage.client.press("later", of: shown) }
            #expect(unknown?.shortName == "InvalidEvent")
            #expect(unknown?.message.contains("its buttons are 'accept'") == true)
            try await stage.client.press("accept", of: shown)
            #expect(try await stage.action() == ["/run/r1/invite", .uint64(shown.rawValue), "accept"])
            #expect(try await stage.outcome(of: shown).kind == "retracted")
            #expect(try await stage.close(on: server) == banner.id)
            try await stage.logged("pressed accept \(shown)")
            let again = await refusal { try await stage.client.press("accept", of: shown) }
            #expect(again?.shortName == "NotClaimant")
            #expect(await refusal { try await stage.client.press("accept", of: 1) }?.shortName == "UnknownEvent")
        }
    }

    @Test(.bannerStage) func undecidedAndMutedEventsHaveButtonsToo() async throws {
        let buttons = BannerOptions(buttons: [.init(key: "yes", label: "Yes")])
        let open = try await stage.client.publish(
            "/a", options: PublishOptions(window: .seconds(60), appearance: buttons))
        try await stage.client.press("yes", of: open)
        #expect(try await stage.action() == ["/a", .uint64(open.rawValue), "yes"])
        #expect(try await stage.outcome(of: open).kind == "claimed")
        try await stage.client.mute("/b", for: .seconds(600))
        let muted = try await stage.client.publish("/b", options: PublishOptions(appearance: buttons))
        #expect(try await stage.outcome(of: muted).kind == "muted")
        #expect(await refusal { try await stage.client.press("no", of: muted) }?.shortName == "InvalidEvent")
        #expect(try await stage.client.unread() == 1)
        try await stage.client.press("yes", of: muted)
        #expect(try await stage.action() == ["/b", .uint64(muted.rawValue), "yes"])
        #expect(try await stage.client.unread() == 0)
        #expect(await refusal { try await stage.client.press("yes", of: muted) }?.shortName == "NotClaimant")
    }

    @Test func aPressWhoseCommandIsNotStartedChangesNothing() async throws {
        let route = #"""
            [[route]]
            topic = "/busy/{id}"
            actions = [ { key = "run", label = "Run", exec = ["sleep", "60"] } ]
            """#
        try await withBannerStage(route) { stage in
            let options = PublishOptions(window: .seconds(60))
            var ids: [EventID] = []
            for number in 1...20 { ids.append(try await stage.client.publish("/busy/\(number)", options: options)) }
            let client = stage.client
            // All at once, so that they may be handled in one turn.
            let refused = await withTaskGroup(of: (EventID, NotifyError)?.self) { group in
                for id in ids {
                    group.addTask {
                        do throws(NotifyError) {
                            try await client.press("run", of: id)
                            return nil
                        } catch {
                            return (id, error)
                        }
                    }
                }
                return await group.reduce(into: [(EventID, NotifyError)]()) { if let pair = $1 { $0.append(pair) } }
            }
            #expect(refused.count == 4)
            for (id, error) in refused {
                #expect(error.shortName == "LimitExceeded")
                #expect(error.message.contains("16 are running; press the button again when one of them has ended"))
                #expect(try await client.explain(id).outcome == nil)
            }
            for _ in 1...16 { _ = try await stage.action() }
            #expect(try await stage.statistic("failed-commands") == 4)
        }
    }

    @Test func aProgramThatDoesNotExistIsRefused() async throws {
        let route = #"""
            [[route]]
            topic = "/gone"
            actions = [ { key = "run", label = "Run", exec = ["/nonexistent/program"] } ]
            """#
        try await withBannerStage(route) { stage in
            let id = try await stage.client.publish("/gone", options: PublishOptions(window: .seconds(60)))
            let error = await refusal { try await stage.client.press("run", of: id) }
            #expect(error?.name == "org.freedesktop.DBus.Error.Failed")
            #expect(error?.message.contains("correct 'exec' of its route") == true)
            #expect(error?.message.contains("'/nonexistent/program'") == true)
            #expect(try await stage.client.explain(id).outcome == nil)
            #expect(try await stage.statistic("failed-commands") == 1)
        }
    }

    @Test(.bannerStage) func aResidentEventIsPressedAgainAndAgain() async throws {
        let server = try await stage.server()
        let look = BannerOptions(isResident: true, buttons: [.init(key: "next", label: "Next")])
        let id = try await stage.client.publish("/a", options: PublishOptions(appearance: look))
        #expect(try await stage.outcome(of: id).kind == "shown")
        for _ in 1...2 {
            try await stage.client.press("next", of: id)
            #expect(try await stage.action() == ["/a", .uint64(id.rawValue), "next"])
        }
        #expect(server.closes.all.isEmpty)
        #expect(try await stage.client.claim(id) == .retracted)
    }
}
