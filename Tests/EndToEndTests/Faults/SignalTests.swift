import Foundation
import Glibc
import NotifyClient
import NotifyRehearsal
import Testing

/// Signals that come because a write fails end nothing.
@Suite(.timeLimit(.minutes(2)))
struct SignalTests {
    @Test func theReaderOfTheLogMayLeave() async throws {
        // The reader ends at once, and everything after that is written to a pipe that nobody reads.
        let command = ["bash", "-c", "exec \"$0\" --log-level debug 2> >(exec true)"]
        try await withFaultRig(through: command) { rig in
            for number in 1...20 { _ = try await rig.send("/note/\(number)") }
            #expect(rig.daemon.exit == nil)
        }
    }

    @Test(arguments: [8, 12, 20]) func aLimitOfOpenFilesThatIsTooLowIsNamed(_ limit: Int) async throws {
        try await withFaultRig(through: ["bash", "-c", "ulimit -n \(limit); exec \"$0\""], isStarted: false) { rig in
            await #expect(throws: RehearsalError.self) { try await rig.daemon.start() }
            #expect(rig.daemon.exit == .code(71))
            #expect(rig.daemon.log.contains("LimitNOFILE="))
        }
    }

    @Test func withAsManyOpenFilesAsItNeedsNotifydWorks() async throws {
        try await withFaultRig(through: ["bash", "-c", "ulimit -n 64; exec \"$0\""]) { rig in
            let id = try await rig.send("/note/1")
            try await rig.untilSettled()
            #expect(try await rig.history().map(\.id) == [id])
            #expect(rig.banners("news") == 1)
        }
    }

    /// In units of 1024 bytes: the first one is too little for an empty journal.
    @Test(arguments: [100, 512]) func aLimitOfFileSizesIsNamedAndLosesNothing(_ limit: Int) async throws {
        try await withFaultRig(through: ["bash", "-c", "ulimit -f \(limit); exec \"$0\""]) { rig in
            let body = String(repeating: "x", count: 4_000)
            var accepted: [UInt64] = []
            var refusal: NotifyError?
            while refusal == nil, accepted.count < 1_000 {
                do throws(NotifyError) {
                    let reply = try await rig.call("Send", ["/run/r1/mate/Mina", "accepted", .string(body)])
                    accepted.append(reply.arguments[0].integer() ?? 0)
                } catch {
                    refusal = error
                }
            }
            #expect(refusal?.name == "org.notifyd.Router1.Error.StorageUnavailable")
            #expect(refusal?.message.contains("LimitFSIZE=") == true)
            #expect(rig.daemon.exit == nil)
            await rig.daemon.kill()
            try await rig.daemon.start()
            let kept = accepted.isEmpty ? [] : Set(try await rig.history().map(\.id))
            #expect(Set(accepted).subtracting(kept) == [])
        }
    }

    @Test func theCommandOfAButtonEndsByTheseSignalsAsItExpects() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let configuration = """
            [[route]]
            topic = "/button"
            window = "0ms"
            actions = [{ key = "go", label = "Go", exec = ["sh", "-c", "grep SigIgn /proc/self/status > \
            \(folder.path)/out.new && mv \(folder.path)/out.new \(folder.path)/out"] }]
            """
        try await withFaultRig(configuration) { rig in
            let id = try await rig.send("/button")
            let banner: UInt32? = try await rig.signal("Resolved", about: id).arguments[3].entries?["banner"]?.integer()
            rig.server.invoke("go", on: try #require(banner))
            try await rig.until("the command has ended") {
                FileManager.default.fileExists(atPath: folder.path + "/out")
            }
            let line = try String(contentsOfFile: folder.path + "/out", encoding: .utf8)
            let mask = try #require(UInt64(line.split(whereSeparator: \.isWhitespace).last ?? "", radix: 16))
            for number in [SIGPIPE, SIGXFSZ] { #expect(mask & (1 << UInt64(number - 1)) == 0, "\(number)") }
        }
    }
}
