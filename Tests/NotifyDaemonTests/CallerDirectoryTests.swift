import Systemd
import Testing

@testable import NotifyDaemon

/// What may wait until it is known who is behind it. Here nobody ever answers who that is.
struct CallerDirectoryTests {
    private let limitOfOne = CallerDirectory.limitOfOne
    private let limitOfAll = CallerDirectory.limitOfAll
    private let callers: CallerDirectory

    init() throws {
        callers = CallerDirectory(bus: try BusConnection(toNobody: ()))
        callers.require(.credentials)
    }

    @Test func theBytesOfOneCallerAreLimited() {
        callers.whenSettled(":1.1", bytes: limitOfOne.bytes - 100) {}
        #expect(callers.hasRoom(for: ":1.1", bytes: 100))
        #expect(!callers.hasRoom(for: ":1.1", bytes: 101))
        #expect(callers.hasRoom(for: ":1.2", bytes: 101))
        callers.whenSettled(":1.1", bytes: 100) {}
        #expect(callers.hasRoom(for: ":1.1", bytes: 0))
        #expect(!callers.hasRoom(for: ":1.1", bytes: 1))
    }

    @Test func theBytesOfAllCallersAreLimited() {
        callers.whenSettled(":1.1", bytes: limitOfOne.bytes) {}
        callers.whenSettled(":1.2", bytes: limitOfAll.bytes - limitOfOne.bytes - 100) {}
        #expect(callers.hasRoom(for: ":1.3", bytes: 100))
        #expect(!callers.hasRoom(for: ":1.3", bytes: 101))
    }

    @Test func theCallsOfOneCallerAreLimited() {
        for _ in 1..<limitOfOne.calls { callers.whenSettled(":1.1") {} }
        #expect(callers.hasRoom(for: ":1.1", bytes: 0))
        callers.whenSettled(":1.1") {}
        #expect(!callers.hasRoom(for: ":1.1", bytes: 0))
        #expect(callers.hasRoom(for: ":1.2", bytes: 0))
    }

    @Test func whatIsSettledMakesRoomForAll() {
        var done = 0
        callers.whenSettled(":1.1", bytes: limitOfOne.bytes) { done += 1 }
        callers.whenSettled(":1.2", bytes: limitOfAll.bytes - limitOfOne.bytes) { done += 1 }
        #expect(!callers.hasRoom(for: ":1.3", bytes: 1))
        callers.left(":1.1")
        #expect(done == 1)
        #expect(callers.hasRoom(for: ":1.3", bytes: limitOfOne.bytes))
        callers.require(.nothing)
        #expect(done == 2)
        #expect(callers.hasRoom(for: ":1.3", bytes: limitOfOne.bytes))
    }
}
