import NotifyClient
import NotifyRehearsal

/// What the world outside the daemon was told, over any number of its lives: every id that was returned, every signal,
/// every verdict. At the end it compares that with what the daemon says itself.
final class Witness: Sendable {
    private struct State {
        /// By the title, which is different for every event that somebody wanted to publish.
        var ids: [String: UInt64] = [:]
        var lastOf: [String: UInt64] = [:]
        var announced: Set<UInt64> = []
        var lastAnnounced: UInt64 = 0
        var outcomes: [UInt64: [String]] = [:]
        var suppressed: [UInt64: ContinuousClock.Instant] = [:]
        var faults: [String] = []
    }

    private let state = Locked(State())

    var acknowledged: Int { state.withLock { $0.ids.count } }

    /// An id was returned to a publisher, for the first time or again.
    func returned(_ id: UInt64, for title: String, to publisher: String) {
        state.withLock { state in
            if let first = state.ids[title] {
                if first != id { state.faults.append("a repeat of \(title), which was \(first), became \(id)") }
                return
            }
            state.ids[title] = id
            let last = state.lastOf[publisher] ?? 0
            if id <= last { state.faults.append("\(publisher) was given \(id) after \(last)") }
            state.lastOf[publisher] = id
        }
    }

    func claimed(_ id: UInt64, verdict: String) {
        guard verdict == "suppressed" else { return }
        let now = ContinuousClock.now
        state.withLock { state in if state.suppressed[id] == nil { state.suppressed[id] = now } }
    }

    func heard(_ signal: Message) {
        guard signal.interface == Router.interface, signal.arguments.count > 2,
            case .uint64(let id) = signal.arguments[1]
        else { return }
        state.withLock { state in
            switch signal.member {
            case "Event":
                guard signal.arguments.last?.entries?["replayed"]?.boolean != true else { return }
                if !state.announced.insert(id).inserted { state.faults.append("\(id) was announced as new twice") }
                if id <= state.lastAnnounced { state.faults.append("\(id) came after \(state.lastAnnounced)") }
                state.lastAnnounced = id
            case "Resolved": state.outcomes[id, default: []].append(signal.arguments[2].string ?? "")
            default: break
            }
        }
    }

    /// - Parameters:
    ///   - history: all that the daemon has in the end.
    ///   - banners: every call of `Notify`.
    /// - Returns: what was promised and is not so.
    func faults(_ history: [FaultRig.Entry], _ banners: [NotificationServer.Banner]) -> [String] {
        let state = state.withLock { $0 }
        var faults = state.faults
        var kept: [UInt64: FaultRig.Entry] = [:]
        var titles: Set<String> = []
        for entry in history {
            if kept.updateValue(entry, forKey: entry.id) != nil { faults.append("\(entry.id) is in the history twice") }
            if !titles.insert(entry.title).inserted { faults.append("\(entry.title) became two events") }
            if entry.outcome.isEmpty { faults.append("\(entry.id) has no outcome") }
        }
        for (title, id) in state.ids where kept[id]?.title != title { faults.append("\(title), \(id), is lost") }
        for id in state.announced where kept[id] == nil { faults.append("\(id) was announced and is lost") }
        for (id, outcomes) in state.outcomes {
            let outcome = kept[id]?.outcome ?? "lost"
            // The daemon may die between the commit of a late claim and its signal, which is not the promise.
            let isUnheard = outcomes == ["shown"] && ["retracted", "dismissed"].contains(outcome)
            if outcome != outcomes.last && !isUnheard {
                faults.append("\(id) is \(outcome) and was announced as \(outcomes)")
            }
            let hasChanged = outcomes.count == 2 && outcomes[0] == "shown"
            if outcomes.count > 1 && !(hasChanged && ["retracted", "dismissed"].contains(outcomes[1])) {
                faults.append("\(id) had the outcomes \(outcomes)")
            }
        }
        let byTitle = Dictionary(grouping: banners, by: \.title)
        for (id, time) in state.suppressed {
            guard let entry = kept[id] else { continue }
            if entry.outcome != "claimed" { faults.append("\(id) was claimed in time and is \(entry.outcome)") }
            if let late = byTitle[entry.title]?.first(where: { $0.arrival > time }) {
                faults.append("\(id) was claimed in time, and a banner came \(late.arrival - time) later")
            }
        }
        for entry in history where ["shown", "retracted", "dismissed"].contains(entry.outcome) {
            // A claim retracts an event whose banner is on its way, and then the banner may not be sent at all.
            if entry.outcome == "retracted", state.outcomes[entry.id]?.contains("shown") != true { continue }
            if byTitle[entry.title] == nil { faults.append("\(entry.id) is \(entry.outcome) without a banner") }
        }
        return faults
    }

    /// The most banners that one end of the daemon had repeated, and all of them.
    static func repeats(_ banners: [NotificationServer.Banner]) -> (most: Int, all: Int, withinOneLife: Int) {
        var lives: [String: String] = [:]
        var repeats: [String: Int] = [:]
        var withinOneLife = 0
        for banner in banners {
            // A life of the daemon has a unique name of its own.
            if let before = lives.updateValue(banner.sender, forKey: banner.title) {
                if before == banner.sender { withinOneLife += 1 } else { repeats[before, default: 0] += 1 }
            }
        }
        return (repeats.values.max() ?? 0, repeats.values.reduce(0, +), withinOneLife)
    }
}
