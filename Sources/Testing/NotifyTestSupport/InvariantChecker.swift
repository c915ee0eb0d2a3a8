internal import Routing

/// Checks the inputs and effects of the router against the invariants of every run, independent of the scenario.
struct InvariantChecker {
    var faults: [String] = []
    /// The event whose publication is being handled; its id is only known from the answer.
    var publishing: Occurrence?
    /// The screen that is being opened, likewise.
    var opening: Symbol?
    /// Provisional claims of events: the claimants, and when their times end.
    private var holds: [EventID: [String: Duration]] = [:]
    /// Events that were announced with a window, and when it ends at the earliest.
    private var windowEnds: [EventID: Duration] = [:]
    private var outcomes: [EventID: [Outcome]] = [:]
    private var announced: Set<EventID> = []

    var undecided: [EventID] { windowEnds.keys.filter { outcomes[$0] == nil }.sorted() }

    // Provisional claims are tracked: an event that is held gets no banner.

    mutating func check(_ call: Call, _ reply: Result<Reply, Refusal>, _ effects: [Effect], at now: Duration) {
        switch (call, reply) {
        case (.claimedProvisionally(let id, let time, let claimant), .success(.verdict(.suppressed))):
            holds[id, default: [:]][claimant] = now + time
        case (.answered(let id, .released, let claimant), .success):
            holds[id]?[claimant] = nil
            keepHolds { _, _ in true }
        case (.answered(let id, .completed, _), .success), (.claimed(let id, _, _), _): holds[id] = nil
        default: break
        }
        for effect in effects { check(effect, at: now) }
    }

    mutating func check(_ happening: Happening, _ effects: [Effect], at now: Duration) {
        // A hold ends when the timer fires: messages of the same time are handled first.
        if case .timerFired = happening { keepHolds { _, until in until > now } }
        if case .peer(let name, .left) = happening { keepHolds { claimant, _ in claimant != name } }
        for effect in effects { check(effect, at: now) }
    }

    private mutating func keepHolds(where isKept: (String, Duration) -> Bool) {
        holds = holds.mapValues { $0.filter { isKept($0.key, $0.value) } }.filter { !$0.value.isEmpty }
    }

    private mutating func check(_ effect: Effect, at now: Duration) {
        switch effect {
        case .announce(let event, let announcement):
            if !announced.insert(event.id).inserted { faults.append("event \(event.id) was announced twice") }
            // Where screens are waited for, the window may end as soon as they have all passed.
            let isSure = event.route.wait == .anyone
            if let window = announcement.window { windowEnds[event.id] = isSure ? now + window : now }
        case .resolve(let id, _, let resolution):
            check(resolution, of: id, at: now)
        case .showBanner(let request):
            let newest = request.newest.id
            if let end = windowEnds[newest], now < end {
                faults.append(
                    "banner for \(newest) at \(now.milliseconds), before its window ends at \(end.milliseconds)")
            }
            if let claimants = holds[newest]?.keys.sorted() {
                faults.append("banner for \(newest) at \(now.milliseconds), which is held by \(claimants)")
            }
            // What the server shows is asked for again when another event behind the banner was withdrawn or replaced.
            if let outcome = outcomes[newest]?.last, outcome != .shown || request.replaces == nil {
                faults.append("banner for \(newest), which was \(outcome)")
            }
            let unclaimed = windowEnds.keys.count {
                ![.claimed, .retracted, .withdrawn, .replaced].contains(outcomes[$0]?.last) && holds[$0] == nil
            }
            if request.count > unclaimed {
                faults.append("a banner for \(request.count) events, where \(unclaimed) are unclaimed")
            }
        default:
            break
        }
    }

    private mutating func check(_ resolution: Resolution, of id: EventID, at now: Duration) {
        let before = outcomes[id]
        switch (before?.last, resolution.outcome) {
        case (nil, .claimed), (nil, .expired), (nil, .muted), (nil, .retracted), (nil, .withdrawn), (nil, .replaced),
            (.shown, .retracted), (.shown, .dismissed), (.shown, .withdrawn), (.shown, .replaced):
            break
        case (nil, .shown):
            if let end = windowEnds[id], now < end {
                faults.append(
                    "event \(id) was shown at \(now.milliseconds), before its window ends at \(end.milliseconds)")
            }
        case (let earlier, let outcome):
            faults.append("event \(id) was \(outcome) after it was \(earlier.map { "\($0)" } ?? "nothing")")
        }
        if !announced.contains(id) { faults.append("event \(id) was decided before it was announced") }
        outcomes[id, default: []].append(resolution.outcome)
    }
}
