import Foundation
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// Banners outlive a restart of the daemon, or its crash, as long as the notification server stays.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct BannerRestartTests {
    @Test func aTopicClaimAndAScreenTakeThemDown() async throws {
        try await withBannerStage { stage in
            let server = try await stage.server()
            let ids = try await stage.show("/note/1", 2)
            try await stage.show("/other/1", 1)
            try await stage.crash()
            #expect(try await stage.client.unread("/note") == 2)
            #expect(try await stage.client.claimTopic("/note") == 2)
            #expect(try await stage.close(on: server) == 1)
            for id in ids { #expect(try await stage.outcome(of: id).kind == "retracted") }
            #expect(try await stage.client.unread("/note") == 0)
            await stage.daemon.stop()
            try await stage.daemon.start()
            let screen = try await stage.client.openScreen("/other/1")
            #expect(try await stage.close(on: server) == 2)
            await screen.close()
            try await stage.until("nothing is up") { server.showing.isEmpty }
        }
    }

    /// The daemon waits for the answer of the notification server before it ends, and keeps the outcome.
    @Test func aBannerThatIsUnderWayAtAStopIsNotShownAgain() async throws {
        try await withBannerStage { stage in
            let server = try await stage.server()
            server.setMode(.hanging)
            let id = try await stage.client.send("/note/1", title: "one")
            #expect(await server.banners.next(within: .seconds(5)) != nil)
            stage.daemon.signal(SIGTERM)
            #expect(await stage.daemon.errors.next(within: .seconds(5)) { $0.contains("Stopping") } != nil)
            server.setMode(.normal)
            #expect(await stage.daemon.waitForExit() == .code(0))
            try await stage.daemon.start()
            #expect(try await stage.client.explain(id).outcome == .shown)
            #expect(try await stage.client.claim(id) == .retracted)
            #expect(server.banners.all.count == 1)
        }
    }

    /// What cannot be kept of it is shown again, so that nothing is lost.
    @Test func aStopDoesNotWaitForEverForAServerThatHangs() async throws {
        try await withBannerStage { stage in
            let server = try await stage.server()
            server.setMode(.hanging)
            let id = try await stage.client.send("/note/1", title: "one")
            #expect(await server.banners.next(within: .seconds(5)) != nil)
            #expect(await stage.daemon.stop() == .code(0))
            #expect(server.answers.all.isEmpty)
            server.setMode(.normal)
            try await stage.daemon.start()
            #expect(try await stage.outcome(of: id).kind == "shown")
        }
    }

    @Test func theirButtonsWork() async throws {
        try await withBannerStage { stage in
            let server = try await stage.server(.broadcastsSignals)
            let id = try await stage.client.publish(
                "/run/r1/invite", title: "", body: "", fields: ["from": .string("Mina")])
            _ = try await stage.outcome(of: id)
            try await stage.crash()
            server.invoke("accept", on: 1)
            #expect(try await stage.action() == ["/run/r1/invite", .uint64(id.rawValue), "accept"])
        }
    }
}

extension BannerStage {
    /// Sends events and waits until each is shown.
    @discardableResult
    fileprivate func show(_ topic: String, _ count: Int) async throws -> [EventID] {
        var ids: [EventID] = []
        for number in 0..<count {
            let id = try await client.send(topic, title: "news \(number)")
            #expect(try await outcome(of: id).kind == "shown")
            ids.append(id)
        }
        return ids
    }

    fileprivate func crash() async throws {
        await daemon.kill()
        try await daemon.start()
        // It has its name before it listens to the server.
        try await until("notification-server", is: 1)
    }
}
