import Routing
import Testing

struct TokenBucketTests {
    @Test func someAreAllowedAtOnceAndThenOneInAnInterval() {
        var bucket = TokenBucket(every: .milliseconds(100), burst: 3)
        let taken = (0..<4).map { _ in bucket.take(at: .seconds(9)) }
        #expect(taken == [true, true, true, false])
        #expect(bucket.wait(at: .seconds(9)) == .milliseconds(100))
        #expect(bucket.available(at: .milliseconds(9250)) == 2)
        #expect(bucket.take(3, at: .milliseconds(9250)) == false)
        #expect(bucket.take(2, at: .milliseconds(9250)) == true)
        #expect(bucket.available(at: .seconds(1000)) == 3)
    }

    @Test func whatIsSpentBeyondItIsPaidFor() {
        var bucket = TokenBucket(every: .seconds(1), burst: 10)
        #expect(bucket.spend(10, at: .seconds(5)) == .zero)
        #expect(bucket.spend(7, at: .seconds(5)) == .seconds(7))
        #expect(bucket.spend(1, at: .seconds(8)) == .seconds(5))
    }
}
