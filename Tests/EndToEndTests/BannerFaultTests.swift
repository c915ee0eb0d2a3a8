import ChildProcesses
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

    @Test func aClaimWhileTheServerHangsClosesTheBannerWhenItComes() async throws {
        try await withBannerStage { stage in
            let server = try await stage.server(mode: .hanging)
            let id = try await stage.client.send("/note/1", title: "one")
            _ = try await stage.banner(on: server)
            #expect(try await stage.client.claim(id) == .retracted)
            #expect(server.closes.all.isEmpty)
            server.setMode(.normal)
            #expect(try await stage.close(on: server) == 1)
            #expect(try await stage.outcome(of: id).kind == "retracted")
            #expect(server.showing.isEmpty)
        }
    }

    @Test func aServerThatFailsThriceRestsAndTheNextIsTriedAtOnce() async throws {
        try await withBannerStage { stage in
            let server = try await stage.server(mode: .erroring(name: "org.freedesktop.DBus.Error.Failed"))
            let first = try await stage.client.send("/note/1", title: "one")
            try await stage.until("notification-server-rests", is: 1)
            let second = try await stage.client.send("/note/2", title: "two")
            try await stage.until("the second window is over") { try await stage.statistic("open-windows") == 0 }
            #expect(server.banners.all.map(\.title) == ["one", "one", "one"])
            #expect(try await stage.client.pending() == 2)
            try await server.releaseName()
            let next = try await stage.server()
            for (number, id) in [(1, first), (2, second)] as [(UInt32, EventID)] {
                #expect(try await stage.outcome(of: id) == .init(kind: "shown", banner: number, count: 1))
            }
            #expect(next.banners.all.map(\.replaces) == [0, 0])
            #expect(try await stage.statistic("notification-server-rests") == 0)
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

    @Test func whatAServerWasAskedForWhenItLeftIsShownByTheNext() async throws {
        try await withBannerStage { stage in
            let server = try await stage.server()
            let first = try await stage.client.send("/note/1", title: "one")
            _ = try await stage.outcome(of: first)
            server.setMode(.vanishing)
            let second = try await stage.client.send("/note/1", title: "two")
            try await stage.until("notification-server", is: 0)
            #expect(try await stage.client.pending() == 1)
            let next = try await stage.server()
            #expect(try await stage.outcome(of: second) == .init(kind: "shown", banner: 1, count: 1))
            #expect(next.banners.all.map(\.replaces) == [0])
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

    // MARK: Our own restart

    @Test func aBannerFromBeforeOurRestartIsClosedWhileItsServerRuns() async throws {
        try await withBannerStage { stage in
            let server = try await stage.server()
            let id = try await stage.client.send("/note/1", title: "one")
            _ = try await stage.outcome(of: id)
            await stage.daemon.kill()
            try await stage.daemon.start()
            try await stage.until("notification-server", is: 1)
            #expect(try await stage.client.claim(id) == .retracted)
            #expect(try await stage.close(on: server) == 1)
            let next = try await stage.client.send("/note/1", title: "two")
            #expect(try await stage.outcome(of: next) == .init(kind: "shown", banner: 2, count: 1))
        }
    }

    @Test func aBannerFromBeforeOurRestartMeansNothingToAnotherServer() async throws {
        try await withBannerStage { stage in
            let server = try await stage.server()
            let id = try await stage.client.send("/note/1", title: "one")
            _ = try await stage.outcome(of: id)
            await stage.daemon.kill()
            try await server.releaseName()
            let other = try await stage.server()
            try await stage.daemon.start()
            try await stage.until("notification-server", is: 1)
            let next = try await stage.client.send("/note/2", title: "somebody else's number")
            #expect(try await stage.outcome(of: next).banner == 1)
            #expect(try await stage.client.claim(id) == .recorded)
            #expect(try await stage.client.claim(next) == .retracted)
            #expect(try await stage.close(on: other) == 1)
            #expect(other.closes.all.count == 1)
            #expect(server.closes.all.isEmpty)
        }
    }

    @Test func aServerThatForgetsUsWithOurConnectionRefusesQuietly() async throws {
        try await withBannerStage { stage in
            let server = try await stage.server(.gnome)
            let id = try await stage.client.send("/note/1", title: "one")
            _ = try await stage.outcome(of: id)
            await stage.daemon.kill()
            try await stage.daemon.start()
            try await stage.until("notification-server", is: 1)
            _ = try await stage.client.claim(id)
            let next = try await stage.client.send("/note/1", title: "two")
            #expect(try await stage.outcome(of: next) == .init(kind: "shown", banner: 2, count: 1))
            #expect(try await stage.statistic("notification-server-rests") == 0)
            #expect(server.banners.all.map(\.replaces) == [0, 0])
        }
    }
}
