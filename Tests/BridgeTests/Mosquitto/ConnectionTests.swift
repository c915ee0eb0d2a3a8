import Glibc
import Linking
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import TOMLTables
import Testing

@testable import Mosquitto

/// Connections to a real mosquitto.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ConnectionTests {
    private let broker: TestBroker! = Fixture.current()

    @Test(.broker, arguments: [ProtocolVersion.v5, .v311])
    func messagesArriveAndAreAcknowledged(version: ProtocolVersion) async throws {
        let one = TestConnection(broker.here) { $0.version = version }
        #expect(try await one.connected() == (version, false))
        let other = TestConnection(broker.here, client: "other") { $0.version = version }
        try await other.connected()
        for number in 1...100 { one.publish(UInt64(number), "\(number)", to: "t/x") }
        for number in 1...100 {
            #expect(try await other.message().text == "\(number)")
            // Own messages come back.
            #expect(try await one.message() == BrokerMessage(topic: "t/x", payload: Array("\(number)".utf8)))
            #expect(await one.acknowledgement(UInt64(number)))
        }
    }

    @Test(.broker, arguments: [ProtocolVersion.v5, .v311])
    func aSessionKeepsWhatComesMeanwhile(version: ProtocolVersion) async throws {
        let first = TestConnection(broker.here) { $0.version = version }
        try await first.connected()
        first.connection.end()
        #expect(try await first.end().kind == .requested)
        let other = TestConnection(broker.here, client: "other", topics: ["u"]) { $0.version = version }
        try await other.connected()
        other.publish(1, "meanwhile", to: "t/x")
        #expect(await other.acknowledgement(1))
        let second = TestConnection(broker.here) { $0.version = version }
        #expect(try await second.connected().sessionPresent)
        #expect(try await second.message().text == "meanwhile")
    }

    @Test(.broker) func theWillIsPublishedHoweverAConnectionEnds() async throws {
        let witness = TestConnection(broker.here, client: "witness", topics: ["w/#"])
        try await witness.connected()
        let one = TestConnection(broker.here, will: "gone")
        try await one.connected()
        one.connection.end()
        #expect(try await witness.message().text == "gone")
        // It is retained.
        let late = TestConnection(broker.here, client: "late", topics: ["w/one"])
        try await late.connected()
        let message = try await late.message()
        #expect(message.text == "gone" && message.isRetained)
    }

    @Test(.broker, arguments: [ProtocolVersion.v5, .v311])
    func whoDisconnectsLeavesNoWillAndIfItIsSaidNoSession(version: ProtocolVersion) async throws {
        func connect() -> TestConnection { TestConnection(broker.here, topics: ["w/one"]) { $0.version = version } }
        let first = connect()
        try await first.connected()
        first.publish(1, "last words", to: "w/one", isRetained: true)
        first.connection.disconnect()
        #expect(try await first.end().kind == .requested)
        let second = connect()
        #expect(try await second.connected().sessionPresent)
        #expect(try await second.message().text == "last words")
        second.connection.disconnect(endingSession: true)
        #expect(try await second.end().kind == .requested)
        let third = connect()
        // MQTT 3.1.1 needs a clean connection.
        #expect(try await third.connected().sessionPresent == (version == .v311))
        third.connection.disconnect()
        _ = try await third.end()
        let clean = TestConnection(broker.here, topics: ["w/one"]) {
            $0.version = version
            $0.isClean = true
        }
        #expect(try await clean.connected().sessionPresent == false)
        let kept = try await clean.message().text
        #expect(kept == "last words")
        clean.connection.disconnect()
        _ = try await clean.end()
        let last = connect()
        #expect(try await last.connected().sessionPresent == false)
    }

    @Test(.broker) func aFlushWaitsForAcknowledgements() async throws {
        let other = TestConnection(broker.here, client: "other")
        try await other.connected()
        let one = TestConnection(broker.here, topics: ["u"])
        try await one.connected()
        for number in 1...50 { one.publish(UInt64(number), "\(number)", to: "t/x") }
        one.connection.end(afterFlush: true)
        #expect(try await one.end().kind == .requested)
        for number in 1...50 { #expect(try await other.message().text == "\(number)") }
    }

    @Test(.broker) func retainedMessagesComeAgainWithANewSubscription() async throws {
        let one = TestConnection(broker.here)
        try await one.connected()
        one.publish(1, "kept", to: "t/v", isRetained: true)
        #expect(try await !one.message().isRetained)
        one.connection.subscribeAgain()
        let again = try await one.message()
        #expect(again.isRetained && again.text == "kept")
        // Nothing is kept after an empty message.
        one.publish(2, "", to: "t/v", isRetained: true)
        #expect(try await one.message().payload == [])
        one.connection.subscribeAgain()
        one.publish(3, "end", to: "t/end")
        #expect(try await one.message().text == "end")
    }

    /// mosquitto queues 1,000 messages for a client, and throws away what is more.
    @Test(.broker, arguments: [ProtocolVersion.v5, .v311])
    func whatIsKeptComesInPartsThatTheBrokerCanQueue(version: ProtocolVersion) async throws {
        let one = TestConnection(broker.here, topics: ["u"])
        try await one.connected()
        let kept = (0..<3000).map { "v/\($0 % 16)/\($0)" }
        for (number, topic) in kept.enumerated() {
            one.publish(UInt64(number), topic, to: topic, isRetained: true)
        }
        for number in kept.indices { #expect(await one.acknowledgement(UInt64(number))) }
        let other = TestConnection(broker.here, client: "other", topics: ["m", "v/+/+"]) {
            $0.version = version
            $0.parts = (0..<16).map { "v/\($0)/+" }
            $0.marker = "m"
            $0.retainedSilence = .milliseconds(500)
        }
        try await other.connected()
        for _ in 1...2 {
            var seen: Set<String> = []
            while seen.count < kept.count { seen.insert(try await other.message().text) }
            #expect(seen.symmetricDifference(kept).isEmpty)
            other.connection.subscribeAgain()
        }
    }

    @Test(.broker) func partsAreReadAlsoIfTheMarkerDoesNotCome() async throws {
        let one = TestConnection(broker.here, topics: ["u"])
        try await one.connected()
        one.publish(1, "first", to: "v/a", isRetained: true)
        one.publish(2, "second", to: "v/b", isRetained: true)
        #expect(await one.acknowledgement(2))
        let other = TestConnection(broker.here, client: "other", topics: ["v/a"]) {
            $0.parts = ["v/a", "v/b"]
            $0.marker = "not/subscribed"
            $0.manyRetained = 1
            $0.retainedSilence = .milliseconds(100)
        }
        try await other.connected()
        for expected in ["first", "first", "second"] { #expect(try await other.message().text == expected) }
    }

    @Test(.broker) func anotherConnectionEndsTheFirst() async throws {
        let one = TestConnection(broker.here)
        try await one.connected()
        let clone = TestConnection(broker.here)
        try await clone.connected()
        // mosquitto 2.0.11 does not say why.
        #expect(try await one.end().kind != .requested)
    }

    @Test func aSessionThatIsTakenOverIsNamed() async throws {
        let broker = try StandInBroker { type, _, packet in
            switch type {
            case 0x10: [0x20, 3, 0, 0, 0]
            case 0x82: [0x90, 4, packet[0], packet[1], 0, 1, 0xE0, 2, 0x8E, 0]
            default: []
            }
        }
        let one = TestConnection(Broker(.init(.socket(path: broker.path))))
        #expect(try await one.connected().version == .v5)
        #expect(try await one.end().kind == .takenOver)
    }

    /// Some say so, in the way of either version, and some close the connection.
    @Test(arguments: [[0x20, 2, 0, 1], [0x20, 3, 0, 0x84, 0], nil] as [[UInt8]?])
    func aBrokerWithoutMQTT5IsAskedAgain(refusal: [UInt8]?) async throws {
        let broker = try StandInBroker { type, level, packet in
            switch type {
            case 0x10 where level == 5: refusal
            case 0x10: [0x20, 2, 0, 0]
            case 0x82: [0x90, 3, packet[0], packet[1], 1]
            default: []
            }
        }
        let one = TestConnection(Broker(.init(.socket(path: broker.path))))
        #expect(try await one.connected().version == .v311)
    }

    /// Such as an answer of 3.1.1. With what libmosquitto 2.0.11 cannot survive, a test of the bridge has this fact.
    @Test(arguments: [[0x10: [0x20, 2, 0, 0]], [0x82: [0x90, 3, 0, 1, 1]]] as [[UInt8: [UInt8]]])
    func aBrokerWhoseAnswerCannotBeReadIsAskedWithMQTT311FromThenOn(answers: [UInt8: [UInt8]]) async throws {
        let levels = Locked<[UInt8]>([])
        let broker = try StandInBroker { type, level, packet in
            if type == 0x10 { levels.withLock { $0.append(level) } }
            if level == 5, let answer = answers[type] { return answer }
            return switch type {
            case 0x10: level == 5 ? [0x20, 3, 0, 0, 0] : [0x20, 2, 0, 0]
            case 0x82: [0x90, 3, packet[0], packet[1], 1]
            default: []
            }
        }
        let folder = try TemporaryFolder()
        func connect(_ note: String) -> TestConnection {
            TestConnection(Broker(.init(.socket(path: broker.path)))) {
                $0.downgrades = DowngradeFile(path: folder.path + "/" + note)
            }
        }
        for _ in 0..<2 {
            let one = connect("note")
            #expect(try await one.connected().version == .v311)
            one.connection.end()
            _ = try await one.end()
        }
        #expect(levels.withLock { $0 } == [5, 4, 4])
        // The note is about this broker only.
        try folder.write("/somewhere/else", to: "other")
        #expect(try await connect("other").connected().version == .v311)
        #expect(levels.withLock { $0.suffix(2) } == [5, 4])
    }

    @Test func whatCannotBeReadOnAConnectionEndsIt() async throws {
        let broker = try StandInBroker { type, _, packet in
            switch type {
            case 0x10: [0x20, 3, 0, 0, 0]
            // A message without properties.
            case 0x82: [0x90, 4, packet[0], packet[1], 0, 1, 0x30, 3, 0, 1, 0x74]
            default: []
            }
        }
        let one = TestConnection(Broker(.init(.socket(path: broker.path))))
        #expect(try await one.connected().version == .v5)
        let end = try await one.end()
        #expect(end.kind == .unavailable && end.description == "the broker has sent a packet that cannot be read")
    }

    @Test func aSubscriptionThatIsRefusedIsNamed() async throws {
        let broker = try StandInBroker { type, _, packet in
            switch type {
            case 0x10: [0x20, 3, 0, 0, 0]
            case 0x82: [0x90, 4, packet[0], packet[1], 0, 0x87]
            default: []
            }
        }
        let end = try await TestConnection(Broker(.init(.socket(path: broker.path)))).end()
        #expect(end.kind == .refused && end.description == "the broker's access list does not allow to read \"t/#\"")
    }

    @Test(.broker) func aPausedConnectionReadsNothingAndStaysConnected() async throws {
        let one = TestConnection(broker.here) { $0.longestPause = .seconds(3600) }
        try await one.connected()
        one.connection.receive(false)
        let other = TestConnection(broker.here, client: "other")
        try await other.connected()
        other.publish(1, "late", to: "t/x")
        #expect(try await other.message().text == "late")
        #expect(await one.events.next(within: .milliseconds(100)) == nil)
        one.connection.receive(true)
        #expect(try await one.message().text == "late")
    }

    @Test(.broker) func aPauseEndsByItself() async throws {
        let one = TestConnection(broker.here) { $0.longestPause = .milliseconds(200) }
        try await one.connected()
        one.connection.receive(false)
        one.publish(1, "late", to: "t/x")
        #expect(try await one.message().text == "late")
    }

    @Test(.broker) func aMessageThatIsTooLongHasNoPayload() async throws {
        // A broker with MQTT 5 does not even send it.
        let one = TestConnection(broker.here) {
            $0.version = .v311
            $0.maximumPayload = 10
        }
        try await one.connected()
        one.publish(1, "12345678901", to: "t/x")
        one.publish(2, "1234567890", to: "t/x")
        #expect(try await one.message().payload == nil)
        #expect(try await one.message().text == "1234567890")
    }

    @Test(.broker) func theKeepaliveKeepsAnIdleConnection() async throws {
        // mosquitto ends connections that are silent for one and a half times the keepalive; 5 s is the least it
        // takes.
        let one = TestConnection(broker.here) { $0.keepalive = .seconds(5) }
        try await one.connected()
        let other = TestConnection(broker.here, client: "other", topics: ["w/one"])
        try await other.connected()
        #expect(await other.events.next(within: .seconds(9)) == nil)
    }

    // MARK: A broker that fails

    @Test(.broker) func aKilledBrokerEndsTheConnection() async throws {
        let one = TestConnection(broker.here)
        try await one.connected()
        await broker.kill()
        let end = try await one.end()
        #expect(end.kind == .unavailable, "\(end)")
        let next = TestConnection(broker.here)
        #expect(try await next.end().kind == .unavailable)
        try await broker.start()
        try await TestConnection(broker.here).connected()
    }

    @Test func messagesOfQualityOneSurviveABrokerThatIsStoppedInOrder() async throws {
        var settings = TestBroker.Settings()
        settings.isPersistent = true
        try await withBroker(settings) { broker in
            let one = TestConnection(broker.here)
            try await one.connected()
            one.connection.end()
            _ = try await one.end()
            let other = TestConnection(broker.here, client: "other", topics: ["u"])
            try await other.connected()
            for number in 1...20 { other.publish(UInt64(number), "\(number)", to: "t/x") }
            for number in 1...20 { #expect(await other.acknowledgement(UInt64(number))) }
            await broker.stop()
            try await broker.start()
            let again = TestConnection(broker.here)
            #expect(try await again.connected().sessionPresent)
            for number in 1...20 { #expect(try await again.message().text == "\(number)") }
        }
    }

    @Test(.broker) func aBrokerThatHangsIsNoticed() async throws {
        let one = TestConnection(broker.here) { $0.timeout = .seconds(1) }
        try await one.connected()
        broker.signal(SIGSTOP)
        defer { broker.signal(SIGCONT) }
        one.publish(1, "nobody hears this", to: "t/x")
        let end = try await one.end()
        #expect(end.kind == .unavailable && end.description == "the broker does not acknowledge messages")
        let next = TestConnection(broker.here) { $0.timeout = .seconds(1) }
        #expect(try await next.end().description == "the broker does not answer")
    }

    @Test(.broker) func aMachineThatHasSleptConnectsAgain() async throws {
        let asleep = Locked<Int64>(0)
        let one = TestConnection(broker.here) { $0.asleep = { asleep.withLock { $0 } } }
        try await one.connected()
        asleep.withLock { $0 = 60_000_000 }
        one.publish(1, "awake", to: "t/x")
        #expect(try await one.end().description == "the machine has slept")
    }

    // MARK: Refusals

    @Test(arguments: [ProtocolVersion.v5, .v311])
    func aWrongPasswordIsNamed(version: ProtocolVersion) async throws {
        var settings = TestBroker.Settings()
        settings.users = ["mina": "right"]
        try await withBroker(settings) { broker in
            var here = broker.here
            here.user = "mina"
            here.password = Secret(bytes: Array("wrong".utf8))
            let one = TestConnection(here) { $0.version = version }
            let end = try await one.end()
            #expect(end.kind == .refused && end.description.contains("password"), "\(end)")
            #expect(!"\(here)".contains("wrong"))
            here.password = Secret(bytes: Array("right".utf8))
            try await TestConnection(here) { $0.version = version }.connected()
        }
    }

    @Test func theAccessListIsNamed() async throws {
        var settings = TestBroker.Settings()
        settings.users = ["mina": "x"]
        settings.accessList = ["user mina", "topic readwrite t/#", "topic read r/#"]
        try await withBroker(settings) { broker in
            var here = broker.here
            here.user = "mina"
            here.password = Secret(bytes: Array("x".utf8))
            let one = TestConnection(here)
            try await one.connected()
            one.publish(1, "not allowed", to: "r/x")
            let end = try await one.end()
            #expect(end.kind == .refused)
            #expect(end.description == "the broker's access list does not allow to write \"r/x\"")
        }
    }

    @Test func aBrokerThatIsNotThereIsUnavailable() async throws {
        let end = try await TestConnection(Broker(.init(.host("127.0.0.1", port: 1)))).end()
        #expect(end.kind == .unavailable && end.description.contains("127.0.0.1:1"), "\(end)")
        let unknown = try await TestConnection(Broker(.init(.host("nowhere.invalid", port: 1883)))).end()
        #expect(unknown.kind == .unavailable, "\(unknown)")
    }

    // MARK: TLS

    @Test func certificatesAreChecked() async throws {
        let certificates = try await TestCertificates()
        func broker(_ certificate: TestCertificates.Certificate) -> TestBroker.Settings {
            var settings = TestBroker.Settings()
            settings.certificate = certificate
            return settings
        }
        func options(_ broker: TestBroker, _ authority: String?) -> Broker {
            Broker(.init(.host("localhost", port: broker.port), isEncrypted: true, authorities: authority))
        }
        try await withBroker(broker(certificates.valid)) { broker in
            let one = TestConnection(options(broker, certificates.authority))
            try await one.connected()
            let long = String(repeating: "x", count: 200_000)
            one.publish(1, long, to: "t/x")
            one.publish(2, "after", to: "t/x")
            #expect(try await one.message().text == long)
            #expect(try await one.message().text == "after")
            let stranger = try await TestConnection(options(broker, nil)).end()
            #expect(stranger.kind == .refused && stranger.description.contains("issuer"), "\(stranger)")
            let missing = try await TestConnection(options(broker, "/nowhere.pem")).end()
            #expect(missing.kind == .refused && missing.description.contains("/nowhere.pem"))
            let unknown = try await TestConnection(options(broker, nil)).end()
            #expect(unknown.kind == .refused && unknown.description.contains("'authorities' in [link]"), "\(unknown)")
        }
        try await withBroker(broker(certificates.expired)) { broker in
            let end = try await TestConnection(options(broker, certificates.authority)).end()
            #expect(end.kind == .refused && end.description.contains("expired"), "\(end)")
        }
        try await withBroker(broker(certificates.foreign)) { broker in
            let end = try await TestConnection(options(broker, certificates.authority)).end()
            #expect(end.kind == .refused && end.description.contains("is not for localhost"), "\(end)")
        }
    }

    @Test func aBrokerCanWantACertificate() async throws {
        let certificates = try await TestCertificates()
        var settings = TestBroker.Settings()
        settings.certificate = certificates.valid
        settings.lines = ["cafile \(certificates.authority)", "require_certificate true"]
        try await withBroker(settings) { broker in
            let own = LinkSettings.Server.Certificate(
                chain: certificates.foreign.chain, key: certificates.foreign.key)
            var server = LinkSettings.Server(
                .host("localhost", port: broker.port), isEncrypted: true, authorities: certificates.authority,
                certificate: own)
            try await TestConnection(Broker(server)).connected()
            server.certificate = nil
            let end = try await TestConnection(Broker(server)).end()
            #expect(end.description.contains("certificate"), "\(end)")
        }
    }
}
