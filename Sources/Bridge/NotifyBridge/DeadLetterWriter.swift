import Logging
import NotifyClient

/// Keeps dead letters, and waits while the disk takes nothing: what can never be delivered is confirmed to the other
/// side only when its letter is on the disk.
///
/// After five minutes of such a disk, letters are given up until it takes one again: they are counted, in the log and
/// as a problem of the bridge. So rubbish is never lost in silence, and never holds up other messages for ever.
public final class DeadLetterWriter: Sendable {
    /// What has become of a letter.
    package enum Result: Sendable {
        case kept
        /// The disk was full for too long. It is counted, and its message is confirmed.
        case givenUp
        /// The disk takes nothing now.
        case failed
    }

    private struct State: Sendable {
        var patience: LetterPatience
        /// Letters that wait.
        var waiting = 0
    }

    private let store: BridgeStore
    private let status: BridgeStatus
    private let logger: Logger
    private let loop: WorkLoop
    private let state: Locked<State>

    /// What waits at most, before others wait for it.
    private static let maximumWaiting = 100
    private static let longestPause = Duration.seconds(15)

    init(
        _ store: BridgeStore, _ status: BridgeStatus, _ logger: Logger, _ loop: WorkLoop,
        patience: LetterPatience = LetterPatience()
    ) {
        state = Locked(State(patience: patience))
        self.store = store
        self.status = status
        self.logger = logger
        self.loop = loop
    }

    /// Whether so many letters wait for the disk that no more should.
    package var isFull: Bool { state.withLock { $0.waiting >= Self.maximumWaiting } }

    /// Keeps what can never be delivered, and waits for the disk. When it returns, the message is dealt with: its
    /// letter is on the disk, or was given up and counted.
    ///
    /// - Throws: `CancellationError` if the task was cancelled meanwhile. Then the other side is told nothing, and says
    ///   it again.
    public func keep(_ letter: DeadLetter) async throws(CancellationError) {
        guard case .failed = await attempt(letter) else { return }
        state.withLock { $0.waiting += 1 }
        defer {
            state.withLock { $0.waiting -= 1 }
            show()
        }
        var backoff = Backoff(upTo: Self.longestPause)
        repeat {
            show()
            try await loop.pause(for: backoff.next() + .milliseconds(100))
        } while await attempt(letter) == .failed
    }

    /// Tries once to keep what can never be delivered.
    package func attempt(_ letter: DeadLetter) async -> Result {
        await withCheckedContinuation { continuation in attempt(letter) { continuation.resume(returning: $0) } }
    }

    /// Tries once to keep what can never be delivered.
    ///
    /// - Parameter completion: runs on the thread of the store.
    package func attempt(_ letter: DeadLetter, _ completion: @escaping @Sendable (Result) -> Void) {
        store.keep(letter) { [self] error in completion(wrote(1, error)) }
    }

    /// Takes note of an attempt to write letters.
    ///
    /// - Parameter count: how many.
    package func wrote(_ count: Int, _ error: StoreError?) -> Result {
        guard let error else {
            guard let lost = state.withLock({ $0.patience.succeeded() }) else { return .kept }
            logger.notice("Dead letters are kept again", metadata: ["lost": "\(lost)"])
            show()
            return .kept
        }
        let (isFirst, before, waits, lost) = state.withLock { state in
            let isFirst = !state.patience.isFailing
            let before = state.patience.lost
            var waits = true
            for _ in 0..<count { waits = state.patience.failed(at: .now) }
            return (isFirst, before, waits, state.patience.lost)
        }
        if isFirst {
            logger.error(
                "A dead letter cannot be kept; it waits for the disk", metadata: ["error": "\(error)"])
        }
        guard !waits else { return .failed }
        if before == 0 {
            logger.error(
                "Dead letters are given up: the disk takes nothing for too long", metadata: ["error": "\(error)"])
        }
        logger.info("A dead letter is given up", metadata: ["lost": "\(lost)"])
        show()
        return .givenUp
    }

    /// Takes note that letters were given up because too many wait for the disk.
    package func gaveUp(_ count: Int) {
        let lost = state.withLock { state in
            state.patience.gaveUp(count)
            return state.patience.lost
        }
        logger.error("Dead letters are given up: too many wait for the disk", metadata: ["lost": "\(lost)"])
        show()
    }

    /// Tells of what waits, and of what was given up.
    private func show() {
        let (waiting, patience) = state.withLock { ($0.waiting, $0.patience) }
        var reasons: [String] = []
        if patience.isFailing, waiting > 0 {
            reasons.append("\(Self.messages(waiting)), not confirmed: the disk does not take dead letters yet")
        }
        if patience.lost > 0 {
            reasons.append(
                "\(Self.messages(patience.lost)), without a dead letter: the disk takes nothing for too long")
        }
        status.setLetters(reasons.isEmpty ? nil : reasons.joined(separator: "; "))
    }

    private static func messages(_ count: Int) -> String {
        "\(count) message\(count == 1 ? "" : "s") that can never be taken"
    }
}
