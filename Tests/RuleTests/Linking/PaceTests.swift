import Routing
import Testing

@testable import Linking

/// What is said waits for the slowest listener.
struct PaceTests {
    private static let perMark = 10

    /// A device with many rows, which the broker takes at once.
    private final class Sayer {
        let bench = LinkTests.Bench { $0.rowsPerMark = PaceTests.perMark }
        private(set) var said = 0
        private(set) var marks: [(device: Device, id: UInt64)] = []

        init(rows: Int) {
            give([])
            bench.hearEvent(2000, previous: 1999)
            publish(rows)
        }

        func publish(_ count: Int) {
            let first = 1001 + UInt64(said)
            let rows = (0..<UInt64(count)).map { offset in
                Change(
                    number: first + offset, via: "",
                    content: .event(
                        SharedEvent(
                            name: GlobalName(device: LinkTests.own, id: first + offset), topic: LinkTests.topic,
                            title: "", body: "", published: 1, expires: 1_800_000_000_000_000)))
            }
            bench.give(.journalChanged)
            take(give(rows))
        }

        /// Answers the reading of the journal.
        @discardableResult
        private func give(_ rows: [Change]) -> [LinkEffect] {
            let readings = bench.effects
            for case .readChanges(let token, _, _) in readings {
                return bench.give(.changes(token, ChangesPage(changes: rows, isLast: true)))
            }
            return []
        }

        /// Takes what is said, and acknowledges it.
        func take(_ effects: [LinkEffect]) {
            var effects = effects
            while !effects.isEmpty {
                var next: [LinkEffect] = []
                for case .send(let token, let address, let message?) in effects {
                    switch (address, message.body) {
                    case (.stream, .entry): said += 1
                    case (.questions(let device), .ping(let id)): marks.append((device, id))
                    default: break
                    }
                    next += bench.give(.acknowledged(token))
                }
                effects = next
            }
        }

        func answer(_ mark: (device: Device, id: UInt64)) {
            take(bench.hear(.answers(LinkTests.own), .pong(mark.id), from: mark.device))
        }
    }

    @Test func rowsWaitUntilAListenerHasReadThoseBefore() throws {
        let sayer = Sayer(rows: 100)
        #expect(sayer.said == 2 * Self.perMark)
        #expect(sayer.marks.map(\.device) == [LinkTests.other])
        sayer.answer(try #require(sayer.marks.first))
        #expect(sayer.said == 3 * Self.perMark)
        #expect(sayer.marks.count == 2)
    }

    @Test func whoDoesNotAnswerIsNotWaitedFor() throws {
        let sayer = Sayer(rows: 100)
        sayer.take(sayer.bench.wait(seconds: 6))
        #expect(sayer.said == 100)
        #expect(sayer.marks.count == 1)
        // A late answer counts.
        sayer.answer(sayer.marks[0])
        sayer.publish(100)
        #expect(sayer.said == 100 + 2 * Self.perMark)
    }

    @Test func whoIsOfflineIsNotWaitedFor() {
        let sayer = Sayer(rows: 100)
        let presence = Presence(connection: 1, isOnline: false)
        sayer.take(sayer.bench.hear(.presence(LinkTests.other), .presence(presence)))
        #expect(sayer.said == 100)
    }

    @Test func aFewRowsNeedNoAnswer() {
        let sayer = Sayer(rows: Self.perMark - 1)
        for _ in 0..<5 {
            _ = sayer.bench.wait(seconds: 11)
            sayer.publish(Self.perMark - 1)
        }
        #expect(sayer.said == 6 * (Self.perMark - 1))
        #expect(sayer.marks.isEmpty)
    }

    @Test func anotherAnswerDoesNotCount() throws {
        let sayer = Sayer(rows: 100)
        let mark = try #require(sayer.marks.first)
        sayer.answer((mark.device, mark.id &+ 1))
        sayer.answer((Device("cccccccccccccccccccccccccccccccc")!, mark.id))
        #expect(sayer.said == 2 * Self.perMark)
    }
}
