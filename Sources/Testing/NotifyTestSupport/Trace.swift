import NotifyClient
import NotifyRehearsal

/// What was observed on the bus while a scenario was played, in terms of the letters of the scenario.
struct Trace {
    let start: ContinuousClock.Instant
    /// The inputs, and their answers.
    var inputs = Recording()
    private(set) var ids: [Occurrence: EventID] = [:]
    private var occurrences: [UInt64: Occurrence] = [:]

    init(start: ContinuousClock.Instant) { self.start = start }

    mutating func accepted(_ occurrence: Occurrence, _ id: EventID) {
        ids[occurrence] = id
        if let first = occurrences[id.rawValue] {
            inputs.repeats[occurrence.symbol] = first.symbol
        } else {
            occurrences[id.rawValue] = occurrence
        }
    }

    func recording(_ scenario: Scenario, _ servers: [NotificationServer], _ heard: [Listener.Heard]) -> Recording {
        var recording = inputs
        noteHeard(heard, in: &recording)
        var windows: [Occurrence: Duration] = [:]
        for case .event(let id, let window?) in heard.map(\.word) {
            // Where screens are waited for, the window may end as soon as they have all passed.
            if let occurrence = occurrences[id], !scenario.waitsForScreens(occurrence) { windows[occurrence] = window }
        }
        for server in servers { note(server, heard, windows, in: &recording) }
        return recording
    }

    // MARK: Signals of the daemon

    private func noteHeard(_ heard: [Listener.Heard], in recording: inout Recording) {
        var announced: Set<UInt64> = []
        let resolved = Set(heard.compactMap { if case .resolved(let id, _, _, _) = $0.word { id } else { nil } })
        for word in heard {
            let at = word.arrival - start
            switch word.word {
            case .event(let id, let window):
                guard let occurrence = occurrences[id] else { continue }
                if !announced.insert(id).inserted { recording.faults.append("\(occurrence) was announced twice") }
                if window ?? .zero == .zero, !resolved.contains(id) { recording.note("silent", occurrence, at: at) }
            case .resolved(let id, let outcome, _, _):
                guard let occurrence = occurrences[id] else { continue }
                recording.note(outcome, occurrence, at: at)
            case .action(let id):
                if let occurrence = occurrences[id] { recording.note("action", occurrence, at: at) }
            }
        }
        let silent = recording.happenings.filter { $0.lane == "silent" }.map(\.occurrence)
        for (id, occurrence) in occurrences {
            if !announced.contains(id) { recording.faults.append("\(occurrence) was never announced") }
            if !resolved.contains(id), !silent.contains(occurrence) { recording.undecided.insert(occurrence) }
        }
    }

    // MARK: Calls of the server

    private func note(
        _ server: NotificationServer, _ heard: [Listener.Heard], _ windows: [Occurrence: Duration],
        in recording: inout Recording
    ) {
        let banners = server.banners.all
        for (index, banner) in banners.enumerated() {
            let next = banners[(index + 1)...].first { $0.id == banner.id }?.arrival
            guard let occurrence = newest(behind: banner, heard, before: next) else { continue }
            recording.note(
                banner.replaces == 0 ? "banner" : "update", occurrence, at: banner.arrival - start,
                count: count(in: banner.title))
            if let published = recording.published[occurrence], let window = windows[occurrence] {
                // A window that a limit shortened is announced in milliseconds, rounded up.
                let earliest = start + published + (window.isTenths ? window : window - .milliseconds(1))
                if banner.arrival < earliest {
                    recording.faults.append(
                        "banner \(occurrence) came \((earliest - banner.arrival).milliseconds) before its window ended")
                }
            }
        }
        for close in server.closes.all {
            let shown = server.answers.all.last { $0.id == close.id && $0.arrival <= close.arrival }
            guard let shown, let occurrence = newest(behind: shown, heard, before: nil) else { continue }
            recording.note("close", occurrence, at: close.arrival - start)
        }
    }

    /// The newest event of a banner: by its text, or, for a summary, by the outcomes with the id of the banner.
    private func newest(
        behind banner: NotificationServer.Banner, _ heard: [Listener.Heard], before next: ContinuousClock.Instant?
    ) -> Occurrence? {
        if let occurrence = inputs.published.keys.first(where: { banner.speaks(of: $0) }) { return occurrence }
        let named = heard.compactMap { word -> UInt64? in
            guard case .resolved(let id, "shown", banner.id, _) = word.word, word.arrival > banner.arrival else {
                return nil
            }
            return next.map { word.arrival < $0 } ?? true ? id : nil
        }
        return named.max().flatMap { occurrences[$0] }
    }

    /// `New activity on post 27 (2)` and `3 notifications` say how many; no number says one.
    private func count(in title: String) -> Int {
        if title.hasSuffix(")"), let open = title.lastIndex(of: "(") {
            return Int(title[title.index(after: open)...].dropLast()) ?? 1
        }
        guard title.hasSuffix(" notifications"), let number = title.split(separator: " ").first else { return 1 }
        return Int(number) ?? 1
    }
}

extension NotificationServer.Banner {
    /// Whether the event is the newest one behind the banner. A banner of several has a line for each, the newest one
    /// first.
    func speaks(of occurrence: Occurrence) -> Bool {
        let text = Scenario.EventLine.body(occurrence)
        return body == text || body.hasPrefix("\(occurrence): \(text)\n")
    }
}

extension Duration {
    /// Whether a person wrote this duration; otherwise a limit shortened it.
    fileprivate var isTenths: Bool { components.attoseconds % 10_000_000_000_000_000 == 0 }
}
