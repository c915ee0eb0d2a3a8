import Linking
import NotifyBridge
import NotifyClient

/// Where a `ChangeReader` reads, and its clock. Everything is called on one loop, and calls back on it.
struct ChangeSource {
    enum Rows {
        /// Those that there are: `Changes`.
        case present
        /// Those that there are, or the next ones: `AwaitChanges`.
        case next
    }

    /// Reads rows after a number; `nil` if they cannot be read now.
    var read: (Rows, _ after: UInt64, _ limit: UInt32, @escaping @Sendable (ChangesPage?) -> Void) -> Void
    /// Does something later, unless the result is called before.
    var perform: (_ delay: Duration, @escaping @Sendable () -> Void) -> () -> Void
}

extension ChangeSource {
    /// - Parameter place: the name of this device, for people.
    init(_ services: BridgeServices, place: String) {
        self.init(
            read: { rows, after, limit, completion in
                let call: DaemonCall =
                    switch rows {
                    case .present: .changes(after: after, limit: limit)
                    case .next: .awaitChanges(after: after, limit: limit)
                    }
                services.daemon.submit(call) { answer in
                    completion(answer.changes.map { ChangesPage($0, limit: limit, place: place) })
                }
            },
            perform: { delay, work in services.loop.perform(after: delay, work).cancel })
    }
}

/// Reads rows of `Changes` for one line. At the end of the journal it calls `AwaitChanges`, so that notifyd sends the
/// next rows when they are committed.
///
/// Everything runs on the loop of the connection.
final class ChangeReader: @unchecked Sendable {
    // Proof: everything but `init` runs on the loop.

    typealias Completion = @Sendable (ChangesPage?) -> Void

    private let source: ChangeSource
    /// Called when rows have come that the line has not asked for.
    private let onRows: () -> Void
    private var backoff = Backoff(upTo: .seconds(30))

    /// After which number `AwaitChanges` is under way.
    private var awaited: UInt64?
    /// Its answer, until the line asks for these rows.
    private var nextPage: (after: UInt64, page: ChangesPage)?
    /// The readers that wait for the same rows.
    private var readers: [Completion] = []
    /// Cancels the timer of their timeout, which begins with the first of them.
    private var endTimeout: (() -> Void)?
    /// Which notifyd is called: answers of an earlier one are ignored.
    private var generation: UInt64 = 0

    /// A reader that reads although nothing was committed gets an answer after this.
    private static let timeout: Duration = .milliseconds(10)

    /// - Parameter onRows: called when rows have come that the line has not asked for.
    init(_ source: ChangeSource, onRows: @escaping () -> Void) {
        self.source = source
        self.onRows = onRows
    }

    /// notifyd is gone, and its answers with it.
    func daemonVanished() {
        generation += 1
        awaited = nil
        nextPage = nil
        _ = removeReaders()
    }

    /// Reads the rows after a number.
    ///
    /// - Parameter completion: gets `nil` if they cannot be read now. It is not called when notifyd vanishes.
    func read(after number: UInt64, limit: UInt32, _ completion: @escaping Completion) {
        // The line has read these rows by `Changes` already.
        if let nextPage, nextPage.after < number { self.nextPage = nil }
        if let nextPage, nextPage.after == number {
            self.nextPage = nil
            deliver(nextPage.page, after: number, limit, completion)
        } else if awaited == number {
            if readers.isEmpty {
                endTimeout = source.perform(Self.timeout) { [weak self] in
                    guard let self else { return }
                    for completion in removeReaders() { call(after: number, limit: limit, completion) }
                }
            }
            readers.append(completion)
        } else {
            call(after: number, limit: limit, completion)
        }
    }

    private func removeReaders() -> [Completion] {
        endTimeout?()
        endTimeout = nil
        defer { readers = [] }
        return readers
    }

    private func call(after number: UInt64, limit: UInt32, _ completion: @escaping Completion) {
        source.read(.present, number, limit) { [weak self, generation] page in
            guard let self, generation == self.generation else { return }
            guard let page else { return completion(nil) }
            deliver(page, after: number, limit, completion)
        }
    }

    private func deliver(_ page: ChangesPage, after number: UInt64, _ limit: UInt32, _ completion: Completion) {
        completion(page)
        guard page.isLast else { return }
        guard let last = page.changes.last?.number else { return awaitNext(after: number, limit) }
        // Another reader is further. What is awaited comes after that, so this reader would miss the rows between.
        if let awaited, awaited > last { return onRows() }
        awaitNext(after: last, limit)
    }

    /// Of several who have read everything, each knows the end.
    private func awaitNext(after number: UInt64, _ limit: UInt32) {
        guard awaited.map({ $0 < number }) ?? true else { return }
        if let nextPage {
            // The line knows of it, and has begun again further back since then.
            guard nextPage.after != number else { return onRows() }
            self.nextPage = nil
        }
        // Those who wait for rows that another reader has read already get them by a call.
        if let awaited { for completion in removeReaders() { call(after: awaited, limit: limit, completion) } }
        awaited = number
        source.read(.next, number, limit) { [weak self, generation] page in
            guard let self, generation == self.generation, awaited == number else { return }
            awaited = nil
            guard let page else {
                for completion in removeReaders() { completion(nil) }
                _ = source.perform(backoff.next()) { [weak self] in
                    guard let self, generation == self.generation else { return }
                    awaitNext(after: number, limit)
                }
                return
            }
            backoff.reset()
            guard !readers.isEmpty else {
                nextPage = (number, page)
                return onRows()
            }
            let completions = removeReaders()
            deliver(page, after: number, limit) { page in for completion in completions { completion(page) } }
        }
    }
}

/// Asks for the signals `Event` and `Resolved` while a line may hold banners, and only then: for each of them the bus
/// and the bridge work as much as for the event itself.
///
/// Everything runs on the loop of the connection.
final class AnnouncementWatch: @unchecked Sendable {
    // Proof: everything but `init` runs on the loop.

    private let services: BridgeServices
    private let handler: @Sendable (DaemonNotice) -> Void
    private var observation: DaemonObservation?
    private var isWanted = false
    private var end: WorkTimer?

    /// A line that is behind for a moment is soon behind again.
    private static let linger: Duration = .seconds(1)

    init(_ services: BridgeServices, _ handler: @escaping @Sendable (DaemonNotice) -> Void) {
        self.services = services
        self.handler = handler
    }

    /// Calls that are submitted after this have their signals delivered.
    func setWanted(_ isWanted: Bool) {
        guard isWanted != self.isWanted else { return }
        self.isWanted = isWanted
        end?.cancel()
        end = nil
        if isWanted {
            observation = observation ?? services.daemon.observe([.event, .resolved], handler)
        } else {
            end = services.loop.perform(after: Self.linger) { [weak self] in self?.observation = nil }
        }
    }
}
