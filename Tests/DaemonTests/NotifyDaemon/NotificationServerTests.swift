import Logging
import Routing
import Synchronization
import Systemd
import Testing

@testable import NotifyDaemon

/// A notification server that says what it can do when it is told to.
private final class SilentLink: NotificationLink {
    var starts = 0
    var now = Instant(microseconds: 0)
    /// The unanswered questions for its capabilities.
    var questions: [(Result<Set<String>, BusFailure>) -> Void] = []
    var banners: [(title: String, body: String, hasButtons: Bool)] = []
    /// The unanswered calls that show a banner.
    var calls: [(Result<BannerID?, BusFailure>) -> Void] = []
    let bus = "bus"
    var closes: [(banner: BannerID, server: String)] = []

    func start(_ answer: @escaping (BusFailure?) -> Void) {
        starts += 1
        answer(BusFailure(name: "org.freedesktop.DBus.Error.ServiceUnknown", text: "not there"))
    }

    func askForCapabilities(
        of server: String, within time: Duration, _ answer: @escaping (Result<Set<String>, BusFailure>) -> Void
    ) { questions.append(answer) }

    func notify(
        _ server: String, _ request: BannerRequest, _ text: BannerText, hasButtons: Bool, within time: Duration,
        _ answer: @escaping (Result<BannerID?, BusFailure>) -> Void
    ) {
        banners.append((text.title, text.body, hasButtons))
        calls.append(answer)
    }

    func watchOldBanners(of server: String, _ answer: @escaping (String?) -> Void) { answer(":1.8") }

    func close(_ banner: BannerID, at server: String) { closes.append((banner, server)) }

    /// Lets go of who waits for an answer, which refers to this link.
    func forgetQuestions() {
        questions = []
        calls = []
    }

    /// Answers the oldest question.
    func answer(_ answer: Result<Set<String>, BusFailure>) { questions.removeFirst()(answer) }
}

/// The ids of the messages that were logged.
private final class RecordedLog: Sendable {
    private let messages = Mutex<[String?]>([])
    var ids: [String?] { messages.withLock { $0 } }

    func append(_ id: String?) { messages.withLock { $0.append(id) } }
}

private struct RecordingHandler: LogHandler {
    let log: RecordedLog
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        log.append(event.metadata?["message.id"]?.description)
    }
}

/// Who the server is is known before what it can do, and claims of what it shows do not wait for that.
final class NotificationServerTests {
    private let link = SilentLink()
    private let log = RecordedLog()
    private let server: NotificationServer

    init() {
        server = NotificationServer(
            link: link, clock: { [link] in link.now },
            logger: Logger(label: "test") { [log] _ in RecordingHandler(log: log) })
    }

    deinit { link.forgetQuestions() }

    @Test func aServerThatIsStillBeingAskedIsToldToCloseItsBanner() {
        server.ownerIs(":1.7")
        #expect(server.owner == nil)
        #expect(server.holder == ":1.7")
        server.close(BannerID(4))
        #expect(link.closes.map(\.banner) == [BannerID(4)])
        #expect(link.closes.map(\.server) == [":1.7"])
    }

    @Test func noServerIsStartedWhereThereIsOne() {
        server.ownerIs(":1.7")
        server.start()
        #expect(link.starts == 0)
        server.ownerChanged(to: "")
        server.start()
        #expect(link.starts == 1)
        #expect(server.startFailures == 1)
    }

    @Test func theLateAnswerOfAnEarlierServerIsIgnored() {
        server.ownerIs(":1.7")
        server.ownerChanged(to: ":1.8")
        link.questions[0](.success([]))
        #expect(server.owner == nil)
        link.questions[1](.success([]))
        #expect(server.owner == ":1.8")
    }

    @Test func itIsBelievedToo() {
        var inputs: [Happening] = []
        server.ownerIs(":1.7")
        server.onInput = { inputs.append($0) }
        server.receive(.closed(reason: 2), about: BannerID(4), says: ":1.8")
        #expect(inputs.isEmpty)
        server.receive(.closed(reason: 2), about: BannerID(4), says: ":1.7")
        guard case .bannerClosed(BannerID(4), .dismissed)? = inputs.first else {
            Issue.record("A closed banner was expected, not \(inputs)")
            return
        }
    }

    @Test func theShellIsBelievedAboutBannersOfAnEarlierRunAndNoOthers() {
        var inputs: [Happening] = []
        server.ownerIs(":1.7")
        server.onInput = { inputs.append($0) }
        server.inherit([BannerID(4)])
        server.receive(.closed(reason: 2), about: BannerID(5), says: ":1.8")
        server.receive(.pressed("default"), about: BannerID(5), says: ":1.8")
        server.receive(.closed(reason: 2), about: BannerID(4), says: ":1.9")
        #expect(inputs.isEmpty)
        server.receive(.pressed("default"), about: BannerID(4), says: ":1.8")
        server.receive(.closed(reason: 2), about: BannerID(4), says: ":1.8")
        #expect(inputs.count == 2)
        server.receive(.closed(reason: 2), about: BannerID(4), says: ":1.8")
        #expect(inputs.count == 2)
    }

    @Test func whatItShowedIsVoidWhenItLeavesBeforeItAnswers() {
        var inputs: [Happening] = []
        server.ownerIs(":1.7")
        server.onInput = { inputs.append($0) }
        server.ownerChanged(to: "")
        #expect(server.holder == nil)
        guard case .server(.gone)? = inputs.first else {
            Issue.record("The server's departure was expected, not \(inputs)")
            return
        }
        server.close(BannerID(4))
        #expect(link.closes.isEmpty)
    }

    // MARK: A server that does not say what it can do

    private static let noReply = BusFailure(name: "org.freedesktop.DBus.Error.NoReply", text: "no answer came in time")

    private func show(_ number: UInt64, buttons: [Route.Action] = []) throws {
        var appearance = Appearance()
        appearance.actions = buttons
        let route = Route(pattern: nil, window: .zero, appearance: appearance)
        let event = Event(
            id: EventID(number), topic: try Topic("/a"), title: "", body: "", fields: [], published: 0, sender: ":1.1",
            origin: Origin(), urgency: nil, retained: false, route: route)
        let request = BannerRequest(
            call: BannerCall(number), replaces: nil, newest: event, count: 1, isSummary: false)
        server.show(request, BannerText(title: "\(number)", body: "a < b"))
    }

    @Test func itGetsPlainTextWithoutButtonsAndNoBannerWaitsForItTwice() throws {
        server.ownerIs(":1.7")
        link.answer(.failure(Self.noReply))
        #expect(server.owner == ":1.7")
        try show(1, buttons: [Route.Action(key: "a", label: "A", command: [], application: nil)])
        try show(2)
        #expect(link.banners.map(\.title) == ["1", "2"])
        #expect(link.banners.allSatisfy { $0.body == "a < b" && !$0.hasButtons })
        #expect(link.questions.isEmpty)
    }

    @Test func itIsAskedAgainLaterAndThenItsAnswerCounts() throws {
        server.ownerIs(":1.7")
        link.answer(.failure(Self.noReply))
        link.now = link.now + .seconds(10)
        try show(1)
        try show(2)
        #expect(link.banners.map(\.title) == ["1", "2"])
        #expect(link.questions.count == 1)
        link.answer(.success(["body", "body-markup"]))
        try show(3)
        #expect(link.banners.map(\.body) == ["a < b", "a < b", "a &lt; b"])
    }

    @Test func whatItSaidBeforeStillCounts() throws {
        server.ownerIs(":1.7")
        link.answer(.success(["body", "body-markup", "actions"]))
        link.now = link.now + .seconds(60)
        try show(1)
        try show(2)
        #expect(link.banners.isEmpty)
        link.answer(.failure(Self.noReply))
        #expect(link.banners.map(\.body) == ["a &lt; b", "a &lt; b"])
        #expect(link.questions.isEmpty)
    }

    @Test func anotherServerIsAskedAtOnce() throws {
        server.ownerIs(":1.7")
        link.answer(.failure(Self.noReply))
        server.ownerChanged(to: ":1.8")
        link.answer(.success(["body-markup"]))
        try show(1)
        #expect(link.banners.map(\.body) == ["a &lt; b"])
    }

    // MARK: A stop

    @Test func aStopWaitsForTheAnswersAndAsksForNoMore() throws {
        startServer()
        try show(1)
        var isDrained = false
        server.drain { isDrained = true }
        try show(2)
        #expect(!isDrained && link.calls.count == 1)
        let words = record { link.calls[0](.success(BannerID(4))) }
        #expect(words == ["shown 4"])
        #expect(isDrained)
    }

    @Test func aStopDoesNotWaitForAServerThatLeaves() throws {
        startServer()
        try show(1)
        var isDrained = false
        server.drain { isDrained = true }
        server.ownerChanged(to: "")
        #expect(isDrained)
    }

    @Test func aStopWithoutACallUnderWayDoesNotWait() {
        startServer()
        var isDrained = false
        server.drain { isDrained = true }
        #expect(isDrained)
    }

    // MARK: Signals before the answer

    /// What the router hears, in words.
    private func record(_ body: () throws -> Void) rethrows -> [String] {
        var words: [String] = []
        server.onInput = { [unowned server] input in
            switch input {
            case .banner(_, .shown(let id)): words.append("shown \(id?.rawValue ?? 0)")
            case .bannerClosed(let id, let reason): words.append("closed \(id) \(reason)")
            case .actionInvoked(let id, let key):
                words.append("pressed \(id) \(key) \(server.takeActivationToken() ?? "-")")
            case .banner(_, .failed): words.append("failed")
            default: break
            }
        }
        try body()
        return words
    }

    private func startServer() {
        server.ownerIs(":1.7")
        link.answer(.success(["actions"]))
    }

    @Test func whatIsSaidOfABannerBeforeTheAnswerCountsAfterIt() throws {
        startServer()
        try show(1)
        let words = record {
            server.receive(.token("token"), about: BannerID(4), says: ":1.7")
            server.receive(.pressed("accept"), about: BannerID(4), says: ":1.7")
            server.receive(.closed(reason: 2), about: BannerID(4), says: ":1.7")
            link.calls[0](.success(BannerID(4)))
        }
        #expect(
            words.suffix(3) == ["shown 4", "pressed 4 accept token", "closed 4 dismissed"])
    }

    @Test func whatIsSaidOfOthersBannersMeanwhileDoesNotCount() throws {
        startServer()
        try show(1)
        let words = record {
            server.receive(.closed(reason: 2), about: BannerID(5), says: ":1.7")
            server.receive(.closed(reason: 2), about: BannerID(4), says: ":1.9")
            link.calls[0](.success(BannerID(4)))
        }
        #expect(words == ["closed 5 dismissed", "shown 4"])
    }

    @Test func whatIsSaidOfAKnownBannerCountsOnce() throws {
        startServer()
        server.isKnown = { $0 == BannerID(4) }
        try show(1)
        let words = record {
            server.receive(.closed(reason: 1), about: BannerID(4), says: ":1.7")
            link.calls[0](.success(BannerID(4)))
        }
        #expect(words == ["closed 4 other", "shown 4"])
    }

    @Test func whatIsSaidWithoutACallUnderWayIsNotKept() throws {
        startServer()
        try show(1)
        try show(2)
        let words = record {
            server.receive(.closed(reason: 2), about: BannerID(5), says: ":1.7")
            link.calls[0](.failure(Self.noReply))
            // The second one is still under way.
            link.calls[1](.success(BannerID(5)))
            server.receive(.closed(reason: 2), about: BannerID(6), says: ":1.7")
            try? show(3)
            link.calls[2](.success(BannerID(6)))
        }
        #expect(
            words == ["closed 5 dismissed", "failed", "shown 5", "closed 5 dismissed", "closed 6 dismissed", "shown 6"])
    }

    @Test func whatAnEarlierServerSaidDoesNotCount() throws {
        startServer()
        try show(1)
        server.receive(.closed(reason: 2), about: BannerID(4), says: ":1.7")
        server.ownerChanged(to: ":1.8")
        link.answer(.success([]))
        try show(2)
        #expect(record { link.calls[1](.success(BannerID(4))) } == ["shown 4"])
    }

    @Test func onlyTheNewestEarlySignalsAreKept() {
        var calls = BannerCalls()
        calls.began(BannerCall(1), at: link.now)
        calls.keep(.pressed(String(repeating: "x", count: BannerCalls.textLimit + 1)), about: BannerID(1))
        for number in 1...UInt32(BannerCalls.limit) + 1 { calls.keep(.closed(reason: 2), about: BannerID(number)) }
        calls.began(BannerCall(2), at: link.now)
        #expect(calls.ended(BannerCall(1), banner: BannerID(1), isAnswered: true, at: link.now) == [])
        #expect(
            calls.ended(BannerCall(2), banner: BannerID(2), isAnswered: true, at: link.now) == [.closed(reason: 2)])
    }

    // MARK: A server that does not answer

    @Test func itsSilenceLastsUntilAnyAnswer() throws {
        startServer()
        try show(1)
        link.now = link.now + .milliseconds(500)
        try show(2)
        link.now = link.now + .milliseconds(300)
        #expect(server.silence == .milliseconds(800))
        link.calls[0](.failure(BusFailure(name: "org.freedesktop.DBus.Error.Failed", text: "")))
        #expect(server.silence == .zero)
        link.now = link.now + .seconds(300)
        link.calls[1](.failure(Self.noReply))
        #expect(server.silence == .seconds(300))
        server.ownerChanged(to: ":1.8")
        #expect(server.silence == .zero)
    }

    @Test func theLogTellsOnceThatItHangsAndThatItAnswersAgain() throws {
        let (silent, answers) = (MessageID.serverSilent.id, MessageID.serverAnswers.id)
        startServer()
        try show(1)
        for seconds in [4, 1, 30] {
            link.now = link.now + .seconds(seconds)
            server.checkSilence()
        }
        #expect(log.ids.filter { $0 == silent || $0 == answers } == [silent])
        link.calls[0](.success(BannerID(1)))
        #expect(log.ids.last == answers)
        try show(2)
        server.checkSilence()
        #expect(log.ids.last == answers)
    }

    @Test func itIsFoundBeforeItIsReady() {
        var words: [String] = []
        server.onInput = { input in
            switch input {
            case .server(.found): words.append("found")
            case .server(.ready): words.append("ready")
            default: break
            }
        }
        startServer()
        #expect(words == ["found", "ready"])
    }
}
