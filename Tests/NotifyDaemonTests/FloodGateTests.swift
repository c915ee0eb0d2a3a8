import Routing
import Testing

@testable import NotifyDaemon

struct FloodGateTests {
    private var gate = FloodGate()
    private var now = Instant(microseconds: 1_000_000)

    /// How many calls of the crowd are handled until it has to rest.
    private mutating func admitted(atMost count: Int = 1_000) -> Int {
        (0..<count).first { _ in !gate.admits(":1.1", at: now) } ?? count
    }

    @Test mutating func aCrowdIsServedAFewAtATimeWhileAnotherCalls() {
        gate.noteCall(by: ":1.2", at: now)
        #expect(admitted() == FloodGate.callsAtOnce)
        #expect(admitted() == 0)
        gate.hasRested()
        #expect(admitted() == FloodGate.callsAtOnce)
    }

    @Test mutating func nobodyRestsForNobody() {
        #expect(admitted() == 1_000)
        // He has not always had a crowd of calls.
        gate.noteCall(by: ":1.1", at: now)
        #expect(admitted() == 1_000)
    }

    @Test mutating func whoHasNotCalledForAWhileIsNotReckonedWith() {
        gate.noteCall(by: ":1.2", at: now)
        now = now + (FloodGate.expectation - .microseconds(1))
        #expect(admitted() == FloodGate.callsAtOnce)
        now = now + .microseconds(1)
        #expect(admitted() == 1_000)
    }

    /// His own calls, made when he had no crowd, do not hide those of the other.
    @Test mutating func twoAreRemembered() {
        gate.noteCall(by: ":1.3", at: now)
        gate.noteCall(by: ":1.2", at: now)
        for _ in 0..<3 { gate.noteCall(by: ":1.1", at: now) }
        #expect(admitted() == FloodGate.callsAtOnce)
        gate.hasRested()
        gate.noteCall(by: ":1.2", at: now + .milliseconds(500))
        now = now + FloodGate.expectation
        #expect(admitted() == FloodGate.callsAtOnce)
    }
}
