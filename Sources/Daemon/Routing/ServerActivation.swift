/// When to ask the bus to start a notification server: at once when a banner is due and there is none, then with exponential
/// backoff until a server has shown a banner.
struct ServerActivation {
    static let initialBackoff: Duration = .seconds(5)
    static let maximumBackoff: Duration = .seconds(600)
    /// After so many attempts no timer is armed, so that a machine without a server can sleep.
    static let unpromptedAttempts = 6

    private var attempts = 0
    /// The earliest moment of the next attempt.
    private var next: Instant?

    /// When to try again without another input.
    var retry: Instant? { attempts < Self.unpromptedAttempts ? next : nil }

    func isDue(at now: Instant) -> Bool { next.map { $0 <= now } ?? true }

    mutating func attempted(at now: Instant) {
        let backoff = Self.initialBackoff * (1 << min(attempts, 10))
        next = now + min(backoff, Self.maximumBackoff)
        attempts += 1
    }
}

extension Router {
    /// Starts a server if there is none and a banner is due.
    mutating func startServer(at now: Now) {
        guard !server.isServerThere, bannerSettings.startsServer, !banners.isEmpty else { return }
        if serverActivation.isDue(at: now.instant) {
            serverActivation.attempted(at: now.instant)
            effects.append(.startServer)
        }
        if serverStartTimer == nil, let retry = serverActivation.retry {
            serverStartTimer = timers.schedule(.serverStart, at: retry)
        }
    }
}
