/// Says when the bus is to start a notification server: as soon as a banner is due and there is none, and at growing
/// intervals after that, until a server has shown a banner.
struct ServerStart {
    static let shortestPause: Duration = .seconds(5)
    static let longestPause: Duration = .seconds(600)
    /// After so many attempts nothing is tried because of the time alone, so that a machine without a server sleeps.
    static let attemptsByItself = 6

    private var attempts = 0
    /// The earliest moment of the next attempt.
    private var next: Instant?

    /// The moment at which to try again without further cause.
    var retry: Instant? { attempts < Self.attemptsByItself ? next : nil }

    func isDue(at now: Instant) -> Bool { next.map { $0 <= now } ?? true }

    mutating func began(at now: Instant) {
        let pause = Self.shortestPause * (1 << min(attempts, 10))
        next = now + min(pause, Self.longestPause)
        attempts += 1
    }
}

extension Router {
    /// Has a server started when something waits to be shown. What is due while no server is there has a banner.
    mutating func startServer(at now: Now) {
        guard !gate.isServerThere, bannerSettings.startsServer, !banners.isEmpty else { return }
        if serverStart.isDue(at: now.instant) {
            serverStart.began(at: now.instant)
            effects.append(.startServer)
        }
        if serverStartRetry == nil, let retry = serverStart.retry {
            serverStartRetry = agenda.put(.serverStart, at: retry)
        }
    }
}
