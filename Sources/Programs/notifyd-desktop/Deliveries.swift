import DequeModule
import Logging
import NotifyBridge
import NotifyClient

/// What notifyd is told, one call after the other: what it does not take now waits in memory, and goes first when it does.
///
/// All calls may be repeated: events and claims have names.
final class Deliveries: @unchecked Sendable {
    // Proof: everything runs on the loop of the bridge.

    private struct Delivery {
        /// `nil` when it turns out that there is nothing to say.
        let call: () -> DaemonCall?
        let completion: (DaemonAnswer) -> Void
    }

    /// With the longest texts, some 10 MiB.
    private static let most = 1000

    private let services: BridgeServices
    private var waiting: Deque<Delivery> = []
    private var isUnderWay = false
    private var isPausing = false
    private var backoff = Backoff(upTo: .seconds(30))
    private var alarm: WorkTimer?
    private var dropped = 0

    init(_ services: BridgeServices) { self.services = services }

    var isEmpty: Bool { waiting.isEmpty }

    /// - Parameters:
    ///   - call: asked for when its turn has come.
    ///   - completion: gets the answer unless that is to try later.
    func add(_ call: @escaping () -> DaemonCall?, _ completion: @escaping (DaemonAnswer) -> Void = { _ in }) {
        guard waiting.count < Self.most else {
            dropped += 1
            if dropped == 1 {
                services.logger.error(
                    "notifyd takes nothing, and no more can be kept: some notifications are not in it")
            }
            services.status.setProblem(
                "dropped",
                BridgeStatus.Problem(
                    "\(dropped) notifications or claims were dropped, because notifyd took nothing",
                    "“notifyctl doctor” says more of notifyd."))
            return
        }
        waiting.append(Delivery(call: call, completion: completion))
        next()
    }

    /// Tries again now.
    func retry() {
        backoff.reset()
        isPausing = false
        next()
    }

    private func next() {
        guard !isUnderWay, !isPausing, let delivery = waiting.first else { return }
        alarm?.cancel()
        guard let call = delivery.call() else {
            waiting.removeFirst()
            return next()
        }
        isUnderWay = true
        services.daemon.submit(call) { [self] in take($0) }
    }

    private func take(_ answer: DaemonAnswer) {
        isUnderWay = false
        if case .refusedForNow = answer {
            services.status.setBacklog(UInt64(waiting.count))
            isPausing = true
            alarm = services.loop.perform(after: backoff.next() + .milliseconds(50)) { [self] in
                isPausing = false
                next()
            }
            return
        }
        if case .refused(let error) = answer {
            services.logger.warning("notifyd refuses a call", metadata: ["error": "\(error)"])
        }
        backoff.reset()
        let delivery = waiting.removeFirst()
        if waiting.isEmpty { services.status.setBacklog(0) }
        delivery.completion(answer)
        next()
    }
}
