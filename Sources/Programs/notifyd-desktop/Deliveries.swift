import DequeModule
import Logging
import NotifyBridge
import NotifyClient

/// What notifyd is told. What it does not take now waits in memory, and goes first when it does.
///
/// All calls may be repeated: events and claims have names. Those about one banner follow each other, each when the one
/// before is answered; the others do not wait for them.
final class Deliveries: @unchecked Sendable {
    // Proof: everything runs on the loop of the bridge.

    private struct Delivery {
        /// Grows: what notifyd does not take now goes back to its place.
        let number: UInt64
        let lane: String
        /// `nil` when it turns out that there is nothing to say.
        let call: () -> DaemonCall?
        let completion: (DaemonAnswer) -> Void
    }

    /// With the longest texts, some 10 MiB.
    private static let most = 1000
    private static let mostUnderWay = 32

    private let services: BridgeServices
    private var waiting: Deque<Delivery> = []
    /// By their lanes.
    private var underWay: [String: Delivery] = [:]
    private var lastNumber: UInt64 = 0
    private var isPausing = false
    private var backoff = Backoff(upTo: .seconds(30))
    private var alarm: WorkTimer?
    private var dropped = 0

    init(_ services: BridgeServices) { self.services = services }

    var isEmpty: Bool { waiting.isEmpty && underWay.isEmpty }

    /// - Parameters:
    ///   - lane: what the call is about.
    ///   - call: asked for when its turn has come.
    ///   - completion: gets the answer unless that is to try later.
    func add(
        _ lane: String, _ call: @escaping () -> DaemonCall?,
        _ completion: @escaping (DaemonAnswer) -> Void = { _ in }
    ) {
        guard waiting.count < Self.most else { return drop() }
        lastNumber += 1
        waiting.append(Delivery(number: lastNumber, lane: lane, call: call, completion: completion))
        submitNext()
    }

    private func drop() {
        dropped += 1
        if dropped == 1 {
            services.logger.error("notifyd takes nothing, and no more can be kept: some notifications are not in it")
        }
        services.status.setProblem(
            "dropped", "\(dropped) notifications or claims were dropped, because notifyd took nothing",
            "“notifyctl doctor” says more of notifyd.")
    }

    /// Tries again now.
    func retry() {
        backoff.reset()
        isPausing = false
        submitNext()
    }

    private func submitNext() {
        var index = 0
        var held: Set<String> = []
        while !isPausing, underWay.count < Self.mostUnderWay, index < min(waiting.count, 2 * Self.mostUnderWay) {
            let lane = waiting[index].lane
            guard underWay[lane] == nil, !held.contains(lane) else {
                held.insert(lane)
                index += 1
                continue
            }
            let delivery = waiting.remove(at: index)
            guard let call = delivery.call() else { continue }
            alarm?.cancel()
            underWay[lane] = delivery
            services.daemon.submit(call) { [self] in handle($0, lane) }
        }
    }

    private func handle(_ answer: DaemonAnswer, _ lane: String) {
        guard let delivery = underWay.removeValue(forKey: lane) else { return }
        if case .refusedForNow = answer {
            waiting.insert(delivery, at: waiting.firstIndex { $0.number > delivery.number } ?? waiting.endIndex)
            services.status.setBacklog(UInt64(waiting.count))
            guard !isPausing else { return }
            isPausing = true
            alarm = services.loop.perform(after: backoff.next() + .milliseconds(50)) { [self] in
                isPausing = false
                submitNext()
            }
            return
        }
        if case .refused(let error) = answer {
            services.logger.warning("notifyd refuses a call", metadata: ["error": "\(error)"])
        }
        backoff.reset()
        if waiting.isEmpty { services.status.setBacklog(0) }
        delivery.completion(answer)
        submitNext()
    }
}
