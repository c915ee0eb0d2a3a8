import Linking
import NotifyBridge
import NotifyClient

/// Reads rows of `Changes` for one line. At the end of the journal it calls `AwaitChanges`, so that notifyd sends the next rows when
/// they are committed.
///
/// Everything runs on the loop of the connection.
final class ChangeReader: @unchecked Sendable {
    // Proof: everything but `init` runs on the loop.

    typealias Completion = @Sendable (ChangesPage?) -> Void

    private let services: BridgeServices
    private let place: String
    /// Called when rows have come that the line has not asked for.
    private let onRows: () -> Void
    private var backoff = Backoff(upTo: .seconds(30))

    /// After which number `AwaitChanges` is under way.
    private var awaited: UInt64?
    /// Its answer, until the line asks for these rows.
    private var found: (after: UInt64, page: ChangesPage)?
    /// A reader who has asked for what is awaited.
    private var reader: (after: UInt64, completion: Completion, timer: WorkTimer)?
    /// Answers of calls of an earlier notifyd are passed over.
    private var life: UInt64 = 0

    /// A reader who asks although nothing was committed is not kept waiting.
    private static let patience: Duration = .milliseconds(10)

    /// - Parameters:
    ///   - place: the name of this device, for people.
    ///   - onRows: called when rows have come that the line has not asked for.
    init(_ services: BridgeServices, place: String, onRows: @escaping () -> Void) {
        self.services = services
        self.place = place
        self.onRows = onRows
    }

    /// notifyd is gone, and its answers with it.
    func daemonVanished() {
        life += 1
        awaited = nil
        found = nil
        reader?.timer.cancel()
        reader = nil
    }

    /// Reads the rows after a number.
    ///
    /// - Parameter completion: gets `nil` if they cannot be read now. It is not called when notifyd vanishes.
    func read(after number: UInt64, limit: UInt32, _ completion: @escaping Completion) {
        // The line has read these rows by `Changes` already.
        if let found, found.after < number { self.found = nil }
        if let found, found.after == number {
            self.found = nil
            services.loop.perform { [self, life] in
                guard life == self.life else { return }
                deliver(found.page, after: number, limit, completion)
            }
        } else if awaited == number, reader == nil {
            let timer = services.loop.perform(after: Self.patience) { [weak self, life] in
                guard let self, life == self.life, let reader else { return }
                self.reader = nil
                call(after: reader.after, limit: limit, reader.completion)
            }
            reader = (number, completion, timer)
        } else {
            call(after: number, limit: limit, completion)
        }
    }

    private func call(after number: UInt64, limit: UInt32, _ completion: @escaping Completion) {
        services.daemon.submit(.changes(after: number, limit: limit)) { [weak self, life] answer in
            guard let self, life == self.life else { return }
            guard let page = answer.changes else { return completion(nil) }
            deliver(ChangesPage(page, limit: limit, place: place), after: number, limit, completion)
        }
    }

    private func deliver(_ page: ChangesPage, after number: UInt64, _ limit: UInt32, _ completion: Completion) {
        completion(page)
        if page.isLast { awaitNext(after: page.changes.last?.number ?? number, limit) }
    }

    /// Of several who have read everything, each knows the end.
    private func awaitNext(after number: UInt64, _ limit: UInt32) {
        guard awaited.map({ $0 < number }) ?? true, found == nil else { return }
        awaited = number
        services.daemon.submit(.awaitChanges(after: number, limit: limit)) { [weak self, life] answer in
            guard let self, life == self.life, awaited == number else { return }
            awaited = nil
            guard let page = answer.changes.map({ ChangesPage($0, limit: limit, place: self.place) }) else {
                services.loop.perform(after: backoff.next()) { [weak self] in
                    guard let self, life == self.life else { return }
                    awaitNext(after: number, limit)
                }
                return
            }
            backoff.reset()
            guard let reader, reader.after == number else {
                found = (number, page)
                return onRows()
            }
            self.reader = nil
            reader.timer.cancel()
            deliver(page, after: number, limit, reader.completion)
        }
    }
}
