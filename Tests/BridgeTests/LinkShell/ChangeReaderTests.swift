import NotifyTestSupport
import Testing

@testable import Linking
@testable import notifyd_mqtt

/// Two readers share a `ChangeReader`, in virtual time. The journal grows, and each reader gets every row.
struct ChangeReaderTests {
    @Test(arguments: 0..<500)
    func everyReaderGetsEveryRow(seed: UInt64) {
        let journal = GrowingJournal(seed: seed)
        for _ in 0..<200 { journal.step() }
        journal.settle()
        for place in journal.places { #expect(place == journal.last, "seed \(seed)") }
        #expect(journal.gaps == 0, "seed \(seed)")
    }

    /// A reader that waits at the end does not ask again and again.
    @Test func nothingIsAskedWhileNothingHappens() {
        let journal = GrowingJournal(seed: 1)
        journal.commit(3)
        journal.settle()
        let calls = journal.callCount
        journal.settle()
        #expect(journal.callCount == calls)
        journal.commit(1)
        journal.settle()
        // The rows came to one reader by the call that waited. The other asks for itself, and one call waits for the
        // next rows.
        #expect(journal.callCount == calls + 2)
    }
}

/// A journal, its notifyd and the readers of a line, all in one place.
private final class GrowingJournal: @unchecked Sendable {
    // Proof: a test uses it on one thread.

    private struct Call {
        let rows: ChangeSource.Rows
        let after: UInt64
        let limit: UInt32
        let completion: @Sendable (ChangesPage?) -> Void
    }

    private struct Timer {
        let id: Int
        let work: @Sendable () -> Void
    }

    /// What `Link` keeps of a reader.
    private struct Reader {
        var place: UInt64 = 0
        var hasMore = true
        var isReading = false
    }

    private(set) var last: UInt64 = 0
    private(set) var callCount = 0
    /// Pages that did not begin where their reader stood.
    private(set) var gaps = 0
    var places: [UInt64] { readers.map(\.place) }

    private var random: SplitMix64
    private var calls: [Call] = []
    private var timers: [Timer] = []
    private var lastTimer = 0
    private var readers = [Reader(), Reader()]
    /// Readings of an earlier notifyd are never answered.
    private var life = 0
    private lazy var reader = ChangeReader(
        ChangeSource(
            read: { [unowned self] in
                callCount += 1
                calls.append(Call(rows: $0, after: $1, limit: $2, completion: $3))
            },
            perform: { [unowned self] _, work in
                lastTimer += 1
                timers.append(Timer(id: lastTimer, work: work))
                return { [unowned self, id = lastTimer] in timers.removeAll { $0.id == id } }
            })
    ) { [unowned self] in rowsHaveCome() }

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    private func rowsHaveCome() {
        for index in readers.indices { readers[index].hasMore = true }
    }

    func commit(_ count: UInt64) { last += count }

    func step() {
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<5: commit(.random(in: 1...4, using: &random))
        case 5..<11: read(.random(in: readers.indices, using: &random))
        case 11..<16: answer(isRefused: Int.random(in: 0..<10, using: &random) == 0)
        case 16, 17: fire()
        case 18: beginFurtherBack(.random(in: readers.indices, using: &random))
        default: if Int.random(in: 0..<4, using: &random) == 0 { restart() }
        }
    }

    /// Everything that is possible is done, until only waiting is left.
    func settle() {
        var isBusy = true
        while isBusy {
            isBusy = false
            for index in readers.indices where read(index) { isBusy = true }
            while answer(isRefused: false) { isBusy = true }
            while fire() { isBusy = true }
        }
    }

    @discardableResult private func read(_ index: Int) -> Bool {
        guard readers[index].hasMore, !readers[index].isReading else { return false }
        readers[index].hasMore = false
        readers[index].isReading = true
        let place = readers[index].place
        reader.read(after: place, limit: 3) { [unowned self, life] page in
            guard life == self.life else { return }
            readers[index].isReading = false
            // Without a page it tries again, and so if it has begun further back since then.
            guard let page, readers[index].place == place else {
                readers[index].hasMore = true
                return
            }
            if let first = page.changes.first, first.number != place + 1 { gaps += 1 }
            readers[index].place = page.changes.last?.number ?? place
            if !page.isLast { readers[index].hasMore = true }
        }
        return true
    }

    /// notifyd answers calls in the order in which they came, but for those that wait.
    @discardableResult private func answer(isRefused: Bool) -> Bool {
        guard let index = calls.firstIndex(where: { $0.rows == .present || isRefused || $0.after < last }) else {
            return false
        }
        let call = calls.remove(at: index)
        guard !isRefused else {
            call.completion(nil)
            return true
        }
        let end = min(last, call.after + UInt64(call.limit))
        let rows = call.after < end ? (call.after + 1...end).map { Change(number: $0) } : []
        call.completion(ChangesPage(changes: rows, isLast: rows.count < Int(call.limit)))
        return true
    }

    @discardableResult private func fire() -> Bool {
        guard !timers.isEmpty else { return false }
        timers.remove(at: .random(in: timers.indices, using: &random)).work()
        return true
    }

    private func beginFurtherBack(_ index: Int) {
        guard readers[index].place > 0 else { return }
        readers[index].place = .random(in: 0..<readers[index].place, using: &random)
        readers[index].hasMore = true
    }

    private func restart() {
        life += 1
        let open = calls
        calls = []
        reader.daemonVanished()
        for call in open { call.completion(nil) }
        for index in readers.indices {
            readers[index].isReading = false
            readers[index].hasMore = true
        }
    }
}
