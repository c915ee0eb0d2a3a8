import Benchmark
import Glibc
import Journal
import Routing

/// What it costs to keep events, and to read them back from among many.
let benchmarks: @Sendable () -> Void = {
    Benchmark.defaultConfiguration = .init(metrics: [.wallClock, .throughput], maxDuration: .seconds(1))

    for count in [1, 10, 100] {
        Benchmark("A commit of \(count) events and their outcomes") { benchmark in
            let shelf = Shelf()
            defer { shelf.remove() }
            benchmark.startMeasurement()
            for _ in benchmark.scaledIterations { shelf.add(count) }
            benchmark.stopMeasurement()
        }
    }
    let reads: [(name: String, body: (Shelf) -> Int?)] = [
        ("A page of 100 events of a topic", { $0.page(below: "/post/27", of: 100)?.count }),
        ("How many events of a topic are unread", { $0.unread(below: "/post/20") }),
        ("How many events are unread at all", { $0.unread(below: nil) }),
    ]
    for history in [1000, 100_000] {
        for read in reads {
            Benchmark("\(read.name), \(history) in the journal") { benchmark, shelf in
                for _ in benchmark.scaledIterations { blackHole(read.body(shelf)) }
            } setup: {
                let shelf = Shelf(holding: history)
                // Read it can be without its names, and then nothing is left of it, however this ends.
                shelf.unlinkFiles()
                return shelf
            }
        }
    }
}

/// A journal on a real disk, unless `TMPDIR` says otherwise: in memory a commit would cost nothing.
private final class Shelf {
    private let folder: String
    private let journal: Journal
    private var lastID: UInt64 = 1

    init(holding count: Int = 0) {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/var/tmp"
        var template = Array("\(parent)/notifyd-XXXXXX".utf8CString)
        guard let path = mkdtemp(&template), let journal = try? Journal(directory: String(cString: path)) else {
            preconditionFailure("no journal can be made in \(parent)")
        }
        folder = String(cString: path)
        self.journal = journal
        for _ in 0..<count / 1000 { add(1000) }
    }

    /// Every tenth event is shown, and so unread; the others are claimed.
    func add(_ count: Int) {
        var entries: [Record] = []
        for _ in 0..<count {
            lastID += 1
            let moment = Int64(lastID)
            entries.append(.accepted(event(lastID, at: moment)))
            var decision = StoredDecision(outcome: lastID % 10 == 0 ? .shown : .claimed, resolved: moment)
            decision.claimant = ":1.7"
            entries.append(.decided(EventID(lastID), decision))
        }
        do { try journal.commit(entries) } catch { preconditionFailure("\(error)") }
    }

    func page(below topic: String, of count: Int) -> [StoredEvent]? {
        try? journal.history(prefix(topic), after: EventID(0), limit: count)
    }

    func unread(below topic: String?) -> Int? {
        let topic = topic.map(prefix) ?? .all
        return try? journal.unread(topic, after: Journal.UnreadPosition(before: topic), limit: 1_000_000).count
    }

    func remove() {
        journal.close()
        unlinkFiles()
    }

    func unlinkFiles() {
        let files = ["", "-wal", "-shm"].map { Journal.fileName + $0 } + (0..<3).map { "log-\($0)" }
        for name in files { unlink("\(folder)/\(name)") }
        rmdir(folder)
    }

    private func event(_ id: UInt64, at moment: Int64) -> StoredEvent {
        guard let topic = try? Topic("/post/\(id % 1000)") else { preconditionFailure("/post/N is a topic") }
        return StoredEvent(
            id: EventID(id), topic: topic, title: "Title", body: "Forty bytes, which is what a push says.", fields: [],
            published: moment, sender: ":1.5", origin: Origin(), urgency: nil, retained: false, route: "default",
            key: topic.description, window: 100_000, accepted: moment,
            expires: Expiry(wall: moment, uptime: moment, boot: ""))
    }

    private func prefix(_ text: String) -> TopicPrefix {
        guard let prefix = try? TopicPrefix(text) else { preconditionFailure("\(text) is not a topic") }
        return prefix
    }
}
