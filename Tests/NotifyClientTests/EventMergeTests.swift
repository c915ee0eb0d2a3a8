import Testing

@testable import NotifyClient

/// Signals and pages in every order in which they can come.
struct EventMergeTests {
    private func record(_ id: UInt64) -> RecordedEvent {
        RecordedEvent(event: Event(id: EventID(rawValue: id), topic: "/post/27"))
    }

    private func signal(_ id: UInt64, isReplayed: Bool = false) -> Event {
        Event(
            id: EventID(rawValue: id), topic: "/post/27", window: .milliseconds(100), sender: ":1.7",
            isReplayed: isReplayed)
    }

    @Test func whatIsKnownIsNotGivenAgain() {
        var merge = EventMerge(after: 10)
        #expect(merge.nextRequest == .page(after: 10))
        #expect(merge.take([record(10), record(11), record(15)]).map(\.id) == [11, 15])
        // A page may be short because its events are long: only an empty one is the end.
        #expect(merge.nextRequest == .page(after: 15))
        #expect(merge.take([]).isEmpty)
        #expect(merge.nextRequest == nil)
        merge.receive(signal(15, isReplayed: true))
        #expect(merge.nextRequest == nil)
    }

    @Test func aSignalAsksForAPageAndLendsWhatThePageLacks() {
        var merge = EventMerge(after: 10)
        _ = merge.take([])
        merge.receive(signal(12))
        #expect(merge.nextRequest == .page(after: 10))
        // The signal of 11 was dropped on the way.
        let next = merge.take([record(11), record(12)])
        #expect(next.map(\.id) == [11, 12])
        #expect(next.map(\.window) == [nil, .milliseconds(100)])
        #expect(merge.nextRequest == nil)
    }

    @Test func aSignalThatOvertakesItsPageChangesNothing() {
        var merge = EventMerge(after: 10)
        merge.receive(signal(11))
        merge.receive(signal(12))
        // The page was made before 12 was published.
        #expect(merge.take([record(11)]).map(\.id) == [11])
        merge.markIncomplete()
        #expect(merge.nextRequest == .page(after: 11))
        #expect(merge.take([record(12)]).map(\.sender) == [":1.7"])
    }

    @Test func whatIsHeardWhileThePageIsOnItsWayIsNotForgotten() {
        var merge = EventMerge(after: 10)
        #expect(merge.take([], announced: [signal(11)]).isEmpty)
        #expect(merge.nextRequest == .page(after: 10))
        #expect(merge.take([record(11)], announced: [signal(11), signal(12)]).map(\.sender) == [":1.7"])
        #expect(merge.nextRequest == .page(after: 11))
    }

    @Test func aFullPageIsFollowedByAnother() {
        var merge = EventMerge(after: 0)
        let size = UInt64(EventMerge.pageSize)
        #expect(merge.take((1...size).map(record)).count == EventMerge.pageSize)
        #expect(merge.nextRequest == .page(after: EventID(rawValue: size)))
        #expect(merge.take([]).isEmpty)
        #expect(merge.nextRequest == nil)
    }

    @Test func withoutACursorItBeginsNow() {
        var merge = EventMerge(after: nil)
        #expect(merge.nextRequest == .cursor)
        merge.begin(at: 40)
        #expect(merge.nextRequest == .page(after: 40))
    }

    @Test func whatIsHeardBeforeTheCursorIsKnownIsNew() {
        var merge = EventMerge(after: nil)
        merge.receive(signal(20, isReplayed: true))
        merge.receive(signal(39))
        merge.receive(signal(40))
        merge.begin(at: 41)
        #expect(merge.nextRequest == .page(after: 38))
        #expect(merge.take([record(39), record(40), record(41)]).map(\.id) == [39, 40, 41])
    }

    @Test func anAnswerThatIsOfNoUseIsNotAskedForAgain() {
        var merge = EventMerge(after: 10)
        #expect(merge.take((0..<1000).map { _ in record(9) }).isEmpty)
        #expect(merge.nextRequest == nil)
    }

    /// Whatever is dropped, delayed and repeated: the stream is what was published.
    @Test func everyOrderMakesTheSameStream() {
        var random = SystemRandomNumberGenerator()
        for round in 0..<200 {
            var merge = EventMerge(after: 0)
            var journal: [UInt64] = []
            var onTheWay: [Event] = []
            var stream: [UInt64] = []
            for id in UInt64(1)...60 {
                journal.append(id)
                if Bool.random(using: &random) { onTheWay.append(signal(id)) }
                if Int.random(in: 0..<10, using: &random) == 0, let again = journal.randomElement(using: &random) {
                    onTheWay.append(signal(again, isReplayed: true))
                }
                while !onTheWay.isEmpty, Bool.random(using: &random) { merge.receive(onTheWay.removeFirst()) }
                if case .page(let last)? = merge.nextRequest, Bool.random(using: &random) {
                    stream += merge.take(journal.filter { $0 > last.rawValue }.map(record)).map(\.id.rawValue)
                }
            }
            merge.markIncomplete()
            if case .page(let last)? = merge.nextRequest {
                stream += merge.take(journal.filter { $0 > last.rawValue }.map(record)).map(\.id.rawValue)
            }
            #expect(stream == journal, "round \(round)")
        }
    }
}
