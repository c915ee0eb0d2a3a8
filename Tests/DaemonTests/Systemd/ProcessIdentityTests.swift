import Glibc
import NotifyClient
import Testing

@testable import Systemd

struct ProcessSightingTests {
    @Test func aProcessIsSeenAndIsTheSameWhenSeenAgain() throws {
        let identity = try #require(ProcessIdentity(process: getpid()))
        #expect(identity.startTime > 0)
        #expect(ProcessIdentity(process: getpid()) == identity)
    }

    @Test func aProcessThatHasEndedIsNotSeen() async throws {
        let child = try ChildProcess("/bin/sleep", ["60"], environment: [:])
        #expect(ProcessIdentity(process: child.identifier) != nil)
        child.signal(SIGKILL)
        #expect(await child.waitForExit() != nil)
        #expect(ProcessIdentity(process: child.identifier) == nil)
        #expect(ProcessIdentity(process: 0) == nil)
        #expect(ProcessIdentity(process: -1) == nil)
    }
}
