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

/// Names that hold for one machine.
struct MachineTests {
    private let number = "0123456789abcdef0123456789abcdef"

    @Test func aNumberMixedWithTheMachineIsAnotherNumber() {
        let mixed = Machine.mix(number)
        #expect(mixed.count == 32 && mixed.allSatisfy { "0123456789abcdef".contains($0) })
        #expect(Machine.mix(number) == mixed)
        #expect(Machine.mix("1" + number.dropFirst()) != mixed)
        // Without an id of the machine, the number stays.
        let hasID = access("/etc/machine-id", R_OK) == 0
        #expect((mixed != number) == hasID)
    }

    @Test func whatIsNoNumberStays() {
        #expect(Machine.mix("rubbish") == "rubbish")
        #expect(Machine.mix("") == "")
    }
}

struct MemoryTests {
    /// Pages of files that are in memory, in KiB; proc_pid_status(5).
    private func residentFilePages() throws -> Int {
        let file = try #require(fopen("/proc/self/status", "re"))
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, CInt(line.count), file) != nil {
            let words = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
                .split(whereSeparator: \.isWhitespace)
            if words.first == "RssFile:" { return try #require(Int(words[1])) }
        }
        throw CancellationError()
    }

    /// The program goes on, with less of its code in memory.
    @Test func codeThatDoesNotRunLeavesTheProcess() throws {
        let before = try residentFilePages()
        Memory.releaseAll()
        #expect(try residentFilePages() < before)
    }
}
