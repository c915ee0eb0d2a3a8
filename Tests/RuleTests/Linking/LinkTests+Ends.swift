import Routing
import Testing

@testable import Linking

/// Two machines with one device, the commands, and what is stored when somebody leaves.
extension LinkTests {
    private static func isShared(_ effect: LinkEffect) -> MessageToken? {
        if case .send(let token, .presence(own), let message) = effect, case .presence(let presence) = message?.body,
            presence.isDuplicated
        {
            return token
        }
        return nil
    }

    private static func isEnd(_ effect: LinkEffect) -> Bool { if case .disconnect = effect { true } else { false } }

    @Test func whoFailsWithoutAConnectionConnectsToSayIt() {
        let bench = Bench([], isConnected: false)
        bench.hear(
            .stream(Self.own), .entry(StreamEntry(number: 9_000_000_000_000_000, previous: 1, content: .nothing)),
            from: Self.own)
        // The journal is behind what this device has said.
        bench.give(.newest(1000))
        #expect(bench.effects.contains { if case .fail = $0 { true } else { false } })
        #expect(!bench.effects.contains { Self.isShared($0) != nil })
        let will = bench.give(.connecting).compactMap { effect in
            if case .connect(_, let will) = effect { will } else { nil as Message? }
        }
        guard case .presence(let presence) = will.first?.body else {
            Issue.record("it does not connect")
            return
        }
        #expect(presence.isDuplicated)
        var token: MessageToken?
        // The first connection ends before the broker has it.
        for _ in 1...2 {
            bench.give(.disconnected)
            bench.give(.connecting)
            token = bench.give(.connected).compactMap(Self.isShared).first
            #expect(token != nil && !bench.effects.contains(where: Self.isEnd))
        }
        bench.give(.acknowledged(token!))
        #expect(bench.effects.contains(where: Self.isEnd))
    }

    @Test func whoHearsThatTwoMachinesShareItsDeviceStopsToo() {
        let bench = Bench()
        let presence = Presence(connection: 7, isOnline: false, isDuplicated: true)
        let token = bench.hear(.presence(Self.own), .presence(presence), from: Self.own).compactMap(Self.isShared).first
        #expect(bench.effects.contains { if case .fail(.twoMachines) = $0 { true } else { false } })
        bench.give(.acknowledged(token!))
        #expect(bench.effects.contains(where: Self.isEnd))
    }

    // MARK: Commands

    @Test func aTestGoesToWhoIsOnlineAndTakesTheTime() {
        let bench = Bench()
        let third = Device("cccccccccccccccccccccccccccccccc")!
        bench.hear(.presence(Self.other), .presence(Presence(connection: 1, isOnline: true)))
        bench.hear(.presence(third), .presence(Presence(connection: 1, isOnline: false)), from: third)
        let asked = bench.give(.test(77)).compactMap { effect -> Address? in
            if case .send(_, let address, let message) = effect, message?.body == .ping(77) { address } else { nil }
        }
        #expect(asked == [.questions(Self.other)])
        #expect(bench.link.test?.isComplete == false)
        bench.time += 5000
        bench.hear(.answers(Self.own), .pong(76))
        #expect(bench.link.test?.isComplete == false)
        bench.hear(.answers(Self.own), .pong(77))
        #expect(bench.link.test?.times == [Self.other: .microseconds(5000)])
        #expect(bench.link.test?.isComplete == true)
        #expect(bench.link.peerStates.first?.roundTrip == .microseconds(5000))
    }

    @Test func pingsAreAnsweredAsFarAsTheyAreFew() {
        let bench = Bench()
        func answers(_ effects: [LinkEffect]) -> Int {
            effects.count { effect in
                if case .send(_, .answers(Self.other), let message) = effect, case .pong = message?.body {
                    true
                } else {
                    false
                }
            }
        }
        #expect((1...100).reduce(0) { $0 + answers(bench.hear(.questions(Self.own), .ping(UInt64($1)))) } == 64)
        bench.time += 1_000_000
        #expect((1...100).reduce(0) { $0 + answers(bench.hear(.questions(Self.own), .ping(UInt64($1)))) } == 20)
    }

    /// The topics that are emptied.
    private static func emptied(_ effects: [LinkEffect]) -> [Address] {
        effects.compactMap { if case .send(_, let address, nil) = $0 { address } else { nil } }
    }

    @Test func ofAForgottenDeviceTheBrokerKeepsNothing() {
        let bench = Bench()
        bench.hearEvent(2000, previous: 1999)
        bench.give(.deviceForgotten(Self.other))
        #expect(bench.link.peerStates.isEmpty)
        #expect(Self.emptied(bench.effects) == [.description(Self.other), .presence(Self.other)])
        bench.give(.deviceForgotten(Self.other))
        #expect(Self.emptied(bench.effects).isEmpty)
    }

    @Test func whoLeavesSaysSoAndNothingMore() {
        let bench = Bench()
        var said: [Message.Body] = []
        for case .send(_, _, let message?) in bench.give(.leave) { said.append(message.body) }
        guard case .presence(let presence) = said.last else {
            Issue.record("\(said)")
            return
        }
        #expect(presence.hasLeft && !presence.isOnline)
        #expect(Self.emptied(bench.effects) == [.description(Self.own), .presence(Self.own)])
        #expect(bench.give(.journalChanged).isEmpty)
        let other = Bench()
        other.hearEvent(2000, previous: 1999)
        other.hear(.presence(Self.other), .presence(presence))
        #expect(other.link.peerStates.isEmpty)
    }

    @Test func unopenedMessagesCountWhileNothingCanBeOpened() {
        let bench = Bench()
        func hearSealed(_ address: Address) {
            bench.give(.received(Delivery(address: address, content: .unopened)))
        }
        hearSealed(.description(Self.own))
        #expect(bench.link.unopenedMessages == 0)
        hearSealed(.description(Self.other))
        hearSealed(.stream(Self.other))
        #expect(bench.link.unopenedMessages == 2)
        bench.hearEvent(2000, previous: 1999)
        hearSealed(.stream(Self.other))
        #expect(bench.link.unopenedMessages == 0)
        bench.give(.disconnected)
        bench.give(.connecting)
        bench.give(.connected)
        hearSealed(.stream(Self.other))
        #expect(bench.link.unopenedMessages == 1)
    }

    @Test func withoutAConnectionNobodyIsOnline() {
        let bench = Bench()
        bench.hearEvent(2000, previous: 1999)
        #expect(bench.link.peerStates.map(\.isOnline) == [true])
        bench.give(.disconnected)
        #expect(bench.link.peerStates.map(\.isOnline) == [false])
    }

    /// When the other device was heard, as it is stored by the effects.
    private static func heard(_ effects: [LinkEffect]) -> Int64? {
        for case .store(_, let records) in effects {
            for case .device(other, let record?) in records { return record.seen }
        }
        return nil
    }

    @Test func whenADeviceWasHeardIsStoredAtTheEnd() {
        let bench = Bench()
        bench.hearEvent(2000, previous: 1999)
        bench.wait(seconds: 600)
        bench.hearEvent(2001, previous: 2000)
        #expect(Self.heard(bench.give(.ending)) == 1_700_000_000_000_000 + bench.time)
    }

    @Test func whenADeviceGoesOfflineItIsStoredWhenItWasHeard() {
        let bench = Bench()
        bench.hear(.presence(Self.other), .presence(Presence(connection: 1, isOnline: true)))
        for case .store(let token, _) in bench.wait(seconds: 1) { bench.give(.stored(token)) }
        bench.wait(seconds: 599)
        let time = bench.time
        bench.hear(.presence(Self.other), .presence(Presence(connection: 1, isOnline: false)))
        #expect(Self.heard(bench.wait(seconds: 1)) == 1_700_000_000_000_000 + time)
    }

    @Test func aWillSaysNothingOfTheClock() {
        let bench = Bench()
        bench.hear(.presence(Self.other), .presence(Presence(connection: 1, isOnline: true)))
        let offset = bench.link.peerStates.map(\.clockOffset)
        // The broker says it now, and it was written when the connection began.
        let will = Message(
            device: Self.other, at: 1_700_000_000_000_000 - 30_000_000,
            body: .presence(Presence(connection: 1, isOnline: false)))
        bench.give(
            .received(
                Delivery(
                    address: .presence(Self.other), isRetained: false,
                    content: .message(will, signer: nil))))
        #expect(bench.link.peerStates.map(\.isOnline) == [false])
        #expect(bench.link.peerStates.map(\.clockOffset) == offset)
    }

    @Test func whoLeavesAChannelIsDroppedAndItsKeyIsKept() {
        let bench = Bench(channel: "run")
        let begin = Description(counter: 1, name: "phone", first: 2000, last: 2000, attended: [])
        bench.hear(.description(Self.other), .description(begin), signer: "first")
        #expect(bench.link.peerStates.map(\.name) == ["phone"])
        bench.hear(
            .presence(Self.other), .presence(Presence(connection: 1, isOnline: false, hasLeft: true)), signer: "first")
        #expect(bench.link.peerStates.isEmpty)
        bench.hear(
            .presence(Self.other), .presence(Presence(connection: 2, isOnline: true)), signer: "second")
        #expect(bench.link.peerStates.isEmpty && bench.link.statistics.forged == 1)
        bench.hear(.presence(Self.other), .presence(Presence(connection: 2, isOnline: true)), signer: "first")
        #expect(bench.link.peerStates.map(\.isOnline) == [true])
    }
}
