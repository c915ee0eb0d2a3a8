import Foundation
import Testing

@testable import Systemd

/// The loop is used from one thread at a time, as the tests of one suite are.
@Suite(.serialized)
struct EventLoopTests {
    @Test func aTimerFiresOnceAndNotBeforeItsMoment() throws {
        let loop = try EventLoop()
        var fired: [Int64] = []
        let moment = Clock.monotonic() + 20_000
        let timer = try loop.timer(.monotonic) {
            fired.append(Clock.monotonic())
            loop.exit(0)
        }
        timer.arm(at: moment)
        #expect(try loop.run() == 0)
        #expect(fired.count == 1)
        #expect(fired[0] >= moment)
    }

    @Test func aTimerThatIsArmedAgainFiresAtTheLaterMoment() throws {
        let loop = try EventLoop()
        let moment = Clock.monotonic() + 40_000
        let timer = try loop.timer(.boottime) { loop.exit(7) }
        timer.arm(at: Clock.boottime() + 5_000)
        timer.arm(at: Clock.boottime() + 40_000)
        #expect(try loop.run() == 7)
        #expect(Clock.monotonic() >= moment)
    }

    @Test func aWallTimerFiresAtItsMomentAndNotOnceItIsDisarmed() throws {
        let loop = try EventLoop()
        var fired: [Int64] = []
        let timer = try WallTimer(on: loop) {
            fired.append(Clock.realtime())
            loop.exit(0)
        }
        timer.arm(at: Clock.realtime() - 1)
        timer.disarm()
        let moment = Clock.realtime() + 20_000
        timer.arm(at: moment)
        #expect(try loop.run() == 0)
        #expect(fired.count == 1)
        #expect(fired[0] >= moment)
    }

    @Test func aFileThatTakesTheNameOfAnotherIsAChange() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "changes-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data().write(to: folder.appending(path: "new"))
        let loop = try EventLoop()
        let changes = try loop.directoryChanges(folder.path) { loop.exit(3) }
        let timer = try loop.timer(.monotonic) { loop.exit(1) }
        timer.arm(at: Clock.monotonic() + 10_000_000)
        #expect(rename(folder.appending(path: "new").path, folder.appending(path: "localtime").path) == 0)
        #expect(try loop.run() == 3)
        withExtendedLifetime(changes) {}
    }

    @Test func whatIsDeferredRunsAfterATimerThatIsDue() throws {
        let loop = try EventLoop()
        var order: [String] = []
        let last = try loop.deferred {
            order.append("deferred")
            loop.exit(0)
        }
        let timer = try loop.timer(.monotonic) { order.append("timer") }
        last.trigger()
        timer.arm(at: 1)
        _ = try loop.run()
        #expect(order == ["timer", "deferred"])
    }

    @Test func anErrorNamesTheCallAndTheReason() {
        let error = #expect(throws: SystemdError.self) { try BusConnection(address: "unix:path=/nonexistent/bus") }
        #expect(error?.description.contains("sd_bus_start") == true)
        #expect(error?.description.contains("No such file or directory") == true)
    }
}
