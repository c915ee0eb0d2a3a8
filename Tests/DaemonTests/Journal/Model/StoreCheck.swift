import Routing
import Testing

@testable import Journal

/// Compares what a store answers with what a model says.
struct StoreCheck {
    let journal: Journal
    let model: StoreModel
    /// What was different.
    private(set) var flaws: [String] = []
    /// All events in the order of their ids.
    private lazy var sorted = model.sorted

    init(_ journal: Journal, _ model: StoreModel) {
        self.journal = journal
        self.model = model
    }

    mutating func expect<Answer: Equatable>(_ what: String, _ found: Answer, _ wanted: Answer) {
        if found != wanted { flaws.append("\(what): \(brief(found)), not \(brief(wanted))") }
    }

    private mutating func expect<Element: Equatable>(_ what: String, _ found: [Element], _ wanted: [Element]) {
        guard found != wanted else { return }
        let index = zip(found, wanted).prefix { $0 == $1 }.count
        let (one, other) = (found.dropFirst(index).first, wanted.dropFirst(index).first)
        flaws.append(
            "\(what): \(found.count), not \(wanted.count); the one at \(index) is "
                + "\(one.map { brief($0) } ?? "missing"), not \(other.map { brief($0) } ?? "there")")
    }

    private func brief(_ answer: some Any) -> String { "\(answer)".replacing(/(x|y){9,}/, with: "…") }

    // MARK: Single events

    /// What is answered without the index, where that is possible.
    mutating func checkEvent(_ id: EventID) throws {
        let (found, wanted) = (try journal.state(of: id), model.events[id])
        expect("event \(id)", found?.event, wanted?.event)
        expect("holds \(id)", try journal.holds(id), wanted != nil)
        expect("the read mark of \(id)", found?.isMarkedRead, wanted?.isMarkedRead)
        expect("claims on \(id)", found?.claims, wanted?.claims)
    }

    mutating func checkName(_ id: EventID) throws {
        guard let origin = model.events[id]?.event.origin, origin.isGlobalID else { return }
        let wanted = sorted.first { $0.event.origin == origin }?.event.id
        expect("the name \(origin)", try journal.event(named: origin), wanted)
    }

    // MARK: Everything

    mutating func checkAll() throws {
        expect("damage", journal.damagedRows, 0)
        if journal.isChecked { expect("count", journal.count, sorted.count) }
        expect("the newest change", journal.newestChange, UInt64(model.newestChange))
        expect("the oldest change", journal.oldestChange, UInt64(model.oldestChange))
        // While the index fails, each read applies what waits.
        for state in journal.indexFailure == nil ? sorted : sorted.suffix(9) {
            try checkEvent(state.event.id)
        }
        try checkState()
        try checkTopics()
        try checkNames()
        expect("the last id", try journal.lastID(), model.highestID)
        let undecided = sorted.map(\.event).filter { $0.decision == nil }
        expect("undecided ids", try journal.undecidedIDs(), undecided.map(\.id))
        expect("undecided of all ids", try journal.undecided(sorted.map(\.event.id)), undecided)
        expect("newest", try journal.newest(below: EventID(.max), limit: 20), sorted.suffix(20).reversed().map(\.event))
        expect("muted", try muted(), sorted.filter { $0.event.decision?.code == 2 }.map(\.event))
        try checkChanges(after: 0)
    }

    mutating func checkChanges(after number: UInt64) throws {
        var found: [StoredChange] = []
        var position: Journal.ChangePosition? = Journal.ChangePosition(after: number)
        while let start = position {
            let portion = try journal.changes(after: start, limit: 50, bytes: 1 << 20)
            found += portion.changes
            position = portion.position
        }
        expect("changes after \(number)", found, model.changes(after: number))
    }

    private mutating func checkState() throws {
        expect("quiet", try journal.quiet(), model.quiet)
        expect("snoozes", try journal.snoozes(), model.snoozes)
        expect("digests", try journal.digests(), model.digests)
        let banners = model.banners.values.sorted { $0.first > $1.first }
        expect("banners", try journal.banners(), banners)
        for banner in banners {
            expect("the banner of \(banner.first)", try journal.banner(startingWith: banner.first), banner)
            let shown = sorted.map(\.event).filter { event in
                event.decision?.outcome == .shown && event.decision?.shownWith == banner.first
                    && !model.snoozes.contains { $0.event == event.id }
            }
            expect("what is shown in \(banner.first)", try journal.shown(in: banner, limit: 1000), shown)
        }
        let awaited = model.awaited.values.sorted { $0.end.moment.wall < $1.end.moment.wall }
        expect("awaited", try journal.awaited(), awaited)
        expect("tombstones", try journal.tombstones(), model.tombstones.values.sorted { $0.removal < $1.removal })
        guard journal.indexFailure == nil else { return }
        expect("the number of tombstones", journal.tombstoneCount, model.tombstones.count)
        expect("the number of global ids", journal.globalIDs, model.globalIDs.count)
    }

    private mutating func checkTopics() throws {
        for text in ["/", "/post", "/post/1", "/chat", "/nothing"] {
            let topic = try TopicPrefix(text)
            let states = sorted.filter { topic.covers($0.event.topic) }
            let events = states.map(\.event)
            let unread = events.filter { $0.decision?.code ?? 0 < 10 }
            expect("history of \(text)", try history(topic), events)
            expect("undecided at \(text)", try journal.undecided(topic), events.filter { $0.decision == nil })
            expect("the unread at \(text)", try journal.unread(topic), unread.count)
            expect("the ids of the unread at \(text)", try unreadIDs(topic), unread.map(\.id))
            let last = events.count.isMultiple(of: 2) ? EventID(.max) : events[events.count / 2].id
            let unseen = unread.filter { $0.decision != nil && $0.id <= last }
            expect("the unseen at \(text) up to \(last)", try self.unseen(topic, upTo: last), unseen)
            let values = states.filter(\.isValue).map(\.event)
            expect("values at \(text)", try journal.values(topic), values)
            let list = try journal.valueList(topic)
            expect("the list of values at \(text)", list.map(\.id), values.map(\.id))
            expect("the values of a list", try journal.values(list[...], bytes: .max).events, values)
        }
    }

    private mutating func checkNames() throws {
        let named = model.named
        expect("names", try journal.named(after: EventID(0), limit: .max), named)
        let events = sorted.filter(\.event.origin.isGlobalID).map(\.event.id)
        expect("the first name", try journal.firstName(last: 10), events.dropLast(10).last ?? EventID(0))
        for id in events.suffix(20) { try checkName(id) }
        for key in Set(
            model.events.values.compactMap { state in
                state.event.collapse.map { CollapseKey(topic: state.event.topic, text: $0) }
            })
        {
            let wanted = sorted.last {
                $0.event.topic == key.topic && $0.event.collapse == key.text && $0.event.decision?.code ?? 0 <= 1
            }
            expect("what is replaced at \(key)", try journal.replaceable(key), wanted?.event)
        }
    }

    // MARK: In portions

    /// Of a portion.
    private var limit: Int { [9, 9, 9, 2, 1][model.events.count % 5] }

    private func history(_ topic: TopicPrefix) throws -> [StoredEvent] {
        var events: [StoredEvent] = []
        while true {
            let page = try journal.history(topic, after: events.last?.id ?? EventID(0), limit: 37)
            if page.isEmpty { return events }
            events += page
        }
    }

    private func unreadIDs(_ topic: TopicPrefix) throws -> [EventID] {
        var ids: [EventID] = []
        var position: Journal.UnreadPosition? = Journal.UnreadPosition(before: topic)
        while let start = position {
            let portion = try journal.unreadIDs(topic, after: start, limit: limit)
            ids += portion.ids
            position = portion.position
        }
        return ids.sorted()
    }

    private func unseen(_ topic: TopicPrefix, upTo last: EventID) throws -> [StoredEvent] {
        var events: [StoredEvent] = []
        var position: Journal.UnreadPosition? = Journal.UnreadPosition(before: topic)
        while let start = position {
            let portion = try journal.unseen(topic, after: start, upTo: last, limit: limit)
            events += portion.events
            position = portion.position
        }
        return events.sorted { $0.id < $1.id }
    }

    private func muted() throws -> [StoredEvent] {
        var events: [StoredEvent] = []
        var position: EventID? = EventID(0)
        while let start = position {
            let portion = try journal.muted(after: start, limit: 30)
            events += portion.events
            position = portion.position
        }
        return events
    }
}
