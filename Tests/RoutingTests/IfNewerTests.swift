import Testing

@testable import Routing

/// `if-newer`: values end the same on every device, in whatever order they arrive.
struct IfNewerTests {
    private let topic = try! Topic("/value")
    private var bench = Bench([], limits: Self.limits)

    private static var limits: Limits {
        var limits = Limits()
        limits.removals = 2
        return limits
    }

    init() { bench.setDevice("0d") }

    private func options(
        _ published: Int64?, _ name: String? = nil, removal: Bool = false, ifNewer: Bool = true
    ) -> PublishOptions {
        var options = PublishOptions()
        options.published = published
        if let name { options.origin = Origin(source: "test", eventID: name) }
        options.remove = removal
        if !removal { options.retain = true }
        options.ifNewer = ifNewer
        return options
    }

    private var value: EventID? { bench.router.names.values[topic]?.id }

    @Test mutating func theLaterOneIsTheValueInEitherOrder() {
        let old = options(1_000)
        let new = options(2_000)
        bench.publish("/value", options: old)
        let second = bench.publish("/value", options: new)
        #expect(value == second)
        bench.publish("/value", options: old)
        #expect(value == second)
        // The same once more is not newer.
        bench.publish("/value", options: new)
        #expect(value != second)
        bench.publish("/value", options: options(2_000, "a"))
        #expect(value != second)
    }

    @Test(arguments: [
        (("b", "1"), ("a", "2"), true), (("a", "2"), ("a", "10"), true), (("a", "1"), ("a", "1"), false),
        (("A", "9"), ("a", "1"), false), (("é", "1"), ("z", "1"), true), (("a", "1"), ("ab", "0"), false),
    ])
    func ofTwoAtTheSameTimeTheGreaterNameWins(
        _ name: (String, String), other: (String, String), isNewer: Bool
    ) {
        func version(_ name: (String, String)) -> ValueVersion {
            ValueVersion(published: 5, id: EventID(1), origin: Origin(source: name.0, eventID: name.1))
        }
        #expect(version(name).isNewer(than: version(other), on: "0d") == isNewer)
    }

    @Test func withoutANameOfItsOwnTheDeviceAndTheIDAreItsName() {
        func version(_ id: UInt64, _ origin: Origin = Origin()) -> ValueVersion {
            ValueVersion(published: 5, id: EventID(id), origin: origin)
        }
        // As text: 9 is above 10.
        #expect(version(9).isNewer(than: version(10), on: "0d"))
        #expect(version(1, Origin(source: "notifyd:0e", eventID: "1")).isNewer(than: version(9), on: "0d"))
        #expect(!version(1, Origin(source: "notifyd:0d", eventID: "9")).isNewer(than: version(9), on: "0d"))
        // Half a name is none.
        #expect(version(9, Origin(source: "z")).isNewer(than: version(10), on: "0d"))
    }

    @Test mutating func whatLosesIsAnOrdinaryEventWithoutABanner() throws {
        let current = bench.publish("/value", options: options(2_000))
        let effects = bench.push("/value", options(1_000))
        guard case .announce(let event, let announcement)? = effects.first else { throw CancellationError() }
        #expect(!event.retained && event.published == 1_000)
        #expect(announcement.silence == .newerValue && announcement.silence?.decider == "publisher")
        #expect(value == current)
        #expect(bench.router.statistics[.silent] == 1)
    }

    /// It would hide the newer one.
    @Test mutating func whatLosesTakesNobodysPlace() {
        bench.take(.server(.ready))
        var newer = options(2_000)
        newer.ifNewer = true
        let current = bench.publish("/value", collapse: "k", options: newer)
        bench.publish("/value", collapse: "k", options: options(1_000))
        #expect(bench.wait(.milliseconds(100)).banners.map(\.newest.id) == [current])
    }

    @Test mutating func aRemovalCountsAsAValueForFourWeeks() {
        bench.publish("/value", options: options(1_000))
        bench.publish("/value", options: options(3_000, removal: true))
        #expect(value == nil)
        bench.publish("/value", options: options(2_000))
        #expect(value == nil)
        bench.wait(.seconds(28 * 24 * 3600 - 1))
        bench.publish("/value", options: options(2_000))
        #expect(value == nil)
        bench.wait(.seconds(1))
        bench.publish("/value", options: options(2_000))
        #expect(value != nil)
    }

    @Test mutating func aRemovalThatComesTooLateChangesNothing() {
        let current = bench.publish("/value", options: options(2_000))
        let effects = bench.push("/value", options(1_000, "r", removal: true))
        #expect(value == current)
        let removals = effects.compactMap { effect -> Bool? in
            guard case .remove(let removal, let version, let isNews) = effect else { return nil }
            return removal.cause == .publisher && removal.published == 1_000 && version == nil && !isNews
        }
        #expect(removals == [true])
        bench.publish("/value", options: options(1_500))
        #expect(value == current)
    }

    /// Other devices may still have to hear of a value between the two.
    @Test mutating func anExpiredValueStillCountsAndNothingElse() {
        bench.publish("/value", lifetime: .seconds(10), options: options(2_000))
        bench.wait(.seconds(10))
        #expect(value == nil)
        bench.publish("/value", options: options(1_000))
        #expect(value == nil)
        bench.publish("/value", options: options(2_001))
        #expect(value != nil)
    }

    @Test mutating func aNewerValueThatIsOverEndsAnOlderOne() {
        bench.publish("/value", options: options(1_000))
        var over = options(2_000)
        over.lifetime = .zero
        let effects = bench.push("/value", over)
        #expect(effects.outcomes == [EventID(2): .expired])
        let removals = effects.compactMap { effect -> String? in
            guard case .remove(let removal, let version?, true) = effect else { return nil }
            return "\(removal.id) \(removal.cause) \(removal.published ?? 0) \(version.id)"
        }
        #expect(removals == ["3 replaced 2000 2"])
        #expect(value == nil)
        bench.publish("/value", options: options(1_500))
        #expect(value == nil)
        // One that is older leaves the value as it is.
        let current = bench.publish("/value", options: options(3_000))
        bench.publish("/value", options: over)
        #expect(value == current)
    }

    @Test mutating func withoutIfNewerAValueIsLaterThanTheLastOne() {
        bench.publish("/value", options: options(5_000))
        let slow = bench.publish("/value", options: options(1_000, ifNewer: false))
        #expect(value == slow && bench.router.event(slow)?.published == 5_001)
        // Without a time the clock of the daemon counts, 0 here.
        bench.publish("/value", options: options(nil, removal: true, ifNewer: false))
        #expect(value == nil)
        bench.publish("/value", options: options(5_001))
        #expect(value == nil)
        let next = bench.publish("/value", options: options(6_000, ifNewer: false))
        #expect(bench.router.event(next)?.published == 6_000)
        // There is no later time.
        bench.publish("/value", options: options(.max))
        let last = bench.publish("/value", options: options(nil, ifNewer: false))
        #expect(value == last && bench.router.event(last)?.published == .max)
    }

    @Test mutating func theOldestRemovalsMakeRoom() {
        for name in ["/a", "/b", "/a", "/c"] {
            bench.publish(name, options: options(1_000, removal: true, ifNewer: false))
        }
        #expect(bench.router.rememberedRemovals.map(\.topic.description) == ["/a", "/c"])
        bench.publish("/a", options: options(500))
        bench.publish("/b", options: options(500))
        #expect(bench.router.names.values[try! Topic("/a")] == nil)
        #expect(bench.router.names.values[try! Topic("/b")] != nil)
    }

    @Test mutating func removalsOfAnEarlierRunCount() {
        let version = ValueVersion(published: 2_000, id: EventID(1), origin: Origin())
        var restoration = Restoration()
        restoration.lastID = EventID(9)
        restoration.tombstones = [
            .init(Tombstone(topic: topic, version: version, removal: EventID(1)), left: .seconds(10)),
            .init(Tombstone(topic: try! Topic("/gone"), version: version, removal: EventID(2)), left: .zero),
        ]
        bench.take(.restored(restoration))
        bench.publish("/value", options: options(1_000))
        #expect(value == nil)
        bench.publish("/gone", options: options(1_000))
        #expect(bench.router.names.values[try! Topic("/gone")] != nil)
        bench.wait(.seconds(10))
        bench.publish("/value", options: options(1_000))
        #expect(value != nil)
    }
}
