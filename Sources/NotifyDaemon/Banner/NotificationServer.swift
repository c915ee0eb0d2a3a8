import Logging
import Routing
import Systemd

/// The desktop's notification server as the daemon deals with it: who it is, what it can do, and calls that never wait.
///
/// The server is addressed by its unique name, so that an answer and a number always belong to the same server; when the
/// name changes hands, everything is forgotten.
final class NotificationServer {
    /// How long the answer to a small question is awaited. It never keeps anybody waiting: calls are asynchronous.
    private static let patience: Duration = .seconds(5)
    /// How long an answer on the way to a banner is understood. The router gives a call up much earlier, but wants to hear
    /// of a banner that appears after all.
    private static let memory: Duration = .seconds(300)
    /// How long what the server can do is taken for granted. Some take a new configuration while they run, and then
    /// understand markup that they did not understand before.
    private static let freshness: Duration = .seconds(1)

    /// What comes from the server goes into the router by this way.
    var onInput: (Input) -> Void = { _ in }
    /// Says whether a banner that has had to wait is still wanted.
    var isWanted: (BannerRequest) -> Bool = { _ in true }
    /// Called when it is known that there is a server, or that there is none.
    var onChange: () -> Void = {}

    private let link: any NotificationLink
    private let clock: () -> Instant
    private let logger: Logger
    /// The unique name of the server, once it has said what it can do.
    private(set) var owner: String?
    private var capabilities: Set<String> = []
    /// When the server last said what it can do; `nil` where this one never did.
    private var capabilitiesKnownSince: Instant?
    /// Banners that wait until the server has said once more what it can do, in their order.
    private(set) var unsent: [(request: BannerRequest, text: BannerText)] = []
    private var askedAt = Instant(microseconds: 0)
    /// The unique name of the server that is being asked what it can do.
    private var candidate: String?
    /// The unique name of the server that is there, though it may not have said yet what it can do: the numbers of banners
    /// are its own from the start.
    var holder: String? { owner ?? candidate }
    /// The same with the bus that it is on: unique names begin anew with each bus.
    var identity: String? { holder.map { "\(link.bus) \($0)" } }
    /// Banners of an earlier run that have not been updated since. GNOME's server tells of them the connection that showed
    /// them, which is gone; the shell tells everybody.
    private var inherited: Set<BannerID> = []
    /// Who tells of those beside the server; `nil` where nobody does.
    private var teller: String?
    /// What lets an application raise its window; it comes just before the signal `ActionInvoked`.
    private var activation: (banner: BannerID, token: String)?
    /// How often the bus could not start a server.
    private(set) var startFailures: UInt64 = 0
    private var hasLoggedStartFailure = false
    private var hasLoggedStrangeAnswer = false

    init(link: any NotificationLink, clock: @escaping () -> Instant, logger: Logger) {
        self.link = link
        self.clock = clock
        self.logger = logger
    }

    // MARK: Who it is

    /// Who has the server's name as the daemon starts.
    func ownerIs(_ name: String?) {
        guard holder == nil else { return }
        if let name {
            ownerChanged(to: name)
        } else {
            logger.record(.noServer)
        }
    }

    /// - Parameter name: the new owner's unique name; empty where there is none.
    func ownerChanged(to name: String) {
        if holder != nil {
            let wasKnown = owner != nil
            owner = nil
            activation = nil
            unsent = []
            inherited = []
            teller = nil
            onInput(.serverVanished)
            if wasKnown {
                onChange()
                if name.isEmpty { logger.record(.serverLeft) }
            }
        }
        candidate = name.isEmpty ? nil : name
        guard let candidate else { return }
        hasLoggedStartFailure = false
        hasLoggedStrangeAnswer = false
        link.askForCapabilities(of: candidate, within: Self.patience) { [unowned self] answer in
            guard self.candidate == candidate else { return }
            self.candidate = nil
            // A server that cannot say what it can do gets plain text and no buttons, until it can.
            capabilities = []
            capabilitiesKnownSince = nil
            learn(answer)
            owner = candidate
            logger.record(
                .server,
                ["server": "\(candidate)", "capabilities": "\(capabilities.sorted().joined(separator: ","))"])
            onInput(.serverAppeared)
            onChange()
        }
    }

    private func learn(_ answer: Result<Set<String>, BusFailure>) {
        guard case .success(let capabilities) = answer else { return }
        self.capabilities = capabilities
        capabilitiesKnownSince = clock()
    }

    /// Has the bus start a server, unless there is one that has not said yet what it can do.
    func start() {
        guard holder == nil else { return }
        link.start { [unowned self] failure in
            guard let failure else { return }
            startFailures += 1
            guard holder == nil, !hasLoggedStartFailure else { return }
            hasLoggedStartFailure = true
            logger.record(.serverNotStarted, ["error": "\(failure)"])
        }
    }

    // MARK: What it is asked for

    func show(_ request: BannerRequest, _ text: BannerText) {
        guard let owner else { return onInput(.bannerFailed(request.call, .noAnswer)) }
        // Some servers take buttons at some times and not at others, so they are always asked before there are any.
        let hasButtons = !request.newest.route.appearance.actions.isEmpty && !request.isSummary
        let now = clock()
        let isKnown = !hasButtons && capabilitiesKnownSince.map { now - $0 < Self.freshness } ?? false
        if isKnown, unsent.isEmpty { return notify(owner, request, text) }
        unsent.append((request, text))
        // One answer does for all that wait for it; a question that got none is asked again.
        guard unsent.count == 1 || now - askedAt > Self.patience else { return }
        askedAt = now
        link.askForCapabilities(of: owner, within: Self.memory) { [unowned self] answer in
            guard self.owner == owner else { return }
            let requests = unsent
            unsent = []
            learn(answer)
            for (request, text) in requests {
                if case .failure(let failure) = answer, failure.isTimeout {
                    failed(request, failure)
                } else {
                    notify(owner, request, text)
                }
            }
        }
    }

    private func notify(_ owner: String, _ request: BannerRequest, _ text: BannerText) {
        guard isWanted(request) else { return onInput(.bannerFailed(request.call, .notAsked)) }
        let body = SafeText.cleaned(text.body, lineBreaks: true)
        let safe = BannerText(
            title: SafeText.cleaned(text.title, lineBreaks: false),
            body: capabilities.contains("body-markup") ? SafeText.escaped(body) : body)
        let hasButtons = capabilities.contains("actions") && !request.isSummary
        link.notify(owner, request, safe, hasButtons: hasButtons, within: Self.memory) { [unowned self] answer in
            guard self.owner == owner else { return }
            switch answer {
            case .success(let banner):
                if banner == nil { noteStrangeAnswer() }
                if let replaced = request.replaces { inherited.remove(replaced) }
                onInput(.bannerShown(request.call, banner))
            case .failure(let failure) where failure.name == Self.repetition: onInput(.bannerShown(request.call, nil))
            case .failure(let failure): failed(request, failure)
            }
        }
    }

    /// A server that gives no error has most likely shown the banner, and showing it again would repeat it without end.
    private func noteStrangeAnswer() {
        guard !hasLoggedStrangeAnswer else { return }
        hasLoggedStrangeAnswer = true
        logger.record(.strangeAnswer)
    }

    private func failed(_ request: BannerRequest, _ failure: BusFailure) {
        let event = request.newest
        logger.record(
            .bannerFailed,
            ["event.id": "\(event.id)", "topic": "\(event.topic)", "error": "\(failure.name)"])
        onInput(.bannerFailed(request.call, Self.reason(failure, updates: request.replaces != nil)))
    }

    /// Plasma says this of a banner that is the same as one a moment ago, and shows none.
    private static let repetition = "org.freedesktop.Notifications.Error.ExcessNotificationGeneration"

    /// GNOME refuses to update what it does not count as ours, with an error about the arguments.
    private static func reason(_ failure: BusFailure, updates: Bool) -> BannerFailure {
        updates && failure.name == "org.freedesktop.DBus.Error.InvalidArgs" ? .unknownBanner : .noAnswer
    }

    /// Closing is best effort: a banner that is gone already is as good as closed.
    func close(_ id: BannerID) {
        guard let holder else { return }
        link.close(id, at: holder)
    }

    /// These banners were shown by an earlier run.
    func inherit(_ banners: [BannerID]) {
        let isNew = inherited.isEmpty
        inherited.formUnion(banners)
        guard let holder, isNew, !banners.isEmpty else { return }
        link.hearOldBanners(of: holder) { [unowned self] teller in
            if self.holder == holder { self.teller = teller }
        }
    }

    /// Whether it is for this program to say what becomes of a banner.
    private func believes(_ sender: String, about banner: BannerID) -> Bool {
        sender == holder || sender == teller && inherited.contains(banner)
    }

    // MARK: What it says

    func closed(_ id: BannerID, reason: UInt32, says sender: String) {
        guard believes(sender, about: id) else { return }
        inherited.remove(id)
        onInput(.bannerClosed(id, reason == 2 ? .dismissed : .other))
    }

    func actionInvoked(_ id: BannerID, _ key: String, says sender: String) {
        guard believes(sender, about: id) else { return }
        if activation?.banner != id { activation = nil }
        onInput(.actionInvoked(id, action: key))
        activation = nil
    }

    func activationGranted(_ id: BannerID, _ token: String, says sender: String) {
        guard believes(sender, about: id) else { return }
        activation = (id, token)
    }

    /// The token that came with the action being relayed.
    func takeActivationToken() -> String? {
        defer { activation = nil }
        return activation?.token
    }
}
