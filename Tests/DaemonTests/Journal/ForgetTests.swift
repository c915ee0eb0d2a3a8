import Foundation
import NotifyTestSupport
import Routing
import Testing

@testable import Journal

/// What is forgotten is not in the journal any more, nor in its files.
struct ForgetTests {
    private let folder = Fixture.folder

    /// Forgets everything in portions, until nothing is left in the file.
    @discardableResult
    private func forget(
        _ topic: TopicPrefix, in journal: Journal, upTo last: EventID = EventID(.max), limit: Int = 64
    ) throws -> [UInt64] {
        var ids: [EventID] = []
        var position: Journal.UnreadPosition? = Journal.UnreadPosition(before: topic)
        while let start = position {
            let portion = try journal.forget(topic, after: start, upTo: last, limit: limit)
            #expect(portion.ids.count <= limit)
            ids += portion.ids
            position = portion.position
        }
        while try !journal.scrub() {}
        return ids.map(\.rawValue).sorted()
    }

    private func decide(_ id: UInt64, as outcome: Outcome = .shown) -> Record {
        .decided(EventID(id), StoredDecision(outcome: outcome, resolved: 1))
    }

    /// Rows that grow when they are decided move between pages, and leave copies behind.
    @Test(.folder, arguments: [UInt64(1), 2]) func noTextIsLeftInAnyFile(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let journal = try Journal(directory: folder)
        journal.advance(to: ClockReading(wall: 0, uptime: 0, boot: "boot"))
        var kept: Set<UInt64> = []
        var texts: [UInt64: [String]] = [:]
        for round in 0..<3 as Range<UInt64> {
            var entries: [Record] = []
            for number in 1...600 as ClosedRange<UInt64> {
                let id = round * 1000 + number
                var event = try sample(id, topic: random.chance(50) ? "/post/\(id % 7)" : "/chat/\(id % 5)")
                texts[id] = ["title-\(id)-", "body-\(id)-", "field-\(id)-"]
                event.title = texts[id]![0] + text(&random, 60)
                event.body = texts[id]![1] + text(&random, random.chance(5) ? 8000 : 200)
                event.fields = [
                    Field(name: "f", value: .string(texts[id]![2] + text(&random, random.chance(3) ? 20_000 : 50)))
                ]
                if random.chance(20) { event.origin = Origin(source: "test", eventID: "name \(id)") }
                entries.append(.accepted(event))
                if random.chance(30) {
                    try journal.commit(entries)
                    entries = []
                }
            }
            try journal.commit(entries)
            for id in texts.keys.filter({ $0 > round * 1000 }).sorted().shuffled(using: &random)
            where random.chance(90) {
                var decision = StoredDecision(outcome: .claimed, resolved: 1)
                decision.claimant = ":1.\(id)"
                decision.program = text(&random, 100)
                decision.cause = text(&random, 100)
                try journal.commit([.decided(EventID(id), decision)])
            }
            let gone = try forget(try TopicPrefix(round == 1 ? "/chat" : "/post"), in: journal)
            #expect(gone.count > 200)
            kept = Set(try history(journal).map(\.id.rawValue))
            try expectNothing(of: texts.filter { !kept.contains($0.key) }, in: folder)
            // With the journal open, and what goes on in it.
            try journal.commit([.accepted(try sample(round * 1000 + 900))])
            try expectNothing(of: texts.filter { !kept.contains($0.key) }, in: folder)
        }
        journal.close()
        try expectNothing(of: texts.filter { !kept.contains($0.key) }, in: folder)
        let again = try Journal(directory: folder)
        #expect(again.damagedRows == 0 && again.setAside == nil)
        for id in kept where texts[id] != nil {
            #expect(try again.event(EventID(id))?.title.hasPrefix(texts[id]![0]) == true)
        }
    }

    private func text(_ random: inout SplitMix64, _ count: Int) -> String {
        String(decoding: (0..<count).map { _ in UInt8(ascii: "a") + UInt8(random.next() % 26) }, as: UTF8.self)
    }

    private func history(_ journal: Journal) throws -> [StoredEvent] {
        var events: [StoredEvent] = []
        while true {
            let page = try journal.history(.all, after: events.last?.id ?? EventID(0), limit: 1000)
            if page.isEmpty { return events }
            events += page
        }
    }

    private func expectNothing(of texts: [UInt64: [String]], in folder: String) throws {
        for file in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let content = try Data(contentsOf: URL(filePath: "\(folder)/\(file)"))
            var found: Set<UInt64> = []
            for kind in ["title-", "body-", "field-"] {
                var start = content.startIndex
                while let range = content.range(of: Data(kind.utf8), in: start..<content.endIndex) {
                    start = range.upperBound
                    let digits = content[start...].prefix(8).prefix { (48...57).contains($0) }
                    if let id = UInt64(String(decoding: digits, as: UTF8.self)), texts[id] != nil { found.insert(id) }
                }
            }
            #expect(found.isEmpty, "in \(file)")
        }
    }

    @Test(.folder) func onlySoManyGlobalIDsStay() throws {
        var limits = Limits()
        limits.globalIDs = 4
        let journal = try Journal(directory: folder, limits: limits)
        journal.advance(to: ClockReading(wall: 0, uptime: 0, boot: "boot"))
        for id in 1...9 as ClosedRange<UInt64> {
            var event = try sample(id)
            event.origin = Origin(source: "test", eventID: "name \(id)")
            try journal.commit([.accepted(event), decide(id)])
        }
        try forget(.all, in: journal)
        #expect(try journal.named(after: EventID(0), limit: 10).map(\.id.rawValue) == [6, 7, 8, 9])
        #expect(journal.globalIDs == 4)
    }

    /// Between the steps the journal is written, and the pages that were scrubbed already stay clean.
    @Test(.folder) func theJournalIsUsedBetweenTheSteps() throws {
        let journal = try Journal(directory: folder)
        journal.advance(to: ClockReading(wall: 0, uptime: 0, boot: "boot"))
        for start in stride(from: 1, to: 4000, by: 500) as StrideTo<UInt64> {
            try journal.commit(
                try (start..<start + 500).flatMap { id -> [Record] in
                    var event = try sample(id, topic: id % 3 == 0 ? "/post" : "/chat")
                    event.body = "body-\(id)-" + String(repeating: "x", count: 1000)
                    return [.accepted(event), decide(id)]
                })
        }
        let post = try TopicPrefix("/post")
        var position: Journal.UnreadPosition? = Journal.UnreadPosition(before: post)
        while let start = position {
            position = try journal.forget(post, after: start, upTo: EventID(.max), limit: 500).position
        }
        var next: UInt64 = 10_000
        var steps = 0
        while try !journal.scrub() {
            steps += 1
            for id in next..<next + 20 {
                try journal.commit([.accepted(try sample(id)), decide(id, as: .claimed)])
            }
            next += 20
            for id in stride(from: next % 400 + 1, to: 4000, by: 400) as StrideTo<UInt64> where id % 3 != 0 {
                var decision = StoredDecision(outcome: .claimed, resolved: 1)
                decision.cause = String(repeating: "y", count: 300)
                try journal.commit([.decided(EventID(id), decision)])
            }
        }
        #expect(steps >= 2)
        let gone = (1...4000 as ClosedRange<UInt64>).filter { $0 % 3 == 0 }.map { ($0, ["body-\($0)-"]) }
        try expectNothing(of: Dictionary(uniqueKeysWithValues: gone), in: folder)
    }

    /// Somebody who repeats a call that a crash has interrupted finds nothing to delete, and the texts are gone all the
    /// same.
    @Test(.folder) func whatAnEarlierRunHasDeletedIsScrubbedToo() throws {
        let (journal, gone) = try journalWithRemains(in: folder)
        journal.close()
        let next = try Journal(directory: folder)
        #expect(try forget(try TopicPrefix("/chat"), in: next).isEmpty)
        try expectNothing(of: gone, in: folder)
    }

    @Test(.folder) func whatRetentionHasDeletedIsScrubbedToo() throws {
        let journal = try Journal(directory: folder)
        try forget(.all, in: journal)
        for id in 1...20 as ClosedRange<UInt64> {
            var event = try sample(id)
            event.title = "title-\(id)-"
            try journal.commit([.accepted(event), decide(id)])
        }
        #expect(try journal.expire(olderThan: .seconds(60), keeping: 5).count == 15)
        #expect(try forget(try TopicPrefix("/nothing"), in: journal).isEmpty)
        try expectNothing(
            of: Dictionary(uniqueKeysWithValues: (1...15).map { ($0, ["title-\($0)-"]) }), in: folder)
    }

    /// A claim that was dropped leaves no name behind, also where no event was deleted since the last call.
    @Test(.folder, arguments: [true, false]) func theNameOfAClaimThatWasDroppedIsInNoFile(isFolded: Bool) throws {
        let journal = try Journal(directory: folder)
        try forget(.all, in: journal)
        let end = StoredQuiet.End(moment: Expiry(wall: 9, uptime: 9, boot: "boot"), left: 9)
        let origin = Origin(source: "test", eventID: "name-7-")
        let claim = NamedClaim(name: .origin(origin), origin: origin, claimant: ":1.7")
        try journal.commit([.awaited(StoredAwaited(claim, end: end))])
        if isFolded { try journal.fold() }
        func hasName() throws -> Bool {
            try files(in: folder).contains { name in
                try Data(contentsOf: URL(filePath: "\(folder)/\(name)")).range(of: Data("name-7-".utf8)) != nil
            }
        }
        // Somebody waits for it.
        try forget(.all, in: journal)
        #expect(try hasName() && journal.awaited().count == 1)
        try journal.commit([.allAwaitedGone])
        try forget(.all, in: journal)
        #expect(try !hasName())
    }

    @Test(.folder) func aCheckOfTheFileComesInBetween() throws {
        let (journal, gone) = try journalWithRemains(in: folder)
        #expect(try !journal.scrub())
        _ = try journal.beginIntegrityCheck()
        #expect(!journal.canScrub)
        try journal.commit([.accepted(try sample(90_000)), decide(90_000)])
        try journal.endIntegrityCheck(.failed)
        #expect(journal.canScrub)
        while try !journal.scrub() {}
        try expectNothing(of: gone, in: folder)
    }

    /// A journal whose events at /chat are deleted, with copies of them in the file.
    private func journalWithRemains(in folder: String) throws -> (Journal, [UInt64: [String]]) {
        let journal = try Journal(directory: folder)
        var random = SplitMix64(seed: 7)
        let ids = 1...1500 as ClosedRange<UInt64>
        try journal.commit(
            try ids.map { id in
                var event = try sample(id, topic: id % 2 == 0 ? "/chat" : "/post")
                event.body = "body-\(id)-" + text(&random, 300)
                return .accepted(event)
            })
        for id in ids.shuffled(using: &random) {
            var decision = StoredDecision(outcome: .claimed, resolved: 1)
            decision.cause = text(&random, 200)
            try journal.commit([.decided(EventID(id), decision)])
        }
        let chat = try TopicPrefix("/chat")
        let portion = try journal.forget(
            chat, after: Journal.UnreadPosition(before: chat), upTo: EventID(.max), limit: 2000)
        #expect(portion.ids.count == 750)
        let gone = Dictionary(uniqueKeysWithValues: portion.ids.map { ($0.rawValue, ["body-\($0)-"]) })
        // The logs have pages and frames from before the deletion, so this is about the file alone.
        try journal.checkpoint()
        #expect(try hasRemains(of: gone, in: "\(folder)/index.db"), "there is nothing to scrub")
        return (journal, gone)
    }

    private func hasRemains(of texts: [UInt64: [String]], in file: String) throws -> Bool {
        let content = try Data(contentsOf: URL(filePath: file))
        return texts.values.contains { content.range(of: Data($0[0].utf8)) != nil }
    }

    @Test func aPageThatIsNotOfATreeOrIsDamagedIsLeftAlone() {
        func unused(_ page: [UInt8]) -> [Range<Int>] { page.withUnsafeBytes { PageScrubber.unused(in: $0) } }
        var page = [UInt8](repeating: 0, count: 512)
        #expect(unused(page).isEmpty)
        // A leaf with two cells that begin at 400, and a free block of 20 bytes at 410.
        page[0] = 13
        page[4] = 2
        (page[5], page[6]) = (1, 144)
        (page[1], page[2]) = (1, 154)
        page[413] = 20
        #expect(unused(page) == [12..<400, 414..<430])
        (page[410], page[411]) = (1, 0)
        #expect(unused(page).isEmpty)
        (page[410], page[411]) = (0, 0)
        (page[412], page[413]) = (1, 0)
        #expect(unused(page).isEmpty)
        (page[5], page[6]) = (3, 0)
        #expect(unused(page).isEmpty)
        page[3] = 255
        #expect(unused(page).isEmpty)
    }
}
