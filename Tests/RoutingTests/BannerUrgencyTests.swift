import Testing

@testable import Routing

/// The urgency of a banner that speaks of several events.
struct BannerUrgencyTests {
    private var bench = Bench()

    @discardableResult
    private mutating func publish(_ urgency: Urgency?) -> EventID {
        var options = PublishOptions()
        options.urgency = urgency
        return bench.publish("/post/1", options: options)
    }

    private mutating func urgencies(_ publisher: [Urgency?]) -> [Urgency?] {
        bench = Bench()
        bench.take(.server(.ready))
        for urgency in publisher { publish(urgency) }
        return bench.wait(.milliseconds(100)).banners.map(\.urgency)
    }

    @Test mutating func itIsTheHighestOfItsEvents() {
        #expect(urgencies([.critical, .normal]) == [.critical])
        #expect(urgencies([.critical, nil, .low]) == [.critical])
        #expect(urgencies([.normal, .low]) == [.normal])
        // None is sent, which servers treat as normal.
        #expect(urgencies([nil, .low]) == [nil])
        #expect(urgencies([.low, .low]) == [.low])
    }

    @Test mutating func aBannerThatIsUpdatedStaysCriticalUntilThatEventIsClaimed() {
        bench.take(.server(.ready))
        let critical = publish(.critical)
        bench.take(.banner(bench.wait(.milliseconds(100)).banners[0].call, .shown(BannerID(7))))
        bench.take(.stored(except: []))
        publish(.normal)
        let update = bench.wait(.milliseconds(100)).banners[0]
        #expect(update.replaces == BannerID(7) && update.urgency == .critical)
        bench.take(.banner(update.call, .shown(BannerID(7))))
        bench.take(.stored(except: []))
        bench.take(.claimed(critical, by: Bench.peer))
        publish(.low)
        #expect(bench.wait(.milliseconds(100)).banners.map(\.urgency) == [.normal])
    }
}
