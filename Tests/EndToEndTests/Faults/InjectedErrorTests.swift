import NotifyClient
import NotifyRehearsal
import Testing

/// The kernel itself says that a sync failed:
/// [fault injection of strace(1)](https://man7.org/linux/man-pages/man1/strace.1.html).
@Suite(.timeLimit(.minutes(2)), .enabled("strace may not trace here, or is not there") { await Tracing.isPossible })
struct InjectedErrorTests {
    /// It may be one of the index, or of a segment that is made ready: then nobody is refused.
    @Test(arguments: [5, 12, 13, 20])
    func aSyncThatFailsOnceCostsOneRefusalAtMostAndNothingElse(_ number: Int) async throws {
        let tracing = Tracing.command + ["-e", "inject=fdatasync:error=EIO:when=\(number)"]
        try await withFaultRig(through: tracing) { rig in
            var accepted: [UInt64] = []
            var refusal: NotifyError?
            while refusal == nil, accepted.count < 60 {
                do throws(NotifyError) {
                    let reply = try await rig.call("Send", ["/run/r1/mate/Mina", "accepted", ""])
                    accepted.append(reply.arguments[0].integer() ?? 0)
                } catch {
                    refusal = error
                }
            }
            if let refusal {
                #expect(refusal.name == "org.notifyd.Router1.Error.StorageUnavailable")
                #expect(refusal.message.contains("disk gives errors"))
            }
            try await rig.until("it goes on") { try await rig.degradation() == "" }
            accepted.append(try await rig.send("/run/r1/mate/Mina", "accepted"))
            #expect(try await rig.history().map(\.id) == accepted)
            await rig.daemon.kill()
            try await rig.daemon.start()
            #expect(try await rig.history().map(\.id) == accepted)
            #expect(try await rig.statistic("damaged-rows") == 0)
        }
    }
}

private enum Tracing {
    /// The tracer is not the parent of what it traces, so that the daemon is ours to kill.
    static let command = ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync"]

    static var isPossible: Bool {
        get async {
            let environment = ["PATH": ChildProcess.currentEnvironment["PATH"] ?? "/usr/bin:/bin"]
            let trial = try? ChildProcess("strace", ["-qq", "-o", "/dev/null", "true"], environment: environment)
            return await trial?.waitForExit(within: .seconds(10)) == .code(0)
        }
    }
}
