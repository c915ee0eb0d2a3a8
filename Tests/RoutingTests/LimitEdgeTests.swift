import Testing

@testable import Routing

/// Every limit at its edge: what reaches it is accepted, one more is refused, and the refusal names it and the way out.
@Suite struct LimitEdgeTests {
    /// What reaches one limit, step by step.
    struct Edge: Sendable, CustomTestStringConvertible {
        /// How the refusal begins.
        let name: String
        /// What the refusal advises.
        let advice: String
        /// How many are accepted.
        let count: Int
        var limits = Limits()
        let input: @Sendable (Int) -> Call

        var testDescription: String { name }
    }

    static let edges = [
        Edge(name: "undecided events: there are 100000", advice: "try again", count: 100_000) {
            publish($0, from: $0 / 10_000)
        },
        Edge(name: "undecided events of one program: there are 10000", advice: "try again", count: 10_000) {
            publish($0)
        },
        Edge(name: "bytes of undecided events: ", advice: "try again", count: 40, limits: narrow(\.undecidedBytes, 40))
        {
            publish($0, from: $0)
        },
        Edge(
            name: "bytes of undecided events of one program: ", advice: "try again", count: 40,
            limits: narrow(\.undecidedBytesPerProgram, 40)
        ) { publish($0) },
        Edge(name: "current values: 10000", advice: "'remove'", count: 10_000) { publish($0, retained: true) },
        Edge(name: "bytes of current values: ", advice: "'remove'", count: 40, limits: narrow(\.valueBytes, 40)) {
            publish($0, retained: true)
        },
        Edge(name: "screens: 10000", advice: "close one", count: 10_000) { open($0, by: $0 / 256) },
        Edge(name: "screens of one connection: 256", advice: "close one", count: 256) { open($0) },
        Edge(name: "topic claims with a grace: 10000", advice: "try again", count: 10_000) { claim($0, by: $0 / 256) },
        Edge(name: "topic claims with a grace of one program: 1000", advice: "try again", count: 1_000) { claim($0) },
        Edge(name: "provisional claims: 3", advice: "use Claim", count: 4, limits: holding(\.holds)) {
            $0 == 0 ? publish(0) : hold(by: $0)
        },
        Edge(
            name: "provisional claims of one program: 3", advice: "confirm or release", count: 7,
            limits: holding(\.holdsPerProgram)
        ) {
            $0 % 2 == 0
                ? publish($0) : .claimedProvisionally(EventID(UInt64($0 / 2 + 1)), within: .seconds(60), by: ":1.1")
        },
        Edge(name: "mutes: 1000", advice: "unmute one", count: 1_000) { .quieted(topic($0), for: .seconds(60)) },
        Edge(
            name: "questions to screens: 3", advice: "claimed or passed", count: 4,
            limits: {
                var limits = Limits()
                limits.questions = 3
                return limits
            }()
        ) { $0 == 0 ? ask : publish($0) },
    ]

    @Test(arguments: edges) func oneMoreIsRefused(_ edge: Edge) throws {
        var router = Router(
            routes: RouteTable(fallback: Route(pattern: nil, window: .seconds(60))), limits: edge.limits,
            firstID: EventID(1))
        for number in 0..<edge.count {
            if case .failure(let refusal) = answer(&router, edge.input(number)) {
                Issue.record("number \(number + 1) of \(edge.count) is refused: \(refusal)")
                return
            }
        }
        let text = try #require(answer(&router, edge.input(edge.count)).refused(Refusal.limitExceeded))
        #expect(text.hasPrefix(edge.name))
        #expect(text.contains(edge.advice))
        #expect(router.statistics[.refused] == 1)
    }

    @Test func timesAreAcceptedUpToTheirLimits() throws {
        var router = Router(
            routes: RouteTable(fallback: Route(pattern: nil, window: .seconds(60))), firstID: EventID(1))
        _ = answer(&router, Self.publish(0))
        let accepted: [Call] = [
            .claimedProvisionally(EventID(1), within: .seconds(600), by: ":1.1"),
            .topicClaimed(.all, .grace(.seconds(10)), by: ":1.1"),
        ]
        let refused: [Call] = [
            .claimedProvisionally(EventID(1), within: .milliseconds(600_001), by: ":1.1"),
            .topicClaimed(.all, .grace(.milliseconds(10_001)), by: ":1.1"),
        ]
        for input in refused {
            #expect(answer(&router, input).refused(Refusal.limitExceeded) != nil, "\(input)")
        }
        for input in accepted {
            if case .failure(let refusal) = answer(&router, input) { Issue.record("\(input): \(refusal)") }
        }
    }

    @Test func whatOthersMayStillSendIsNotTouchedByTheBytesOfOne() throws {
        var router = Router(
            routes: RouteTable(fallback: Route(pattern: nil, window: .seconds(60))),
            limits: Self.narrow(\.undecidedBytesPerProgram, 2), firstID: EventID(1))
        for number in 0..<3 { _ = answer(&router, Self.publish(number)) }
        #expect(router.statistics[.refused] == 1)
        #expect(answer(&router, Self.publish(3, from: 1)) == .success(.accepted(EventID(3))))
        _ = router.handle(.claimed(EventID(1), by: ":1.9"), at: Self.now)
        #expect(answer(&router, Self.publish(4)) == .success(.accepted(EventID(4))))
    }

    @Test func theOldestNamesAreForgottenWhenTheyTakeTooMuch() {
        let origins = (1...3).map { Origin(source: "chat", eventID: "\($0)") }
        var deduplicator = Deduplicator(
            capacity: 100, byteCapacity: 2 * (MemoryCost.globalID + origins[0].textBytes), retention: .seconds(60))
        for (index, origin) in origins.enumerated() {
            deduplicator.record(origin, as: EventID(UInt64(index)), at: Self.now.uptime)
        }
        #expect(origins.map { deduplicator.original(of: $0, at: Self.now.uptime) } == [nil, EventID(1), EventID(2)])
        #expect(deduplicator.bytes == 2 * (MemoryCost.globalID + origins[0].textBytes))
    }

    /// A message of 64 KiB may hold as many values, and each takes more than the byte it is.
    @Test func manySmallValuesCostWhatTheyTake() {
        let bytes = FieldValue.array(of: "y", Array(repeating: .byte(1), count: 1000))
        let cost = MemoryCost.ofEvent(
            topic: try! Topic("/a"), title: "", body: "", fields: [Field(name: "bytes", value: bytes)],
            origin: Origin())
        #expect(cost > 1000 * MemoryLayout<FieldValue>.stride)
    }

    // MARK: Steps

    private static let now = Now(instant: Instant(microseconds: 1), uptime: Uptime(microseconds: 1))

    private func answer(_ router: inout Router, _ call: Call) -> Result<Reply, Refusal> {
        router.handle(call, at: Self.now).reply
    }

    /// Each takes the same room.
    private static func publish(_ number: Int, from sender: Int = 0, retained: Bool = false) -> Call {
        var options = PublishOptions()
        options.retain = retained
        if retained { options.banner = false }
        let topic = try! Topic("/post/\(1_000_000 + number)")
        return .published(Publication(topic: topic, title: "", body: "", options: options, sender: ":1.\(sender)"))
    }

    private static func narrow(_ limit: WritableKeyPath<Limits, Int>, _ count: Int) -> Limits {
        var limits = Limits()
        guard case .published(let publication) = publish(0) else { return limits }
        limits[keyPath: limit] =
            count
            * MemoryCost.ofEvent(
                topic: publication.topic, title: "", body: "", fields: [], origin: Origin())
        return limits
    }

    private static func topic(_ number: Int) -> TopicPrefix { TopicPrefix(try! Topic("/post/\(number)")) }
    private static func open(_ number: Int, by owner: Int = 0) -> Call {
        .screenOpened(topic(number), ScreenOptions(), by: ":1.\(owner)")
    }
    private static func claim(_ number: Int, by owner: Int = 0) -> Call {
        .topicClaimed(topic(number), .grace(.seconds(10)), by: ":1.\(owner)")
    }
    private static func hold(by claimant: Int) -> Call {
        .claimedProvisionally(EventID(1), within: .seconds(60), by: ":1.\(claimant)")
    }
    private static func holding(_ limit: WritableKeyPath<Limits, Int>) -> Limits {
        var limits = Limits()
        limits[keyPath: limit] = 3
        return limits
    }
    private static var ask: Call {
        var options = ScreenOptions()
        options.mode = .ask
        return .screenOpened(.all, options, by: ":1.9")
    }
}
