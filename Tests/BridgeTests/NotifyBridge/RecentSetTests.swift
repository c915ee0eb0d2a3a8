import Testing

@testable import NotifyBridge

struct RecentSetTests {
    @Test func onlyTheNewestAreThere() {
        var recent = RecentSet<Int>(capacity: 64)
        let areNew = (0..<100).map { recent.insert($0) }
        #expect(!areNew.contains(false))
        #expect((0..<100).filter { recent.contains($0) } == Array(36..<100))
        let again = [99, 0].map { recent.insert($0) }
        #expect(again == [false, true])
        #expect(!recent.contains(36))
    }
}
