import Routing
import Systemd

@testable import NotifyDaemon

/// A notification server with all its habits. It works when its owner, the simulation, says so, and its answers go the
/// way of all messages.
final class SimulatedServer {
    struct Request {
        enum Kind {
            case capabilities
            case notify(BannerID?, events: [EventID])
        }

        let number: Int
        let kind: Kind
    }

    /// What is on screen.
    struct Banner {
        var id: BannerID
        var events: [EventID]
        /// The run of the daemon that was told about it.
        var knownTo: Life?
        /// Nobody knows what it stands for: the daemon that did has died, or the server has mixed its numbers up.
        var isLost = false
    }

    /// Its unique name, while it is on the bus.
    private(set) var name: String?
    private var names = 0
    var isPrompt = true
    var capabilities: Set<String> = ["body", "actions"]
    private(set) var requests: [Request] = []
    var up: [Banner] = []
    private var lastNumber: UInt32 = 0
    /// Every so many new banners the user closes one before the server answers the call that shows it; 0: none.
    var closesEarly: UInt32 = 0
    /// Such banners.
    private(set) var closedEarly: [BannerID] = []
    var onEarlyClose: (BannerID) -> Void = { _ in }
    /// Where its answers go, by the number of the request; says whether anybody is still waiting for one.
    var onAnswer: (Int, Result<Reply, BusFailure>) -> Bool = { _, _ in false }

    enum Reply {
        case capabilities(Set<String>)
        case banner(BannerID)
    }

    func appear() {
        vanish()
        names += 1
        name = ":2.\(names)"
        lastNumber = 0
    }

    func vanish() {
        name = nil
        requests = []
        up = []
        closedEarly = []
    }

    /// A daemon that died may have heard of them, and not have kept it.
    func forgetClosedEarly() { closedEarly = [] }

    func take(_ request: Request) {
        requests.append(request)
        if isPrompt { answer(requests.count - 1, .shown) }
    }

    func close(_ id: BannerID) -> Bool {
        guard let index = up.firstIndex(where: { $0.id == id }) else { return false }
        up.remove(at: index)
        return true
    }

    func catchUp() {
        while isPrompt, !requests.isEmpty { answer(0, .shown) }
    }

    func answer(_ pick: Int, _ answer: Step.Answer) {
        guard !requests.isEmpty else { return }
        let request = requests.remove(at: pick % requests.count)
        guard case .notify(let replaced, let events) = request.kind else {
            let isError = if case .error = answer { true } else { false }
            _ = onAnswer(request.number, isError ? .failure(.refused) : .success(.capabilities(capabilities)))
            return
        }
        switch answer {
        case .shown: show(request.number, as: replaced.flatMap { id in up.contains { $0.id == id } ? id : nil }, events)
        case .renumbered:
            if let replaced { _ = close(replaced) }
            show(request.number, as: nil, events)
        case .taken(let pick):
            let other = up.isEmpty ? nil : up[pick % up.count].id
            if let replaced { _ = close(replaced) }
            show(request.number, as: other, events)
            // Nobody can tell what a server that does so shows. One that was closed early is not up.
            if !up.isEmpty { up[up.count - 1].isLost = true }
        case .identical: _ = onAnswer(request.number, .failure(.repetition))
        case .error: _ = onAnswer(request.number, .failure(.refused))
        case .unknownBanner:
            if let replaced { _ = close(replaced) }
            _ = onAnswer(request.number, .failure(.unknownBanner))
        }
    }

    private func show(_ number: Int, as known: BannerID?, _ events: [EventID]) {
        var id = known
        if id == nil {
            lastNumber += 1
            id = BannerID(lastNumber)
        }
        _ = close(id!)
        if known == nil, closesEarly > 0, lastNumber % closesEarly == 0 {
            closedEarly.append(id!)
            onEarlyClose(id!)
            _ = onAnswer(number, .success(.banner(id!)))
            return
        }
        up.append(Banner(id: id!, events: events))
        if !onAnswer(number, .success(.banner(id!))) { up[up.count - 1].isLost = true }
    }
}

extension BusFailure {
    static let silence = BusFailure(name: "org.freedesktop.DBus.Error.NoReply", text: "")
    static let nobody = BusFailure(name: "org.freedesktop.DBus.Error.ServiceUnknown", text: "")
    static let refused = BusFailure(name: "org.freedesktop.DBus.Error.Failed", text: "")
    static let unknownBanner = BusFailure(name: "org.freedesktop.DBus.Error.InvalidArgs", text: "")
    static let repetition = BusFailure(
        name: "org.freedesktop.Notifications.Error.ExcessNotificationGeneration", text: "")
}
