import Routing
import Testing

@testable import Linking

/// One device by itself, message by message.
struct LinkTests {
    static let own = Device("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")!
    static let other = Device("bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb")!
    static let topic = try! Topic("/post/7")

    final class Bench {
        var link: Link
        var time: Int64 = 0
        var effects: [LinkEffect] = []
        /// What was stored before the first connection.
        private(set) var stored: [Record] = []

        init(
            _ records: [Record] = [], isConnected: Bool = true, channel: String? = nil,
            change: (inout LinkLimits) -> Void = { _ in }
        ) {
            var limits = LinkLimits()
            change(&limits)
            link = Link(
                LinkTests.own,
                Configuration(
                    kind: channel.map { .channel(name: $0, signer: Signer("own")) } ?? .link, name: "desk",
                    isSealed: true, limits: limits
                ) { _ in
                    Digest("00000000000000000000000000000000")!
                }, records: records, seed: 1)
            give(.started)
            give(.daemonAppeared)
            give(.newest(1000))
            for effect in effects {
                switch effect {
                case .store(let token, let records):
                    stored += records
                    give(.stored(token))
                case .readChanges(let token, _, _): give(.changes(token, ChangesPage(changes: [], isLast: true)))
                default: break
                }
            }
            guard isConnected else { return }
            give(.connecting)
            give(.connected)
            // The own presence comes back after what the broker has kept.
            let connected = effects
            for case .send(_, let address, let message?) in connected {
                guard case .presence = message.body else { continue }
                hear(address, message.body, from: LinkTests.own, signer: channel.map { _ in "own" })
            }
            effects = connected
        }

        @discardableResult
        func give(_ input: LinkInput) -> [LinkEffect] {
            effects = link.handle(
                input, at: Link.Now(uptime: Uptime(microseconds: time), wall: 1_700_000_000_000_000 + time))
            return effects
        }

        @discardableResult
        func hear(
            _ address: Address, _ body: Message.Body, from device: Device = LinkTests.other, signer: String? = nil
        ) -> [LinkEffect] {
            let message = Message(device: device, at: 1_700_000_000_000_000 + time, body: body)
            return give(
                .received(
                    Delivery(
                        address: address,
                        content: .message(message, signer: signer.map(Signer.init)))))
        }

        @discardableResult
        func hearEvent(_ number: UInt64, previous: UInt64, outcome: String = "") -> [LinkEffect] {
            hear(
                .stream(LinkTests.other),
                .entry(StreamEntry(number: number, previous: previous, content: .event(event(number, outcome)))))
        }

        func event(_ number: UInt64, _ outcome: String = "") -> SharedEvent {
            SharedEvent(
                name: GlobalName(device: LinkTests.other, id: number), topic: LinkTests.topic, title: "", body: "",
                published: 1, expires: 1_700_000_100_000_000, outcome: outcome)
        }

        /// The last numbers of the descriptions among the effects.
        var descriptions: [UInt64] {
            effects.compactMap { effect in
                if case .send(_, _, let message?) = effect, case .description(let description) = message.body {
                    description.last
                } else {
                    nil
                }
            }
        }

        /// Lets time pass until a timer, and hands that in.
        @discardableResult
        func wait(seconds: Int64) -> [LinkEffect] {
            time += seconds * 1_000_000
            return give(.timerFired)
        }
    }

    @Test func whatIsClaimedThereIsClaimedBeforeItIsPublishedHere() {
        let bench = Bench()
        let effects = bench.hearEvent(2000, previous: 1999, outcome: "claimed")
        guard case .claimNamed(_, let claim) = effects.first,
            case .publish(_, let event, let ttl, _) = effects.dropFirst().first
        else {
            Issue.record("\(effects)")
            return
        }
        #expect(claim.name == event.name)
        #expect(ttl == 100)
    }

    @Test func aNumberIsMissingOnDiskUntilNotifydHasAnswered() {
        let bench = Bench()
        var call: CallToken?
        for case .publish(let token, _, _, _) in bench.hearEvent(2000, previous: 1999) { call = token }
        func missing() -> [Range<UInt64>]? {
            for case .store(let token, let records) in bench.wait(seconds: 1) {
                bench.give(.stored(token))
                for case .device(_, let record?) in records where record.received == 2000 { return record.missing }
            }
            return nil
        }
        #expect(missing() == [1999..<2000])
        bench.give(.answered(call!, .done))
        #expect(missing() == [])
    }

    @Test func aGapIsAskedForOnceItsDeviceIsOnline() {
        let bench = Bench()
        bench.hearEvent(2000, previous: 1999)
        bench.hearEvent(2010, previous: 2005)
        var questions: [Question] = []
        for _ in 0..<10 {
            bench.wait(seconds: 1)
            for case .send(_, .questions, let message?) in bench.effects {
                if case .question(let question) = message.body { questions.append(question) }
            }
        }
        #expect(questions.map(\.after) == [2000])
        #expect(questions.map(\.through) == [2005])
    }

    /// Whoever connects a moment later has not heard it, and learns of it from the description.
    @Test func whatWaitedForTheConnectionIsInADescriptionAtOnce() {
        let bench = Bench()
        let reading = bench.effects.compactMap { effect in
            if case .readChanges(let token, _, _) = effect { token } else { nil }
        }
        #expect(bench.descriptions == [1000])
        bench.give(
            .changes(
                reading[0],
                ChangesPage(changes: [Change(number: 1001, content: .event(bench.event(1001)))], isLast: true)))
        #expect(bench.descriptions == [])
        for case .send(let token, .stream, _) in bench.effects { bench.give(.acknowledged(token)) }
        #expect(bench.descriptions == [1001])
        // A broker that has thrown away the last messages may have thrown away this one too.
        bench.wait(seconds: 10)
        #expect(bench.descriptions == [1001])
        // From then on there is time between two of them.
        bench.give(.journalChanged)
        for case .readChanges(let token, _, _) in bench.effects {
            bench.give(
                .changes(
                    token,
                    ChangesPage(changes: [Change(number: 1002, content: .event(bench.event(1002)))], isLast: true)))
        }
        for case .send(let token, .stream, _) in bench.effects { bench.give(.acknowledged(token)) }
        #expect(bench.descriptions == [])
        bench.wait(seconds: 10)
        #expect(bench.descriptions == [1002])
    }

    /// The number of the newest row is asked for, and rows are read meanwhile: one of them may be newer than the
    /// answer.
    @Test func aRowThatIsNewerThanTheNewestIsNoFault() {
        let bench = Bench()
        func hasFailed() -> Bool { bench.effects.contains { if case .fail = $0 { true } else { false } } }
        bench.give(.daemonVanished)
        let asked = bench.give(.daemonAppeared)
        for case .readChanges(let token, _, _) in asked {
            bench.give(
                .changes(
                    token,
                    ChangesPage(changes: [Change(number: 1001, content: .event(bench.event(1001)))], isLast: true)))
        }
        bench.give(.newest(1000))
        #expect(!hasFailed())
        // From then on that row is known.
        bench.give(.daemonVanished)
        bench.give(.daemonAppeared)
        bench.give(.newest(1000))
        #expect(hasFailed())
    }

    @Test func aWillOfAnOlderConnectionIsIgnored() {
        let bench = Bench()
        bench.hear(.presence(Self.other), .presence(Presence(connection: 5, isOnline: true)))
        bench.hear(.presence(Self.other), .presence(Presence(connection: 4, isOnline: false)))
        #expect(bench.link.peerStates.map(\.isOnline) == [true])
        bench.hear(.presence(Self.other), .presence(Presence(connection: 5, isOnline: false)))
        #expect(bench.link.peerStates.map(\.isOnline) == [false])
    }

    @Test func anEventThatIsRefusedForNowHoldsBackEventsAndNoClaims() {
        let bench = Bench()
        var call: CallToken?
        for case .publish(let token, _, _, _) in bench.hearEvent(2000, previous: 1999) { call = token }
        bench.give(.answered(call!, .refusedForNow))
        let later = bench.hearEvent(2001, previous: 2000)
        #expect(!later.contains { if case .publish = $0 { true } else { false } })
        let claim = SharedClaim(
            name: GlobalName(device: Self.own, id: 1), topic: Self.topic, form: .claimed, place: "phone")
        let effects = bench.hear(
            .stream(Self.other), .entry(StreamEntry(number: 2002, previous: 2001, content: .claim(claim))))
        #expect(effects.contains { if case .claimNamed = $0 { true } else { false } })
    }

    @Test func whatCanNeverBeTakenIsADeadLetterAndPassed() {
        let bench = Bench()
        var call: CallToken?
        for case .publish(let token, _, _, _) in bench.hearEvent(2000, previous: 1999) { call = token }
        let effects = bench.give(.answered(call!, .refused("InvalidEvent")))
        #expect(
            effects.contains { if case .reject(let letter) = $0 { letter.reason == "InvalidEvent" } else { false } })
        #expect(bench.link.peerStates.map(\.isBehind) == [false])
    }

    @Test func aScreenElsewhereHoldsTheBanner() {
        let bench = Bench()
        let digest = Digest("00000000000000000000000000000000")!
        bench.hear(.presence(Self.other), .presence(Presence(connection: 1, isOnline: true)))
        bench.hear(
            .description(Self.other),
            .description(Description(counter: 1, name: "phone", first: 1, last: 1, attended: [digest])))
        let announced = AnnouncedEvent(
            id: EventID(1), name: GlobalName(device: Self.own, id: 1), topic: Self.topic, hasWindow: true)
        var holds: [Duration] = []
        for case .hold(_, let duration) in bench.give(.announced(announced)) { holds.append(duration) }
        #expect(holds == [.milliseconds(600)])
        bench.time += 301_000_000
        let effects = bench.give(.announced(announced))
        #expect(!effects.contains { if case .hold = $0 { true } else { false } })
    }

    @Test func whatALaterVersionSaidIsAskedForAfterAnUpgrade() {
        var record = DeviceRecord(seen: 1_700_000_000_000_000)
        record.start = 1
        record.received = 10
        record.unknown = [4..<5]
        var line = LineRecord(
            first: 1, cursor: .init(scanned: 1, sent: 1), seen: 1, connection: 1, counter: 1, hasJoined: true,
            version: Message.version)
        let same = Bench([.line(line), .device(Self.other, record)])
        same.hear(.presence(Self.other), .presence(Presence(connection: 1, isOnline: true)))
        #expect(same.link.peerStates.map(\.isBehind) == [false])
        line.version = 0
        let upgraded = Bench([.line(line), .device(Self.other, record)])
        upgraded.hear(.presence(Self.other), .presence(Presence(connection: 1, isOnline: true)))
        #expect(upgraded.link.peerStates.map(\.isBehind) == [true])
    }

    @Test func aDeviceBeyondTheLimitIsRefusedAndCounted() {
        let bench = Bench { $0.devices = 1 }
        bench.hearEvent(2000, previous: 1999)
        let third = Device("cccccccccccccccccccccccccccccccc")!
        bench.hear(.presence(third), .presence(Presence(connection: 1, isOnline: true)), from: third)
        #expect(bench.link.peerStates.map(\.device) == [Self.other])
        #expect(bench.link.statistics.devicesRefused == 1 && bench.link.isCrowded)
    }

    @Test func whoMakesUpDevicesTakesNobodysPlace() {
        let bench = Bench(channel: "run") { ($0.devices, $0.devicesPerMember) = (4, 2) }
        func device(_ number: Int) -> Device { Device(String(repeating: "\(number)", count: 32))! }
        func appears(_ number: Int, signer: String) {
            bench.wait(seconds: 1)
            let address = Address.presence(device(number))
            bench.hear(
                address, .presence(Presence(connection: 1, isOnline: true)), from: device(number), signer: signer)
        }
        func speaks(_ number: Int, signer: String) {
            let entry = StreamEntry(number: 2000, previous: 1999, content: .event(bench.event(2000)))
            bench.hear(.stream(device(number)), .entry(entry), from: device(number), signer: signer)
        }
        appears(1, signer: "silent")
        appears(2, signer: "jan")
        speaks(2, signer: "jan")
        #expect(!bench.link.isCrowded)
        // A member has few devices.
        for number in 3...6 { appears(number, signer: "liar") }
        #expect(bench.link.isCrowded)
        #expect(bench.link.peerStates.map(\.device) == [1, 2, 3, 6].map(device))
        // With many keys it has the same places.
        for number in 7...9 { appears(number, signer: "liar \(number)") }
        #expect(bench.link.peerStates.map(\.device) == [1, 2, 3, 9].map(device))
        // Whoever joins later is heard, and stays once it has said something.
        appears(4, signer: "mina")
        speaks(4, signer: "mina")
        for number in 5...8 { appears(number, signer: "liar \(number)") }
        #expect(bench.link.peerStates.map(\.device) == [1, 2, 4, 8].map(device))
        speaks(8, signer: "liar 8")
        speaks(1, signer: "silent")
        appears(9, signer: "liar 9")
        #expect(bench.link.statistics.devicesRefused == 1)
        bench.give(.disconnected)
        bench.give(.connecting)
        bench.give(.connected)
        #expect(!bench.link.isCrowded)
    }

    @Test(arguments: [Address.stream(other), .questions(own), .answers(own)])
    func whatTheBrokerHasKeptWhereNothingIsKeptIsPassedOver(_ address: Address) {
        let bench = Bench()
        let event = Message(
            device: Self.other, at: 1_700_000_000_000_000,
            body: .entry(StreamEntry(number: 2000, previous: 1999, content: .event(bench.event(2000)))))
        let effects = bench.give(
            .received(
                Delivery(
                    address: address, isRetained: true,
                    content: .message(event, signer: nil))))
        #expect(!effects.contains { if case .publish = $0 { true } else { false } })
        #expect(bench.link.peerStates.isEmpty)
        #expect(bench.link.statistics.forged == 1 && bench.link.forgedMessages == 1)
    }

    @Test func whatIsForgedInTheOwnPlaceIsWrittenAgain() {
        let bench = Bench(channel: "run")
        bench.give(
            .received(
                Delivery(address: .presence(Self.own), isRetained: true, content: .forged)))
        let said = bench.effects + bench.wait(seconds: 1)
        #expect(
            said.contains {
                if case .send(_, .presence(Self.own), let message?) = $0, case .presence(let presence) = message.body {
                    presence.isOnline
                } else {
                    false
                }
            })
        #expect(bench.link.forgedMessages == 1 && bench.link.unopenedMessages == 0)
    }

    @Test func messagesThatSpeakForOthersAreForged() {
        let bench = Bench()
        bench.hear(.stream(Self.own), .entry(StreamEntry(number: 2, previous: 1, content: .nothing)))
        #expect(bench.link.peerStates.isEmpty)
        #expect(bench.link.statistics.forged == 1)
    }

    @Test func withAnotherKeyAValueMovesToItsNewName() {
        let (old, new) = (Digest("11111111111111111111111111111111")!, Digest("00000000000000000000000000000000")!)
        let value = ValueRecord(
            number: 900, topic: LinkTests.topic,
            stamp: ValueStamp(published: 1, name: GlobalName(device: LinkTests.own, id: 900)),
            expires: 1_700_000_100_000_000, isRemoval: true)
        let bench = Bench([.value(old, value)])
        var said: [(Address, Message?)] = []
        var records = bench.stored
        for _ in 0..<10 {
            for case .send(_, let address, let message) in bench.effects { said.append((address, message)) }
            for case .store(let token, let some) in bench.effects {
                records += some
                bench.give(.stored(token))
            }
            bench.wait(seconds: 1)
        }
        #expect(said.contains { $0.0 == .value(old) && $0.1 == nil })
        #expect(said.contains { $0.0 == .value(new) && $0.1 != nil })
        #expect(records.contains(.value(old, nil)) && records.contains(.value(new, value)))
    }

    /// Every member of a channel can take the connection over: it knows the client id.
    @Test func endsOfConnectionsAreNoSecondMachine() {
        let bench = Bench(channel: "run")
        for _ in 1...10 {
            bench.give(.disconnected)
            #expect(bench.effects.allSatisfy { if case .fail = $0 { false } else { true } })
            bench.time += 1_000_000
            bench.give(.connecting)
            bench.give(.connected)
            #expect(bench.effects.allSatisfy { if case .fail = $0 { false } else { true } })
        }
    }

    @Test(arguments: [false, true])
    func threePresencesOfAnotherSessionAreTwoMachines(isEarly: Bool) {
        let bench = Bench()
        let address = Address.presence(LinkTests.own)
        for round in 1...3 {
            #expect(!bench.effects.contains { if case .fail = $0 { true } else { false } })
            bench.give(.disconnected)
            bench.time += 1_000_000
            let foreign = UInt64(1_700_000_000_000_000 + bench.time)
            bench.time += 1_000_000
            bench.give(.connecting)
            if !isEarly { bench.give(.connected) }
            // The second machine was online meanwhile, and its will says that it is gone. Some brokers send it before
            // they answer the subscription.
            bench.hear(address, .presence(Presence(connection: foreign, isOnline: true)), from: LinkTests.own)
            bench.hear(address, .presence(Presence(connection: foreign, isOnline: false)), from: LinkTests.own)
            if isEarly { bench.give(.connected) }
            if round < 3 { #expect(!bench.effects.contains { if case .fail = $0 { true } else { false } }) }
        }
        #expect(bench.link.handle(.started, at: Link.Now(uptime: Uptime(microseconds: 0), wall: 0)).isEmpty)
    }

    @Test func theOwnWillOfAnOlderConnectionIsNoConflict() {
        let bench = Bench()
        var number: UInt64 = 1_700_000_000_000_000
        for _ in 1...5 {
            bench.give(.disconnected)
            bench.time += 1_000_000
            bench.give(.connecting)
            bench.give(.connected)
            let effects = bench.hear(
                .presence(LinkTests.own), .presence(Presence(connection: number, isOnline: false)), from: LinkTests.own)
            // It says again that it is online.
            #expect(effects.contains { if case .send(_, .presence(LinkTests.own), _) = $0 { true } else { false } })
            number = UInt64(1_700_000_000_000_000 + bench.time)
        }
    }
}
