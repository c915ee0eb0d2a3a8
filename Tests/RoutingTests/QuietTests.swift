import Testing

@testable import Routing

/// Pauses and mutes: each ends by itself, and by its own word.
struct QuietTests {
    private let post = try! TopicPrefix("/post")
    private let one = try! TopicPrefix("/post/1")

    @Test func aMuteIsTakenBackByItsOwnTopicAlone() {
        var bench = Bench()
        bench.take(.muted(post, for: .seconds(60)))
        bench.take(.muted(.all, for: .seconds(60)))
        #expect(bench.take(.muted(.all, for: .zero)).quietChanges == 1)
        #expect(bench.router.quiet.map(\.topic) == [post])
        #expect(bench.take(.muted(one, for: .zero)).quietChanges == 0)
        let id = bench.publish("/post/1")
        #expect(bench.wait(.milliseconds(100)).resolutions[id]?.quiet?.topic == post)
    }

    @Test func anOutcomeNamesTheNearestMuteAndThePauseBeforeAll() {
        var bench = Bench()
        bench.take(.muted(.all, for: .seconds(60)))
        bench.take(.muted(post, for: .seconds(60)))
        bench.take(.muted(try! TopicPrefix("/pos"), for: .seconds(60)))
        func cause(_ topic: String) -> Quiet? {
            let id = bench.publish(topic)
            return bench.wait(.milliseconds(100)).resolutions[id]?.quiet
        }
        #expect(cause("/post/1")?.topic == post)
        #expect(cause("/post")?.topic == post)
        #expect(cause("/chat")?.topic == .all)
        bench.take(.pausedFor(.seconds(60)))
        #expect(cause("/post/1")?.cause == .paused)
    }

    @Test func aPauseEndsByItselfAndAMuteOfEverythingStays() {
        var bench = Bench()
        #expect(bench.take(.pausedFor(.seconds(5))).quietChanges == 1)
        bench.take(.muted(.all, for: .seconds(60)))
        #expect(bench.router.pausesBanners)
        #expect(bench.wait(.seconds(5)).quietChanges == 1)
        #expect(!bench.router.pausesBanners)
        #expect(bench.router.quiet.map(\.cause) == [.muted])
        #expect(bench.wait(.seconds(55)).quietChanges == 1)
        #expect(bench.router.quiet.isEmpty)
    }

    @Test func aPauseOfNoLengthLastsUntilItIsTakenBack() {
        var bench = Bench()
        bench.take(.pausedFor(.seconds(5)))
        bench.take(.pausedFor(.zero))
        bench.wait(.seconds(3600))
        #expect(bench.router.quiet == [Quiet(.all, .paused, ends: nil)])
        #expect(bench.take(.paused(true)).quietChanges == 0)
        #expect(bench.take(.paused(false)).quietChanges == 1)
        #expect(bench.take(.paused(false)).quietChanges == 0)
    }

    @Test func whatAnEarlierRunWasToldGoesOnUnlessSomethingNewerWasSaid() {
        var bench = Bench()
        bench.take(.muted(one, for: .seconds(3600)))
        var restoration = Restoration()
        restoration.quiet = [
            (topic: .all, cause: .paused, left: nil), (topic: post, cause: .muted, left: .seconds(10)),
            (topic: one, cause: .muted, left: .seconds(10)), (topic: .all, cause: .muted, left: .seconds(-1)),
        ]
        #expect(bench.take(.restored(restoration)).quietChanges == 1)
        #expect(bench.router.quiet.map(\.topic) == [.all, post, one])
        #expect(bench.router.pausesBanners)
        bench.wait(.seconds(10))
        #expect(bench.router.quiet.map(\.topic) == [.all, one])
    }
}

extension [Effect] {
    fileprivate var quietChanges: Int { count { if case .quietChanged = $0 { true } else { false } } }
}
