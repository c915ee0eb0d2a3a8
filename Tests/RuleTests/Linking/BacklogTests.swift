import Routing
import Testing

@testable import Linking

/// What waits to be said, and what is too long for the broker.
struct BacklogTests {
    private func row(_ number: UInt64, via: String = "", title: String = "", retained: Bool = false) -> Change {
        Change(
            number: number, via: via,
            content: .event(
                SharedEvent(
                    name: GlobalName(device: LinkTests.own, id: number), topic: LinkTests.topic, title: title, body: "",
                    published: 1, expires: 1_800_000_000_000_000, isRetained: retained)))
    }

    private func reading(_ effects: [LinkEffect]) -> (token: ReadToken, after: UInt64)? {
        for case .readChanges(let token, let after, _) in effects { return (token, after) }
        return nil
    }

    /// A bench whose first readings are answered.
    private func settled(change: (inout LinkLimits) -> Void = { _ in }) -> LinkTests.Bench {
        let bench = LinkTests.Bench(change: change)
        answer(bench, [])
        return bench
    }

    @discardableResult
    private func answer(_ bench: LinkTests.Bench, _ rows: [Change], isLast: Bool = true) -> UInt64? {
        guard let (token, after) = reading(bench.effects) else { return nil }
        bench.give(.changes(token, ChangesPage(changes: rows, isLast: isLast)))
        return after
    }

    private func said(_ effects: [LinkEffect]) -> [(token: MessageToken, address: Address, entry: StreamEntry)] {
        effects.compactMap { effect in
            guard case .send(let token, let address, let message?) = effect, case .entry(let entry) = message.body
            else {
                return nil
            }
            return (token, address, entry)
        }
    }

    // MARK: The broker is away

    private func isNoticed(_ effects: [LinkEffect]) -> Bool {
        effects.contains { if case .subscribeAgain = $0 { true } else { false } }
    }

    /// What others said may be taken while the broker is away; then a backup of the journal has less of it.
    @Test func aJournalThatIsRestoredWhileTheBrokerIsAwayIsNoticed() {
        let bench = settled()
        bench.hear(
            .description(LinkTests.other),
            .description(Description(counter: 1, name: "laptop", first: 1, last: 5, attended: [])))
        bench.give(.disconnected)
        bench.wait(seconds: 1)
        #expect(answer(bench, [row(2000, via: "mqtt")]) == 1000)
        // notifyd has another journal, which ends before that.
        bench.give(.daemonVanished)
        bench.give(.daemonAppeared)
        bench.wait(seconds: 1)
        answer(bench, [Change(number: 3000, lastBeforeStart: 1500)])
        #expect(isNoticed(bench.effects))
        // It is noticed once.
        bench.give(.connecting)
        bench.give(.connected)
        answer(bench, [Change(number: 3000, lastBeforeStart: 1500)])
        #expect(!isNoticed(bench.effects))
    }

    /// The broker has kept what this device said after the backup was made.
    @Test func ownValuesThatABackupLacksComeBack() throws {
        let bench = settled()
        bench.give(.journalChanged)
        answer(bench, [row(2000, retained: true)])
        let value = try #require(said(bench.effects).first { if case .value = $0.address { true } else { false } })
        func hearValue() -> [GlobalName] {
            let message = Message(device: LinkTests.own, at: 1_700_000_000_000_000, body: .entry(value.entry))
            let effects = bench.give(
                .received(
                    Delivery(
                        address: value.address, isRetained: true,
                        content: .message(message, signer: nil))))
            return effects.compactMap { if case .publish(_, let event, _, _) = $0 { event.name } else { nil } }
        }
        #expect(hearValue().isEmpty)
        bench.give(.daemonVanished)
        bench.give(.daemonAppeared)
        answer(bench, [Change(number: 3000, lastBeforeStart: 1500)])
        #expect(isNoticed(bench.effects))
        #expect(hearValue() == [GlobalName(device: LinkTests.own, id: 2000)])
    }

    @Test func rowsAreCountedWhileTheBrokerIsAway() {
        let bench = settled()
        bench.give(.disconnected)
        bench.wait(seconds: 1)
        #expect(answer(bench, []) == 1000)
        bench.give(.journalChanged)
        // Not at once: a flood costs little.
        #expect(reading(bench.effects) == nil)
        bench.wait(seconds: 1)
        #expect(answer(bench, [row(1001), row(1002, via: "mqtt"), row(1003)], isLast: false) == 1000)
        #expect(bench.link.backlog == 2)
        bench.wait(seconds: 1)
        #expect(answer(bench, [row(1004)]) == 1003)
        #expect(bench.link.backlog == 3 && bench.link.out.rows.isEmpty)
        bench.wait(seconds: 60)
        #expect(reading(bench.effects) == nil, "it reads although nothing has changed")
    }

    @Test func whatTheBrokerAcknowledgesWaitsNoLonger() {
        let bench = settled()
        bench.give(.disconnected)
        bench.wait(seconds: 1)
        answer(bench, [row(1001), row(1002)])
        bench.give(.connecting)
        bench.give(.connected)
        #expect(answer(bench, [row(1001), row(1002), row(1003)]) == 1000)
        #expect(bench.link.backlog == 3)
        let tokens = said(bench.effects).map(\.token)
        #expect(tokens.count == 3)
        bench.give(.acknowledged(tokens[0]))
        #expect(bench.link.backlog == 2)
        // Said again, and counted once.
        bench.give(.disconnected)
        bench.give(.connecting)
        bench.give(.connected)
        answer(bench, [row(1002), row(1003)])
        #expect(bench.link.backlog == 2)
        for (token, _, _) in said(bench.effects) { bench.give(.acknowledged(token)) }
        #expect(bench.link.backlog == 0)
    }

    @Test(arguments: ["local:map:x", "local:desktop", "desktop"])
    func whatStaysOnItsDeviceIsNotSaid(_ source: String) {
        let bench = LinkTests.Bench()
        let name = GlobalName(source: source, eventID: "1")
        let event = SharedEvent(
            name: name, topic: LinkTests.topic, title: "A code", body: "", published: 1, expires: 1_800_000_000_000_000)
        let kinds: [StreamEntry.Content] = [
            .event(event), .claim(SharedClaim(name: name, topic: LinkTests.topic, form: .claimed, place: "")),
            .removal(SharedRemoval(name: name, topic: LinkTests.topic, published: 1)),
        ]
        answer(
            bench,
            [row(1001, via: "mqtt:/map")] + zip(1002..., kinds).map { Change(number: $0, content: $1) } + [row(1005)])
        let expected: Set<UInt64> = source == "desktop" ? [1002, 1003, 1004, 1005] : [1005]
        #expect(Set(said(bench.effects).map(\.entry.number)) == expected)
    }

    @Test func countingEnds() {
        let bench = settled { $0.countedRows = 2 }
        bench.give(.disconnected)
        bench.wait(seconds: 1)
        answer(bench, [row(1001), row(1002)], isLast: false)
        bench.wait(seconds: 10)
        #expect(reading(bench.effects) == nil)
        #expect(bench.link.backlog == 2)
    }

    // MARK: Too long

    private static let long = String(repeating: "x", count: 5000)

    @Test func whatIsTooLongForTheBrokerIsADeadLetterAndPassed() {
        let bench = LinkTests.Bench()
        bench.give(.textLimited(Message.shortestLimit))
        answer(bench, [row(1001), row(1002, title: Self.long, retained: true), row(1003)])
        var letters: [RejectedEntry] = []
        for case .reject(let letter) in bench.effects { letters.append(letter) }
        #expect(letters.map(\.device) == [LinkTests.own])
        #expect(letters.first?.reason.contains("3072") == true)
        let all = said(bench.effects)
        #expect(all.map(\.entry.number) == [1001, 1002, 1003])
        #expect(all.map(\.entry.previous) == [1000, 1001, 1002])
        #expect(all.map { $0.entry.content == .nothing } == [false, true, false])
        for (token, _, _) in all { bench.give(.acknowledged(token)) }
        #expect(bench.link.backlog == 0)
    }

    @Test func aRefusedMessageIsSaidAsNothing() {
        let bench = LinkTests.Bench()
        answer(bench, [row(1001), row(1002, title: Self.long)])
        let first = said(bench.effects)
        #expect(first.map { $0.entry.content == .nothing } == [false, false])
        bench.give(.acknowledged(first[0].token))
        bench.give(.textLimited(5000))
        #expect(answer(bench, [row(1002, title: Self.long)]) == 1001)
        #expect(said(bench.effects).map(\.entry) == [StreamEntry(number: 1002, previous: 1001, content: .nothing)])
        #expect(bench.effects.contains { if case .reject = $0 { true } else { false } })
        // It is told once, however often it is said.
        bench.give(.disconnected)
        bench.give(.connecting)
        bench.give(.connected)
        answer(bench, [row(1002, title: Self.long)])
        #expect(!bench.effects.contains { if case .reject = $0 { true } else { false } })
        #expect(said(bench.effects).map(\.entry.content) == [.nothing])
    }

    @Test func anAnswerFitsIntoAMessage() {
        let bench = settled()
        bench.give(.textLimited(Message.shortestLimit))
        bench.hear(.presence(LinkTests.other), .presence(Presence(connection: 1, isOnline: true)))
        bench.hear(.questions(LinkTests.own), .question(Question(id: 1, after: 1000, through: 1010)))
        answer(bench, [row(1001, title: Self.long)] + (1002...1010).map { row($0, title: "\(Self.long.prefix(600))") })
        var answers: [Answer] = []
        for case .send(_, .answers, let message?) in bench.effects {
            #expect(message.encoded.count <= Message.shortestLimit)
            if case .answer(let answer) = message.body { answers.append(answer) }
        }
        #expect(answers.first?.items.first?.content == .nothing)
        #expect(answers.first.map { $0.through > 1001 && $0.through < 1010 } == true)
    }

    /// Gives the rows to everything that is read, and returns how many items each answer has.
    private func answers(_ bench: LinkTests.Bench, _ rows: [Change]) -> [Int] {
        var counts: [Int] = []
        var effects = bench.effects
        while !effects.isEmpty {
            switch effects.removeFirst() {
            case .readChanges(let token, let after, _):
                bench.give(.changes(token, ChangesPage(changes: rows.filter { $0.number > after }, isLast: true)))
                effects += bench.effects
            case .send(_, .answers, let message?):
                if case .answer(let answer) = message.body { counts.append(answer.items.count) }
            default: break
            }
        }
        return counts
    }

    private func ask(_ bench: LinkTests.Bench, _ number: UInt64) {
        bench.hear(.presence(LinkTests.other), .presence(Presence(connection: number, isOnline: true)))
        bench.hear(.questions(LinkTests.own), .question(Question(id: number, after: 1000, through: 1020)))
    }

    /// Some brokers refuse a long message and do not say what they take.
    @Test func anAnswerThatIsRefusedIsFollowedByAShorterOne() {
        let bench = settled()
        let rows = (1001...1020).map { row($0, title: "\(Self.long.prefix(1000))") }
        ask(bench, 1)
        var counts = answers(bench, rows)
        for count in 1...3 {
            bench.give(.textLimited(Message.maximumTextBytes - count))
            counts += answers(bench, rows)
        }
        #expect(counts.first == 20 && counts.count >= 3)
        #expect(counts.dropFirst().allSatisfy { (1...5).contains($0) })
    }

    /// Others end the connection, and are asked again on the next one.
    @Test func anAnswerThatEndsTheConnectionIsFollowedByAShorterOne() {
        let bench = settled()
        let rows = (1001...1020).map { row($0, title: "\(Self.long.prefix(1000))") }
        var counts: [Int] = []
        for number in 1...3 as ClosedRange<UInt64> {
            ask(bench, number)
            counts += answers(bench, rows)
            bench.give(.disconnected)
            bench.give(.connecting)
            bench.give(.connected)
            _ = answers(bench, rows)
        }
        #expect(counts.first == 20 && counts.count == 3)
        #expect(counts.dropFirst().allSatisfy { (1...5).contains($0) })
    }
}
