import Glibc
import NotifyRehearsal
import Testing

@testable import Systemd

struct ProcessSightingTests {
    @Test func aProcessIsSeenAndIsTheSameWhenSeenAgain() throws {
        let sighting = try #require(ProcessSighting(process: getpid()))
        #expect(sighting.began > 0)
        #expect(ProcessSighting(process: getpid()) == sighting)
    }

    @Test func aProcessThatHasEndedIsNotSeen() async throws {
        let child = try ChildProcess("/bin/sleep", ["60"], environment: [:])
        #expect(ProcessSighting(process: child.identifier) != nil)
        child.signal(SIGKILL)
        #expect(await child.waitForExit() != nil)
        #expect(ProcessSighting(process: child.identifier) == nil)
        #expect(ProcessSighting(process: 0) == nil)
        #expect(ProcessSighting(process: -1) == nil)
    }
}
