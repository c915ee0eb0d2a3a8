import Glibc
import Journal
import Logging
import Routing
import Systemd

/// The journal's own work in portions, and retention.
final class JournalWork: Job {
    func step(in daemon: Daemon, at clock: WallClock) -> Duration? {
        let hasMoreToExpire = daemon.storage.expire(at: clock)
        let time = daemon.storage.work()
        return hasMoreToExpire ? .zero : time
    }
}

/// Retries a journal that cannot be written, and checks the integrity of a large one.
final class JournalRetry: Job {
    /// Whether a pause has passed since the failure.
    private var isDue = false
    private var isCheckingIntegrity = false

    func step(in daemon: Daemon, at clock: WallClock) throws(Refusal) -> Duration? {
        if isDue { retry(daemon) }
        isDue = !daemon.storage.degradation.isEmpty
        if isDue { throw .storageUnavailable(daemon.storage.degradation) }
        return nil
    }

    /// Also called when something must be written at once.
    func retry(_ daemon: Daemon) {
        let (storage, host) = (daemon.storage, daemon.host)
        // A call of Forget may have tried it already, and events of this turn may wait for the commit.
        guard !storage.degradation.isEmpty else { return }
        let wasWritable = storage.isWritable
        write(daemon)
        // A journal that takes no new events is one with the entries of this run.
        guard storage.isWritable, !wasWritable || storage.degradation.isEmpty else { return }
        daemon.jobs.endPauses()
        host.watchNames(in: storage.journal.directory)
        daemon.jobs.forgets.confirmDeletion(in: daemon)
        if daemon.isRestored, let values = try? daemon.restoredValues() {
            for removal in daemon.router.rememberedRemovals { storage.append(.tombstone(removal)) }
            daemon.handle(.restored(values))
        }
        daemon.recovery.begin(in: daemon)
        daemon.updateDevice()
        // The file may be a new one without the entries of this run.
        daemon.news.unwritten = .all
        checkIntegrity(daemon)
        // Retention continues at the ends of turns.
        host.endTurnWhenIdle()
    }

    /// Tries to write all entries kept in memory, and undecided and snoozed events that the file has lost.
    func write(_ daemon: Daemon) {
        let records = RecordBuilder(server: nil, clock: daemon.clock)
        daemon.storage.retry(
            at: records.clock, keeping: { (daemon.router.undecidedIDs, daemon.router.snoozed.map(\.id)) },
            as: { id in daemon.router.undecided(id).map { records.stored($0) } },
            areAll: daemon.isRestored && !daemon.recovery.isUnderWay)
    }

    /// Checks a large journal in another process.
    func checkIntegrity(_ daemon: Daemon) {
        guard !isCheckingIntegrity, let file = daemon.storage.beginIntegrityCheck() else { return }
        isCheckingIntegrity = true
        daemon.host.checkIntegrity(of: file) { [self] result in
            isCheckingIntegrity = false
            daemon.storage.endIntegrityCheck(result)
            // The journal may have been reopened meanwhile.
            checkIntegrity(daemon)
            // The number of events is known now, and retention needs it.
            daemon.host.endTurnWhenIdle()
        }
    }
}

/// Checks a large journal in a second process of this program, so that the daemon does not wait.
final class IntegrityChecker {
    private let loop: EventLoop
    private let logger: Logger
    private var process: ChildProcess?

    init(loop: EventLoop, logger: Logger) {
        self.loop = loop
        self.logger = logger
    }

    /// - Parameter ended: called with the result; before this returns only if no process can be started.
    func check(_ file: String, _ ended: @escaping (IntegrityCheck) -> Void) {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { return ended(failed("no pipe, errno \(errno)")) }
        let (reading, writing) = (ends[0], ends[1])
        // No other thread starts a program in between. Swift's Glibc lacks pipe2(2).
        for descriptor in ends { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        defer { close(writing) }
        do throws(SystemdError) {
            process = try ChildProcess.start(
                ["/proc/self/exe", "--check-journal", file], output: writing, on: loop
            ) { [self] end in
                process = nil
                ended(result(from: reading, end))
                close(reading)
            }
        } catch {
            close(reading)
            ended(failed("\(error)"))
        }
    }

    /// The output fits into the pipe's buffer, and the process has ended.
    private func result(from pipe: CInt, _ end: ChildEnd) -> IntegrityCheck {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = max(0, read(pipe, &bytes, bytes.count))
        let words = String(decoding: bytes.prefix(count).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        guard let result = IntegrityCheck(words), result != .failed else { return failed(words + ", \(end)") }
        return result
    }

    private func failed(_ error: String) -> IntegrityCheck {
        logger.record(.integrityCheckFailed, ["error": "\(error)"])
        return .failed
    }
}
