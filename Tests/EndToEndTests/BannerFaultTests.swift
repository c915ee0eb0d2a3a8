import NotifyClient
import NotifyRehearsal
import Testing

/// Notification servers that hang, fail, leave in the middle of a call and start again.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct BannerFaultTests {
    @Test func aHungServerGetsFourCallsThenARestAndItsLateAnswersCount() async throws {
        try await withBannerStage { stage in
            let server = try await stage.server(mode: .hanging)
            var ids: [EventID] = []
            for number in 1...6 {
                ids.append(try await stage.client.send("/note/\(number)", title: "\(number)"))
            }
            try await stage.until("banner-calls", is: 4)
            try await stage.until("all windows are over") { try await stage.statistic("open-windows") == 0 }
            #expect(server.banners.all.map(\.title) == ["1", "2", "3", "4"])
            // Five seconds after the calls they are given up, and that is more failures in a row than it takes.
            try await stage.until("notification-server-rests", is: 1)
            #expect(try await stage.client.pending() == 6)
            #expect(try await stage.client.claim(ids[0]) == .suppressed)
            #expect(try await stage.outcome(of: ids[0]).kind == "claimed")

            server.setMode(.normal)
            for id in ids.dropFirst() { #expect(try await stage.outcome(of: id).kind == "shown") }
            try await stage.until("every event that waits is in one banner, and the claimed one in none") {
                server.showing.map(\.title).sorted() == ["2", "3", "4", "5", "6"]
            }
            try await stage.until("notification-server-rests", is: 0)
            // What came late is as good as any other banner.
            for id in ids.dropFirst() { #expect(try await stage.client.claim(id) == .retracted) }
            try await stage.until("all banners are closed") { server.showing.isEmpty }
        }
    }

    @Test(arguments: [.repliesZero, .repliesText] as [NotificationServer.Quirks])
    func aBannerThatIsAnsweredWithoutANumberIsShownOnce(_ quirks: NotificationServer.Quirks) async throws {
        try await withBannerStage { stage in
            let server = try await stage.server(quirks)
            let first = try await stage.client.send("/note/1", title: "one")
            #expect(try await stage.outcome(of: first) == .init(kind: "shown", banner: nil, count: 1))
            let second = try await stage.client.send("/note/2", title: "two")
            #expect(try await stage.outcome(of: second).kind == "shown")
            #expect(server.banners.all.map(\.title) == ["one", "two"])
            try await stage.logged("answered without a number")
        }
    }

    @Test func numbersMeanNothingOnceTheNameHasBeenGivenUp() async throws {
        try await withBannerStage { stage in
            let server = try await stage.server()
            var ids: [EventID] = []
            for number in 1...3 {
                ids.append(try await stage.client.send("/note/\(number)", title: "old"))
                #expect(try await stage.outcome(of: ids[number - 1]).banner == UInt32(number))
            }
            try await server.releaseName()
            try await stage.until("notification-server", is: 0)
            // Even where the owner's unique name is the same as before.
            try await server.takeName()
            try await stage.until("notification-server", is: 1)
            let new = try await stage.client.send("/note/3", title: "new")
            #expect(try await stage.outcome(of: new) == .init(kind: "shown", banner: 1, count: 1))
            for id in ids {
                #expect(try await stage.client.claim(id) == .recorded)
                #expect(try await stage.outcome(of: id).kind == "retracted")
            }
            #expect(server.banners.all.last?.replaces == 0)
            #expect(try await stage.client.claim(new) == .retracted)
            #expect(try await stage.close(on: server) == 1)
            #expect(server.closes.all.count == 1)
        }
    }
}
