import Testing

@testable import Routing

/// `ttl` 0: what comes too late for a banner.
struct ExpiredAtOnceTests {
    private var bench = Bench([
        Route(pattern: try! TopicPattern("/value/{id}"), retain: true, window: .milliseconds(100))
    ])

    private mutating func publish(_ topic: String, _ options: PublishOptions = PublishOptions()) -> [Effect] {
        var options = options
        options.lifetime = .zero
        return bench.take(
            .published(Publication(topic: try! Topic(topic), title: "", body: "", options: options, sender: ":1.1")))
    }

    @Test mutating func itIsAnnouncedAndExpired() {
        bench.take(.server(.ready))
        let effects = publish("/post/1")
        #expect(effects.outcomes == [EventID(1): .expired])
        #expect(bench.router.undecidedCount == 0)
        #expect(bench.wait(.seconds(10)).banners.isEmpty)
        #expect(bench.router.statistics[.expired] == 1)
        // A claim of it only marks it as read, which the journal does.
        #expect(!bench.router.remembers(EventID(1)))
    }

    @Test mutating func aScreenStillClaimsIt() {
        bench.take(.screenOpened(try! TopicPrefix("/post"), try! ScreenOptions([]), by: ":1.2"))
        #expect(publish("/post/1").outcomes == [EventID(1): .claimed])
    }

    @Test mutating func itIsNoValueAndLeavesTheOneThereIs() {
        bench.publish("/value/1")
        #expect(bench.router.names.values[try! Topic("/value/1")]?.id == EventID(1))
        _ = publish("/value/1")
        #expect(bench.router.names.values[try! Topic("/value/1")]?.id == EventID(1))
        var options = PublishOptions()
        options.retain = true
        _ = publish("/post/2", options)
        #expect(bench.router.names.values[try! Topic("/post/2")] == nil)
    }

    @Test mutating func itTakesThePlaceOfAnEarlierOne() {
        bench.take(.server(.ready))
        let first = bench.publish("/post/1", collapse: "k")
        bench.take(.banner(bench.wait(.milliseconds(100)).banners[0].call, .shown(BannerID(7))))
        var options = PublishOptions()
        options.collapse = "k"
        let effects = publish("/post/1", options)
        #expect(effects.outcomes == [first: .replaced, EventID(2): .expired])
        #expect(effects.closed == [BannerID(7)])
    }
}
