import Foundation
import NotifyClient
import NotifyRehearsal
import Testing

/// Servers that are not there, and that the bus can start.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ServerStartTests {
    @Test func theFirstBannerThatIsDueHasTheBusStartAServer() async throws {
        try await withServiceFile { folder, sign in
            try await withBannerStage(serviceFolder: folder) { stage in
                let silent = try await stage.client.publish("/run/r1/mate/Mina", fields: ["distance": .uint32(1)])
                _ = try await stage.client.explain(silent)
                #expect(!FileManager.default.fileExists(atPath: sign))
                let id = try await stage.client.send("/note/1", title: "one")
                try await stage.until("the program of the service runs") {
                    FileManager.default.fileExists(atPath: sign)
                }
                let server = try await stage.server()
                #expect(try await stage.outcome(of: id).kind == "shown")
                #expect(try await stage.banner(on: server).title == "one")
                #expect(try await stage.statistic("server-start-failures") == 0)
            }
        }
    }

    @Test func aServerThatCannotBeStartedIsLoggedAndCounted() async throws {
        try await withBannerStage { stage in
            _ = try await stage.client.send("/note/1", title: "one")
            try await stage.logged("The bus could not start a notification server")
            try await stage.until("server-start-failures", is: 1)
        }
    }

    @Test func aConfigurationCanForbidToStartOne() async throws {
        try await withServiceFile { folder, sign in
            try await withBannerStage("start_server = false\n", serviceFolder: folder) { stage in
                _ = try await stage.client.send("/note/1", title: "one")
                try await stage.until("open-windows", is: 0)
                _ = try await stage.client.statistics()
                #expect(!FileManager.default.fileExists(atPath: sign))
                #expect(try await stage.statistic("server-start-failures") == 0)
            }
        }
    }

    /// A service whose program leaves a sign. The server itself is in this process.
    private func withServiceFile(_ body: (_ folder: String, _ sign: String) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let sign = folder.path + "/started"
        try folder.write(
            """
            [D-BUS Service]
            Name=org.freedesktop.Notifications
            Exec=/bin/sh -c "touch \(sign); exec sleep 20"

            """, to: "org.freedesktop.Notifications.service")
        try await body(folder.path, sign)
    }
}
