import Mapping
import Testing

struct RequestLimitTests {
    @Test func sixtyAtOnceAndThenOneInFiveSeconds() {
        var limit = RequestLimit()
        for _ in 0..<60 { #expect(limit.take(at: .seconds(100)) == nil) }
        #expect(limit.take(at: .seconds(100)) == .seconds(5))
        #expect(limit.take(at: .seconds(103)) == .seconds(2))
        #expect(limit.take(at: .seconds(105)) == nil)
        #expect(limit.take(at: .seconds(105)) == .seconds(5))
        for _ in 0..<60 { #expect(limit.take(at: .seconds(1000)) == nil) }
        #expect(limit.take(at: .seconds(1000)) == .seconds(5))
    }

    @Test func whatTheServerSaysComesFirst() {
        var limit = RequestLimit()
        limit.refused(at: .zero, pause: .seconds(30))
        #expect(limit.take(at: .seconds(1)) == .seconds(29))
        #expect(limit.take(at: .seconds(30)) == nil)
        limit.refused(at: .seconds(30), pause: nil)
        #expect(limit.take(at: .seconds(30)) == .seconds(5))
        #expect(limit.take(at: .seconds(35)) == nil)
        #expect(limit.take(at: .seconds(35)) == .seconds(5))
        limit.refused(at: .zero, pause: .seconds(1_000_000))
        #expect(limit.take(at: .zero) == .seconds(3600))
    }
}
