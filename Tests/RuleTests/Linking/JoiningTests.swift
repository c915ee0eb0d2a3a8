import Routing
import Testing

@testable import Linking

/// A device that is new, or back: what was before it, what is missing, and what it has said itself.
struct JoiningTests {
    private typealias Bench = LinkTests.Bench

    private func published(_ effects: [LinkEffect]) -> [String] {
        effects.compactMap { if case .publish(_, let event, _, _) = $0 { event.name.eventID } else { nil } }
    }

    private func questions(_ effects: [LinkEffect]) -> [Question] {
        effects.compactMap { effect in
            if case .send(_, _, let message?) = effect, case .question(let question) = message.body {
                question
            } else {
                nil
            }
        }
    }

    private func describe(_ bench: Bench, last: UInt64) {
        bench.hear(
            .description(LinkTests.other),
            .description(Description(counter: last, name: "laptop", first: 1, last: last, attended: [])))
    }

    /// A device that crashes as soon as it has connected begins at the same place again.
    @Test func nothingIsSaidBeforeItIsOnDiskWhereTheStreamBegins() throws {
        let own = Configuration(kind: .link, name: "desk", isSealed: true) { _ in
            Digest("00000000000000000000000000000000")!
        }
        var link = Link(LinkTests.own, own, seed: 1)
        let now = Link.Now(uptime: Uptime(microseconds: 0), wall: 1_700_000_000_000_000)
        var effects = [LinkInput.started, .daemonAppeared, .connecting].flatMap { link.handle($0, at: now) }
        effects += link.handle(.newest(1000), at: now)
        func isConnect(_ effect: LinkEffect) -> Bool { if case .connect = effect { true } else { false } }
        #expect(!effects.contains(where: isConnect))
        let stores = effects.compactMap { effect in
            if case .store(let token, let records) = effect { (token, records) } else { nil }
        }
        let (token, records) = try #require(stores.first)
        let firsts = records.compactMap { if case .line(let line) = $0 { line.first } else { nil } }
        #expect(firsts == [1000])
        #expect(link.handle(.stored(token), at: now).contains(where: isConnect))
    }

    /// A device that had the wrong key at first still begins with the present.
    @Test func whoHasTheWrongKeyIsNewUntilItHasTheRightOne() {
        let bench = Bench(isConnected: false)
        bench.give(.connecting)
        bench.give(.connected)
        bench.give(
            .received(
                Delivery(
                    address: .description(LinkTests.other), isRetained: true,
                    content: .unopened)))
        bench.wait(seconds: 60)
        bench.give(.disconnected)
        bench.give(.connecting)
        bench.give(.connected)
        describe(bench, last: 500)
        bench.wait(seconds: 60)
        #expect(questions(bench.effects).isEmpty && bench.link.peerStates.allSatisfy { !$0.isBehind })
    }

    /// A session has what this program said before it was killed. The broker sends it before it answers the
    /// subscription.
    @Test func ownMessagesOfTheSessionAreOfNoSecondMachine() {
        let bench = Bench(
            [
                .line(
                    LineRecord(
                        first: 1, cursor: .init(scanned: 1000, sent: 1000), seen: 1000, connection: 1, counter: 1,
                        hasJoined: true, version: Message.version))
            ], isConnected: false)
        bench.give(.connecting)
        for number in 1001...1020 as ClosedRange<UInt64> {
            bench.hear(
                .stream(LinkTests.own),
                .entry(StreamEntry(number: number, previous: number - 1, content: .event(bench.event(number)))),
                from: LinkTests.own)
        }
        bench.time += 1_000_000
        let effects = bench.give(.connected)
        #expect(!effects.contains { if case .fail = $0 { true } else { false } })
    }

    /// What the broker has kept of a description may be older than the last event.
    @Test func aNewDeviceBeginsWithThePresentThoughTheDescriptionIsOld() {
        let bench = Bench()
        describe(bench, last: 2000)
        #expect(published(bench.hearEvent(2011, previous: 2010)) == ["2011"])
        // From then on everything counts.
        #expect(published(bench.hearEvent(2013, previous: 2012)) == ["2013"])
        let asked = (0..<10).flatMap { _ in questions(bench.wait(seconds: 1)) }
        #expect(asked.map(\.after) == [2011] && asked.map(\.through) == [2012])

        let another = Bench()
        describe(another, last: 2000)
        describe(another, last: 2010)
        #expect((0..<10).flatMap { _ in questions(another.wait(seconds: 1)) }.isEmpty)
    }

    /// The broker is lost while a device joins. What the other says meanwhile is missing, and no past.
    @Test func whatIsSaidBetweenTwoConnectionsIsMissed() {
        let bench = Bench()
        describe(bench, last: 2000)
        bench.give(.disconnected)
        bench.time += 1_000_000
        bench.give(.connecting)
        bench.give(.connected)
        bench.hear(.presence(LinkTests.other), .presence(Presence(connection: 6, isOnline: true)))
        describe(bench, last: 2001)
        let asked = (0..<10).flatMap { _ in questions(bench.wait(seconds: 1)) }
        #expect(asked.first?.after == 2000 && asked.first?.through == 2001)
    }

    /// Somebody who has recorded it sends it again.
    @Test func whatWasSaidBeforeIsNothingForANewDevice() {
        let bench = Bench()
        describe(bench, last: 2000)
        bench.time -= 61_000_000
        #expect(published(bench.hearEvent(2005, previous: 2004)).isEmpty)
        bench.time += 61_000_000
        #expect(published(bench.hearEvent(2011, previous: 2010)) == ["2011"])
    }

    /// A description is 10 s old at most; who connects in between is not to wait for the next one.
    @Test func whoConnectsIsDescribedTo() {
        let bench = Bench()
        func answer(_ effects: [LinkEffect], _ number: UInt64) {
            let row = Change(number: number, content: .event(bench.event(number)))
            for case .readChanges(let token, _, _) in effects {
                bench.give(.changes(token, ChangesPage(changes: [row], isLast: true)))
            }
            for case .send(let token, .stream, _) in bench.effects { bench.give(.acknowledged(token)) }
        }
        answer(bench.effects, 1001)
        bench.wait(seconds: 10)
        answer(bench.give(.journalChanged), 1002)
        #expect(bench.descriptions == [])
        bench.wait(seconds: 2)
        bench.hear(.presence(LinkTests.other), .presence(Presence(connection: 5, isOnline: true)))
        #expect(bench.descriptions == [1002])
        // Nothing new, or the same connection: nothing to say.
        bench.hear(.presence(LinkTests.other), .presence(Presence(connection: 6, isOnline: true)))
        #expect(bench.descriptions == [])
    }
}
