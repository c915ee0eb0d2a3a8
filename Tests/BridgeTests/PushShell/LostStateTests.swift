import Foundation
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// What happens to endpoints when the state of the bridge is damaged, deleted or put back from a copy, or the bridge
/// cannot start.
@Suite(.serialized, .timeLimit(.minutes(4)))
struct LostStateTests {
    private let stage: PushStage! = Fixture.current()

    private func file(_ stage: PushStage) -> String { stage.folder.path + "/state/notifyd/unifiedpush/state.db" }

    /// The bridge does not run then.
    private func deleteState(_ stage: PushStage) throws {
        for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: file(stage) + suffix) {
            try FileManager.default.removeItem(atPath: file(stage) + suffix)
        }
    }

    @Test(.pushStage) func aDamagedStateIsSetAsideAndTold() async throws {
        _ = try await stage.create("post", "/post")
        await stage.kill(PushStage.bridge, SIGTERM)
        try deleteState(stage)
        try Data("no database at all".utf8 + Array(repeating: 7, count: 8000)).write(to: URL(filePath: file(stage)))
        try await stage.start()
        try await stage.waitFor("connected", "no endpoint yet")
        try await eventually("it is told") {
            await stage.problems().contains { $0.contains("state.db.damaged-") } ? true : nil
        }
    }

    /// A message for an endpoint that is not known any more is not lost in silence, and its registration ends.
    @Test(.pushStage) func aMessageForALostEndpointIsTold() async throws {
        let post = try await stage.create("post", "/post")
        await stage.kill(PushStage.bridge, SIGTERM)
        try deleteState(stage)
        try await stage.start()
        try await stage.waitFor("connected", "no endpoint yet")
        try await stage.send("lost", to: post)
        try await eventually("it is told") {
            await stage.problems().contains { $0.contains("1 message was dropped") } ? true : nil
        }
        try await stage.waitForClients(0, of: PushStage.distributor)
    }

    @Test(.pushStage) func anEndpointOfACopyIsAsItWas() async throws {
        let post = try await stage.create("post", "/post")
        await stage.kill(PushStage.bridge, SIGTERM)
        let copy = stage.folder.path + "/copy.db"
        try FileManager.default.copyItem(atPath: file(stage), toPath: copy)
        try await stage.start()
        try await stage.waitFor("connected")
        // Since the copy, the endpoint was removed, and another one was made.
        _ = try await stage.notifyctl("push-endpoint", "remove", "post")
        let late = try await stage.create("late", "/late")
        await stage.kill(PushStage.bridge, SIGTERM)
        try deleteState(stage)
        try FileManager.default.copyItem(atPath: copy, toPath: file(stage))
        try await stage.start()
        try await stage.waitFor("connected", "1 endpoint")
        try await stage.send("lost", to: late)
        try await eventually("it is told") {
            await stage.problems().contains { $0.contains("1 message was dropped") } ? true : nil
        }
        // The same keys, and an address that is a new one.
        let again = try await stage.notifyctl("push-endpoint", "show", "post", "--json=short")
        #expect(again.code == 0 && again.output.joined().contains(post.publicKey))
        #expect(!again.output.joined().contains(post.endpoint + "\""))
    }

    @Test(.pushStage, arguments: ["failed", "inactive", "not-found"])
    func aUnitThatDoesNotRunIsToldFromNone(_ state: String) async throws {
        let manager = try await Connection.open(stage.bus.address)
        defer { manager.close() }
        manager.export("org.freedesktop.systemd1.Manager") { $0.reply([.objectPath("/unit")]) }
        manager.export("org.freedesktop.DBus.Properties") { call in
            let isThere = state != "not-found"
            call.reply([
                .variants([
                    "LoadState": .string(isThere ? "loaded" : state),
                    "ActiveState": .string(isThere ? state : "inactive"),
                ])
            ])
        }
        try await manager.requestName("org.freedesktop.systemd1")
        // Its configuration is bad: it ends at once.
        try stage.configure("nonsense = 1\n")
        let result = try await stage.notifyctl("push-endpoint", "list")
        let text = result.errors.joined(separator: " ")
        if state == "not-found" {
            #expect(text.contains("Is it installed?"), "\(result)")
        } else {
            #expect(text.contains("is installed, and does not run: its unit is \(state)."), "\(result)")
            #expect(text.contains("systemctl --user status notifyd-unifiedpush"), "\(result)")
            #expect(text.contains("journalctl --user -u notifyd-unifiedpush"), "\(result)")
        }
        #expect(result.code != 0)
    }
}
