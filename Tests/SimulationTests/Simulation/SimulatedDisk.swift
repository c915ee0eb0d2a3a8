import NotifyRehearsal
import NotifyTestSupport
import Routing

@testable import Journal
@testable import NotifyDaemon

/// The disk of a machine that is made up, with the real journal on it. It outlives the daemon.
///
/// Log and index are files of a `MadeUpDisk`: what fails there fails for both. What the journal says is read in two
/// ways: of the daemon's own journal, and of one that another process would open on these files now.
final class SimulatedDisk {
    enum Condition: Equatable {
        case well
        /// So many bytes are free.
        case full(room: Int)
        /// Nothing can be read or written.
        case broken
        /// What is not in memory cannot be read.
        case unreadable
        /// The next sync of the log fails, and nobody can say what of it is on the disk.
        case failsOnce
        case readOnly
        /// The index takes nothing, and the log does.
        case indexFails
    }

    /// What a process finds that opens the journal.
    struct Contents {
        var events: [EventID: StoredEvent] = [:]
        /// In ascending order.
        var ids: [EventID] = []
        var values: [Topic: EventID] = [:]
        var quiet: [StoredQuiet] = []
        var snoozes: [StoredSnooze] = []
        var digests: [OwedDigest] = []
        /// Claims by name of what has not come yet.
        var awaited: Set<Origin> = []
        /// Those that are up, by their numbers.
        var banners: [UInt32: StoredBanner] = [:]
        /// The ids of removals and of forgotten events that were named.
        var removals: Set<EventID> = []
        var tombstones: [Tombstone] = []

        fileprivate init() {}

        fileprivate init(_ journal: Journal) throws(JournalError) {
            while true {
                let page = try journal.history(.all, after: ids.last ?? EventID(0), limit: Journal.pageLimit)
                guard !page.isEmpty else { break }
                for event in page { events[event.id] = event }
                ids += page.map(\.id)
            }
            for value in try journal.values(.all) { values[value.topic] = value.id }
            (quiet, snoozes, digests) = (try journal.quiet(), try journal.snoozes(), try journal.digests())
            awaited = Set(try journal.awaited().map(\.origin))
            for banner in try journal.banners() { banners[banner.number] = banner }
            removals = Set(try journal.named(after: EventID(0), limit: .max).map(\.id)).subtracting(ids)
            tombstones = try journal.tombstones()
        }
    }

    private let folder: TemporaryFolder
    let files: MadeUpDisk
    private var random: SplitMix64
    /// The run of the daemon that has the disk now.
    var life = Life() {
        didSet { life.onEnd = { [weak files] in files?.end() } }
    }
    /// The journal of that run.
    var journal: () -> Journal? = { nil }
    /// Gets what is wrong with the files.
    var onFault: (String) -> Void = { _ in }
    /// Called before the log is written.
    var onWrite: () -> Void = {}
    var onRead: () -> Void = {}
    /// The wall clock, in microseconds since the epoch.
    var wall: () -> Int64 = { 0 }
    private var limits = Limits()
    private var known: (version: Int, contents: Contents)?

    /// What else fails.
    var otherFault: (MadeUpDisk.Call) -> JournalError? = { _ in nil }
    var condition = Condition.well {
        didSet {
            files.space = if case .full(let room) = condition { files.used + room } else { .max }
            // A small index would be in memory for ever.
            files.observe { journal()?.releaseMemory() }
        }
    }

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        files = MadeUpDisk(seed: seed)
        files.segmentBytes = random.pick([4 << 10, 16 << 10, 128 << 10])
        folder = try! TemporaryFolder()
        MadeUpFiles.put(files, inPlaceOf: folder.path)
        begin()
    }

    deinit { MadeUpFiles.put(nil, inPlaceOf: folder.path) }

    /// The journal of the next run of the daemon.
    func openJournal(_ limits: Limits) -> Journal {
        self.limits = limits
        return Journal(in: folder.path, limits: limits, realtime: { [weak self] in self?.wall() ?? 0 }, logDisk: files)
    }

    // MARK: Its life

    private func begin() {
        files.fault = { [weak self] in self?.fault($0) }
        files.onDeath = { [weak self] in self?.life.end() }
    }

    /// The process ends. Whatever its journal still does has no effect.
    func endLife(isPowerCut: Bool) {
        files.end()
        journal()?.closeAll()
        if isPowerCut {
            let kept = random.pick([0, 50, 100])
            files.cutPower { [unowned self] _ in random.chance(kept) }
        } else {
            files.live()
        }
        begin()
    }

    private func fault(_ call: MadeUpDisk.Call) -> JournalError? {
        let isLog = files.file.hasPrefix("log-")
        if call == .read { onRead() }
        if isLog, call == .write { onWrite() }
        if isLog, call == .write || call == .sync {
            switch life.act() {
            case .done: break
            case .interrupted, .over: return .inputOutput
            }
        }
        if let error = otherFault(call) { return error }
        switch condition {
        case .well, .full: return nil
        case .broken: return .inputOutput
        case .unreadable: return call == .read ? .inputOutput : nil
        case .failsOnce:
            guard isLog, call == .sync else { return nil }
            condition = .well
            return .inputOutput
        case .readOnly: return [.write, .truncate, .remove].contains(call) ? .readOnly : nil
        case .indexFails: return !isLog && (call == .write || call == .sync) ? .inputOutput : nil
        }
    }

    // MARK: What is on it

    /// What a process would find that opens the files now.
    var contents: Contents {
        if let known, known.version == files.version { return known.contents }
        let contents = readCopy { journal throws(JournalError) in try Contents(journal) } ?? Contents()
        known = (files.version, contents)
        return contents
    }

    func event(_ id: EventID) -> StoredEvent? {
        guard let journal = writtenJournal else { return contents.events[id] }
        return files.observe { try? journal.event(id) }
    }

    func claims(on id: EventID) -> [ClaimRecord] {
        if let journal = writtenJournal { return files.observe { try? journal.state(of: id)?.claims } ?? [] }
        return readCopy { journal throws(JournalError) in try journal.state(of: id)?.claims ?? [] } ?? []
    }

    /// The daemon's journal, where that tells what is on the disk.
    private var writtenJournal: Journal? {
        guard let journal = journal(), journal.isOpen, journal.indexFailure == nil else { return nil }
        return journal
    }

    private func readCopy<Result>(_ body: (Journal) throws(JournalError) -> Result) -> Result? {
        let copy = files.copy()
        let path = folder.path + "/copy"
        MadeUpFiles.put(copy, inPlaceOf: path)
        defer { MadeUpFiles.put(nil, inPlaceOf: path) }
        do throws(JournalError) {
            let journal = try Journal(
                directory: path, limits: limits, checkedWhenOpened: -1, realtime: wall, logDisk: { _ in copy })
            defer { journal.closeAll() }
            if journal.damagedRows > 0 || journal.setAside != nil { onFault("the files are damaged") }
            return try body(journal)
        } catch {
            onFault("nobody can open the files: \(error)")
            return nil
        }
    }

    /// Has the journal keep these records, which another run of the daemon has written.
    func keep(_ records: [Record]) {
        do throws(JournalError) {
            if let journal = journal() { return try journal.commit(records) }
            let journal = openJournal(limits)
            try journal.commit(records)
            journal.close()
        } catch {
            onFault("what was to be there before cannot be written: \(error)")
        }
    }
}

/// One run of the daemon, which can end between any two of the things it does to the world.
final class Life {
    enum Act { case done, interrupted, over }

    private(set) var isOver = false {
        didSet { if isOver { onEnd() } }
    }
    var onEnd: () -> Void = {}
    /// How many acts are left; `nil` for as many as there may be.
    var actsLeft: Int?

    func act() -> Act {
        guard !isOver else { return .over }
        guard let left = actsLeft else { return .done }
        actsLeft = left - 1
        if left > 0 { return .done }
        isOver = true
        return .interrupted
    }

    func end() { isOver = true }
}

extension StoredEvent {
    /// Whether nobody has seen it.
    var isUnread: Bool {
        guard let decision else { return true }
        return decision.outcome == .shown || decision.markedRead != nil
    }

    /// Its source and event-id, if it has both.
    var globalName: Origin? {
        origin.isGlobalID ? Origin(source: origin.source, eventID: origin.eventID) : nil
    }
}

extension SimulatedDisk.Contents {
    /// The earlier events with the same collapse at the same topic.
    func earlier(than event: StoredEvent) -> [StoredEvent] {
        guard let collapse = event.collapse else { return [] }
        return ids.prefix { $0 < event.id }.compactMap { events[$0] }
            .filter { $0.topic == event.topic && $0.collapse == collapse }
    }
}
