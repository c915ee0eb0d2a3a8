import Routing
import Testing

@testable import notifyd_mqtt

struct RateLimitTests {
    @Test func aChattySensorIsSlowedDownAndCounted() {
        var limit = RateLimit()
        var taken = 0
        var told: [Int] = []
        for millisecond in 0..<10_000 {
            let now = Uptime(microseconds: Int64(millisecond) * 1000)
            if limit.admitMessage(at: now) {
                taken += 1
            } else if let count = limit.countDropped(at: now) {
                told.append(count)
            }
        }
        #expect(taken >= 199 && taken <= 201)
        #expect(told == [1])
        #expect(limit.countDropped(at: Uptime(microseconds: 70_000_000)).map { $0 > 9000 } == true)
    }
}
