import DequeModule
import Logging
import Routing
import Systemd

/// The desktop's notification server: its owner, its capabilities, and asynchronous calls to it.
///
/// The server is addressed by its unique name, so that replies and banner numbers always belong to the same server.
/// When the owner changes, all state is reset.
final class NotificationServer {
    /// Timeout of small calls.
    private static let timeout: Duration = .seconds(5)
    /// So long a server may take for an answer before the log reports it. The router gives a call up then.
    private static let patience: Duration = .seconds(5)
    /// Timeout of calls that show a banner. The router gives up much earlier, but needs to know of a banner that
    /// appears late.
    private static let bannerTimeout: Duration = .seconds(300)
    /// How long the capabilities are cached. Some servers reload their configuration while they run, and then support
    /// markup, for example.
    private static let capabilitiesLifetime: Duration = .seconds(1)
    /// How long banners wait for the capabilities. The router gives a banner up after five seconds.
    private static let capabilitiesTimeout: Duration = .seconds(2)
    /// How long a server that did not say its capabilities is not asked again.
    private static let capabilitiesRetry: Duration = .seconds(10)

    /// Receives the inputs for the router.
    var onInput: (Happening) -> Void = { _ in }
    /// Whether a banner that has waited is still wanted.
    var isWanted: (BannerRequest) -> Bool = { _ in true }
    /// Whether a banner with this number is known to be ours.
    var isKnown: (BannerID) -> Bool = { _ in false }
    /// Called when a server has appeared or left.
    var onChange: () -> Void = {}

    private let link: any NotificationLink
    private let clock: () -> Instant
    private let logger: Logger
    /// The unique name of the server, once its capabilities are known.
    private(set) var owner: String?
    private var capabilities: Set<String> = []
    /// When the capabilities were last read; `nil` if this server never replied.
    private var capabilitiesKnownSince: Instant?
    /// Banners that wait for the capabilities, in order.
    private(set) var queued: [(request: BannerRequest, text: BannerText)] = []
    private var askedAt = Instant(microseconds: 0)
    /// Whether the last question for the capabilities had no answer in time. Banners do not wait for the next one.
    private var isSilent = false
    /// The unique name of a server whose capabilities are being read.
    private var candidate: String?
    /// The unique name of the server, even before its capabilities are known. Banner numbers belong to it.
    var holder: String? { owner ?? candidate }
    /// The same with the id of its bus, because every bus assigns the same unique names.
    var identity: String? { holder.map { "\(link.bus) \($0)" } }
    /// Banners of an earlier run that have not been updated since. GNOME's server sends their signals to the
    /// connection that showed them, which is gone; the shell broadcasts them.
    private var inherited: Set<BannerID> = []
    /// The unique name of the shell that broadcasts them; `nil` if there is none.
    private var shell: String?
    /// The activation token for an application; it comes just before the signal `ActionInvoked`.
    private var activation: (banner: BannerID, token: String)?
    private var calls = BannerCalls()
    /// Failed attempts to start a server.
    private(set) var startFailures: UInt64 = 0
    /// What the log says once of a server.
    private var logged: Set<MessageID> = []
    /// Set once the daemon stops.
    private var onDrained: (() -> Void)?

    init(link: any NotificationLink, clock: @escaping () -> Instant, logger: Logger) {
        self.link = link
        self.clock = clock
        self.logger = logger
    }

    // MARK: Who it is

    /// The owner of the server's name at the start of the daemon.
    func ownerIs(_ name: String?) {
        guard holder == nil else { return }
        if let name {
            ownerChanged(to: name)
        } else {
            logger.record(.noServer)
        }
    }

    /// - Parameter name: the new owner's unique name; empty if there is none.
    func ownerChanged(to name: String) {
        if holder != nil {
            let wasKnown = owner != nil
            owner = nil
            activation = nil
            calls = BannerCalls()
            callsEnded()
            queued = []
            inherited = []
            shell = nil
            onInput(.server(.gone))
            if wasKnown {
                onChange()
                if name.isEmpty { logger.record(.serverLeft) }
            }
        }
        candidate = name.isEmpty ? nil : name
        guard let candidate else { return }
        logged = []
        isSilent = false
        onInput(.server(.found))
        link.askForCapabilities(of: candidate, within: Self.timeout) { [weak self] answer in
            guard let self, self.candidate == candidate else { return }
            self.candidate = nil
            // Until its capabilities are known, a server gets plain text and no buttons.
            capabilities = []
            capabilitiesKnownSince = nil
            askedAt = clock()
            updateCapabilities(answer, of: candidate)
            owner = candidate
            logger.record(
                .server,
                ["server": "\(candidate)", "capabilities": "\(capabilities.sorted().joined(separator: ","))"])
            onInput(.server(.ready))
            onChange()
        }
    }

    /// Without an answer the capabilities stay as they are: the last known ones, or none, which is plain text without
    /// buttons.
    private func updateCapabilities(_ answer: Result<Set<String>, BusFailure>, of server: String) {
        switch answer {
        case .success(let capabilities):
            isSilent = false
            self.capabilities = capabilities
            capabilitiesKnownSince = clock()
        case .failure(let failure):
            isSilent = failure.isTimeout
            // Known capabilities stay in use.
            if isSilent, capabilitiesKnownSince == nil { logOnce(.noCapabilities, ["server": "\(server)"]) }
        }
    }

    /// Starts a server, unless there is one already.
    func start() {
        guard holder == nil else { return }
        link.start { [weak self] failure in
            guard let self, let failure else { return }
            startFailures += 1
            if holder == nil { logOnce(.serverNotStarted, ["error": "\(failure)"]) }
        }
    }

    /// How long it has not answered a call that shows a banner; zero if it has answered all.
    var silence: Duration { calls.unansweredSince.map { clock() - $0 } ?? .zero }

    /// Called when a call may have become too old. Reports a server that hangs, once until it answers again.
    func checkSilence() {
        if let owner, silence >= Self.patience { logOnce(.serverSilent, ["server": "\(owner)"]) }
    }

    private func answered() {
        if logged.remove(.serverSilent) != nil { logger.record(.serverAnswers, ["server": "\(owner ?? "")"]) }
    }

    /// Logs something once of each server.
    private func logOnce(_ message: MessageID, _ data: Logger.Metadata = [:]) {
        if logged.insert(message).inserted { logger.record(message, data) }
    }

    // MARK: What it is asked for

    func show(_ request: BannerRequest, _ text: BannerText) {
        guard let owner else { return onInput(.banner(request.call, .failed(.noAnswer))) }
        // Some servers support buttons only at times, so the capabilities are always read before a banner with
        // buttons.
        let hasButtons = request.newest.hasButtons && !request.isSummary
        let now = clock()
        let isFresh = !hasButtons && capabilitiesKnownSince.map { now - $0 < Self.capabilitiesLifetime } ?? false
        if isFresh || isSilent, queued.isEmpty {
            notify(owner, request, text)
            if isFresh || now - askedAt < Self.capabilitiesRetry { return }
        } else {
            queued.append((request, text))
            // One reply serves all queued banners.
            guard queued.count == 1 else { return }
        }
        askedAt = now
        link.askForCapabilities(of: owner, within: Self.capabilitiesTimeout) { [weak self] answer in
            guard let self, self.owner == owner else { return }
            let requests = queued
            queued = []
            updateCapabilities(answer, of: owner)
            for (request, text) in requests { notify(owner, request, text) }
        }
    }

    private func notify(_ owner: String, _ request: BannerRequest, _ text: BannerText) {
        guard onDrained == nil else { return }
        guard isWanted(request) else { return onInput(.banner(request.call, .failed(.notAsked))) }
        onInput(.banner(request.call, .sent))
        let body = SafeText.cleaned(text.body, lineBreaks: true)
        let safe = BannerText(
            title: SafeText.cleaned(text.title, lineBreaks: false),
            body: capabilities.contains("body-markup") ? body.escapedMarkup : body)
        let hasButtons = capabilities.contains("actions") && !request.isSummary
        calls.began(request.call, at: clock())
        link.notify(owner, request, safe, hasButtons: hasButtons, within: Self.bannerTimeout) { [weak self] answer in
            guard let self, self.owner == owner else { return }
            var number: BannerID?
            if case .success(let banner) = answer { number = banner }
            let signals = calls.ended(request.call, banner: number, isAnswered: answer.isAnswer, at: clock())
            if answer.isAnswer { answered() }
            switch answer {
            case .success(let banner):
                // A server that returns no error has most likely shown the banner. Showing it again could repeat it
                // endlessly.
                if banner == nil { logOnce(.malformedReply) }
                if let replaced = request.replaces { inherited.remove(replaced) }
                onInput(.banner(request.call, .shown(banner)))
                if let banner { for signal in signals { handleSignal(signal, about: banner) } }
            case .failure(let failure) where failure.name == Self.duplicateError:
                onInput(.banner(request.call, .shown(nil)))
            case .failure(let failure): failed(request, failure)
            }
            callsEnded()
        }
    }

    /// Shows no more banners. Those that are not sent stay undecided for the next run.
    ///
    /// - Parameter action: called once all calls that show banners are answered; at once where none is under way.
    func drain(_ action: @escaping () -> Void) {
        onDrained = action
        callsEnded()
    }

    private func callsEnded() {
        if calls.isEmpty { onDrained?() }
    }

    private func failed(_ request: BannerRequest, _ failure: BusFailure) {
        let event = request.newest
        logger.record(
            .bannerFailed,
            ["event.id": "\(event.id)", "topic": "\(event.topic)", "error": "\(failure.name)"])
        onInput(.banner(request.call, .failed(Self.reason(failure, updates: request.replaces != nil))))
    }

    /// Plasma returns this for a banner that repeats one of a moment ago, and does not show it.
    private static let duplicateError = "org.freedesktop.Notifications.Error.ExcessNotificationGeneration"

    /// GNOME refuses to update a banner of another connection, with an error about the arguments.
    private static func reason(_ failure: BusFailure, updates: Bool) -> BannerFailure {
        updates && failure.name == "org.freedesktop.DBus.Error.InvalidArgs" ? .unknownBanner : .noAnswer
    }

    /// Best effort: the banner may be gone already.
    func close(_ id: BannerID) {
        guard let holder else { return }
        link.close(id, at: holder)
    }

    /// Adds banners that an earlier run has shown.
    func inherit(_ banners: [BannerID]) {
        let isNew = inherited.isEmpty
        inherited.formUnion(banners)
        guard let holder, isNew, !banners.isEmpty else { return }
        link.watchOldBanners(of: holder) { [weak self] shell in
            if let self, self.holder == holder { self.shell = shell }
        }
    }

    /// Whether signals of this sender about a banner count.
    private func accepts(_ sender: String, about banner: BannerID) -> Bool {
        sender == holder || sender == shell && inherited.contains(banner)
    }

    // MARK: What it says

    func receive(_ signal: BannerCalls.Signal, about id: BannerID, says sender: String) {
        guard accepts(sender, about: id) else { return }
        if case .closed = signal { inherited.remove(id) }
        if !isKnown(id) { calls.keep(signal, about: id) }
        handleSignal(signal, about: id)
    }

    private func handleSignal(_ signal: BannerCalls.Signal, about id: BannerID) {
        switch signal {
        case .token(let token): activation = (id, token)
        case .pressed(let key):
            if activation?.banner != id { activation = nil }
            onInput(.actionInvoked(id, action: key))
            activation = nil
        case .closed(let reason): onInput(.bannerClosed(id, reason == 2 ? .dismissed : .other))
        }
    }

    /// A button was reported that the banner does not have.
    func logUnknownAction(_ key: String, on id: BannerID) {
        logOnce(.unknownAction, ["banner": "\(id)", "action": "\(key)"])
    }

    /// The token of the current action.
    func takeActivationToken() -> String? {
        defer { activation = nil }
        return activation?.token
    }
}

extension Result where Failure == BusFailure {
    /// Whether an answer came, be it an error.
    fileprivate var isAnswer: Bool { if case .failure(let failure) = self { !failure.isTimeout } else { true } }
}

/// The calls under way that show banners.
///
/// A user may close a banner, or press its button, before the server has answered the call that shows it. While a call
/// is under way, what the server says about banners whose numbers are not known is kept, and it counts if an answer
/// names their number. The rest is about banners of other programs.
struct BannerCalls {
    enum Signal: Equatable {
        case token(String)
        case pressed(String)
        case closed(reason: UInt32)
    }

    /// Signals that are kept; the oldest are dropped.
    static let limit = 64
    /// Bytes of a key or a token that is kept.
    static let textLimit = 1024

    private var calls: Set<BannerCall> = []
    private var signals = Deque<(banner: BannerID, signal: Signal)>()
    /// When the oldest call since the last answer was made; `nil` if all are answered.
    private(set) var unansweredSince: Instant?

    var isEmpty: Bool { calls.isEmpty }

    mutating func began(_ call: BannerCall, at now: Instant) {
        calls.insert(call)
        unansweredSince = unansweredSince ?? now
    }

    /// A call that has timed out stays unanswered until the server answers another one.
    ///
    /// - Parameter banner: the number in the answer.
    /// - Returns: the signals about it, oldest first.
    mutating func ended(_ call: BannerCall, banner: BannerID?, isAnswered: Bool, at now: Instant) -> [Signal] {
        calls.remove(call)
        if isAnswered { unansweredSince = calls.isEmpty ? nil : now }
        let found = signals.filter { $0.banner == banner }.map(\.signal)
        signals.removeAll { calls.isEmpty || $0.banner == banner }
        return found
    }

    mutating func keep(_ signal: Signal, about banner: BannerID) {
        guard !calls.isEmpty else { return }
        switch signal {
        case .token(let text), .pressed(let text): guard text.utf8.count <= Self.textLimit else { return }
        case .closed: break
        }
        if signals.count == Self.limit { signals.removeFirst() }
        signals.append((banner, signal))
    }
}

/// Calls to a notification server. They are asynchronous, and each gets a reply or an error.
protocol NotificationLink: AnyObject {
    /// Starts a server through the bus. `answer` gets `nil` once a server is there.
    func start(_ answer: @escaping (BusFailure?) -> Void)
    /// The id of the bus, which changes with every start of a bus.
    var bus: String { get }
    func askForCapabilities(
        of server: String, within time: Duration, _ answer: @escaping (Result<Set<String>, BusFailure>) -> Void)
    /// - Parameters:
    ///   - text: ready to send, escaped if necessary.
    ///   - hasButtons: whether the banner gets the buttons of its route.
    ///   - answer: the banner's number; `nil` if the reply has none but is not an error.
    func notify(
        _ server: String, _ request: BannerRequest, _ text: BannerText, hasButtons: Bool, within time: Duration,
        _ answer: @escaping (Result<BannerID?, BusFailure>) -> Void)
    /// Subscribes to the program that, beside the server, sends signals about banners of an earlier run. `answer` gets
    /// its unique name, or `nil` if there is none.
    func watchOldBanners(of server: String, _ answer: @escaping (String?) -> Void)
    /// The reply is ignored.
    func close(_ banner: BannerID, at server: String)
}
