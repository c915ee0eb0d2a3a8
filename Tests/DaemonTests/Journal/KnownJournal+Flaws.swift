import Routing

@testable import Journal

extension KnownJournal {
    /// What is wrong in a journal in which one bit was flipped. A row may be missing, if the journal knows of it.
    func flaws(of journal: Journal) -> [String] {
        do {
            let all = try journal.history(.all, after: EventID(0), limit: 1000)
            return try events(all, journal) + found(all, journal) + names(all, journal) + claims(journal)
                + others(journal)
        } catch {
            return ["an open journal cannot be read: \(error)"]
        }
    }

    /// Of a file that was set aside, rows may be missing, but what was carried over is what it was.
    func wrongEvents(in journal: Journal) -> [String] {
        let all = (try? journal.history(.all, after: EventID(0), limit: 1000)) ?? []
        return all.filter { events[$0.id] != $0 }.map { "\($0.id) is not what it was" }
    }

    private func events(_ all: [StoredEvent], _ journal: Journal) -> [String] {
        var flaws = all.filter { events[$0.id] != $0 }.map { "\($0.id) is not what it was" }
        let missing = events.count - all.count
        if missing > 1 { flaws.append("\(missing) are missing for one flip") }
        if missing > 0 && journal.damagedRows == 0 { flaws.append("\(missing) are missing without a word") }
        return flaws
    }

    /// What is there at all is found by whatever is asked.
    private func found(_ all: [StoredEvent], _ journal: Journal) throws -> [String] {
        var flaws: [String] = []
        for topic in ["/post/1", "/post/2", "/run", "/other"] {
            let found = try journal.history(TopicPrefix(topic), after: EventID(0), limit: 1000)
            let wanted = try all.filter { try TopicPrefix(topic).covers($0.topic) }
            if found != wanted { flaws.append("\(wanted.count - found.count) are not found at \(topic)") }
        }
        let ids = Set(all.map(\.id))
        if try journal.undecided().map(\.id) != undecided.filter({ ids.contains($0) }) { flaws.append("undecided") }
        return flaws
    }

    private func names(_ all: [StoredEvent], _ journal: Journal) throws -> [String] {
        let ids = Set(all.map(\.id))
        let found = try journal.named(after: EventID(0), limit: 1000).map(\.id)
        let wanted = named.filter { ids.contains($0) || Self.removals.contains($0.rawValue) }
        var flaws: [String] = []
        if !Set(found).isSubset(of: wanted) { flaws.append("names that were none") }
        let missing = wanted.count - found.count
        if missing > 1 || missing > 0 && journal.damagedRows == 0 { flaws.append("\(missing) names are gone") }
        return flaws
    }

    private func claims(_ journal: Journal) throws -> [String] {
        var flaws: [String] = []
        var missing = 0
        for id in events.keys {
            let found = try journal.state(of: id)?.claims ?? []
            let wanted = claims[id].map { [$0] } ?? []
            missing += wanted.count - found.count
            if !found.isEmpty, found != wanted { flaws.append("claims on \(id)") }
        }
        if missing > 1 || missing > 0 && journal.damagedRows == 0 { flaws.append("\(missing) claims are gone") }
        return flaws
    }

    private func others(_ journal: Journal) throws -> [String] {
        var flaws: [String] = []
        let before = journal.damagedRows
        let found = try journal.values(.all).map(\.id)
        if !Set(found).isSubset(of: values) { flaws.append("values that were none") }
        if found.count < values.count && journal.damagedRows == before { flaws.append("a value is gone") }
        let quietBefore = journal.damagedRows
        let quiet = try journal.quiet()
        if quiet.contains(where: { !self.quiet.contains($0) }) { flaws.append("quiet that was none") }
        if quiet.count < self.quiet.count && journal.damagedRows == quietBefore { flaws.append("quiet is gone") }
        let snoozesBefore = journal.damagedRows
        let snoozes = try journal.snoozes()
        if snoozes.contains(where: { !self.snoozes.contains($0) }) { flaws.append("snoozes that were none") }
        let isSilent = journal.damagedRows == snoozesBefore
        if snoozes.count < self.snoozes.count && isSilent { flaws.append("a snooze is gone") }
        let up = try journal.banners()
        if !up.allSatisfy({ banners.contains($0) }) { flaws.append("banners that were none") }
        if up.count < banners.count && journal.damagedRows == 0 { flaws.append("a banner is gone") }
        let last = try journal.lastID()
        if last > EventID(1000) { flaws.append("the last id is \(last)") }
        return flaws
    }
}
