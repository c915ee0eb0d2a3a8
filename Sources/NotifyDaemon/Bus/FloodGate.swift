import Routing

/// Keeps the bus and the processor free for those who call now and then, while somebody publishes without end. The answers to
/// all stand in one line on the way to the bus, and the bus needs longer for them than the daemon.
///
/// Of a crowd of pushes that wait, all of one caller, a few are handled at a time, with a rest between. Where nobody else calls
/// there is nobody to make room for, and no rest.
struct FloodGate {
    /// More pushes of one caller than this are a crowd. Who waits for answers has never so many under way.
    static let crowd = 256
    static let callsAtOnce = 8
    static let rest: Duration = .milliseconds(2)
    /// For so long after a call, another one of the same caller is reckoned with.
    static let expectation: Duration = .seconds(1)

    /// The two who have called last, the latest first.
    private var callers: [(name: String, at: Instant)] = []
    private var callsLeft = callsAtOnce

    /// Somebody has called of whom no crowd waits.
    mutating func noteCall(by caller: String, at now: Instant) {
        if callers.first?.name == caller {
            callers[0].at = now
        } else {
            callers.insert((caller, now), at: 0)
            if callers.count > 2 { callers.removeLast() }
        }
    }

    /// Whether a call out of the crowd of this caller may be handled now; if not, it may after a rest.
    mutating func admits(_ caller: String, at now: Instant) -> Bool {
        let isAlone = !callers.contains { $0.name != caller && now < $0.at + Self.expectation }
        if isAlone { return true }
        guard callsLeft > 0 else { return false }
        callsLeft -= 1
        return true
    }

    /// A rest is over.
    mutating func hasRested() {
        callsLeft = Self.callsAtOnce
    }
}
