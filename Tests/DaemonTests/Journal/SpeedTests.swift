import Foundation
import NotifyTestSupport
import Routing
import Testing

@testable import Journal

/// How long a start takes depends on the machine, so it is printed and not judged.
struct SpeedTests {
    private let folder = Fixture.folder

    /// A start reads the list of banners and a portion of what they show; a topic claim right then reads all.
    @Test(.folder) func manyBannersAreLoaded() throws {
        let count = Limits().retractableEvents
        let journal = try Journal(directory: folder)
        for start in stride(from: 1, to: count, by: 1000) {
            try journal.commit(
                try (start..<start + 1000).flatMap { number -> [Record] in
                    let id = EventID(UInt64(number))
                    var decision = StoredDecision(outcome: .shown, resolved: 1)
                    decision.shownWith = id
                    let banner = StoredBanner(
                        number: UInt32(number), server: "bus :1.7", first: id, isSummary: false)
                    return [.accepted(try sample(id.rawValue)), .bannerUp(banner), .decided(id, decision)]
                })
        }
        let clock = ContinuousClock()
        let begin = clock.now
        let banners = try journal.banners()
        let listed = clock.now
        for banner in banners.prefix(128) {
            #expect(try journal.shown(in: banner, limit: .max).count == 1)
        }
        let started = clock.now
        for banner in banners.dropFirst(128) { _ = try journal.shown(in: banner, limit: .max) }
        #expect(banners.count == count)
        print("banners:", listed - begin, "a portion:", started - listed, "all the rest:", clock.now - started)
    }

    @Test(.folder) func aHundredThousandOpenEventsAreLoaded() throws {
        let count = 100_000
        do {
            let journal = try Journal(directory: folder)
            for start in stride(from: 1, to: count, by: 1000) {
                try journal.commit(try (start..<start + 1000).map { .accepted(try sample(UInt64($0))) })
            }
            journal.close()
        }
        let clock = ContinuousClock()
        let begin = clock.now
        let journal = try Journal(directory: folder)
        let opened = clock.now
        #expect(try journal.undecided().count == count)
        let loaded = clock.now
        #expect(try journal.named(after: EventID(0), limit: count).count == count)
        #expect(try journal.values(.all).isEmpty)
        #expect(try journal.lastID() == EventID(UInt64(count)))
        print("open and check:", opened - begin, "undecided:", loaded - opened, "the rest:", clock.now - loaded)
        let folded = clock.now
        #expect(IntegrityCheck(of: try journal.beginIntegrityCheck()) == .sound(events: count))
        print("the check of another process:", clock.now - folded)
    }
}
