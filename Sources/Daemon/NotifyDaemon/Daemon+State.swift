import Journal
import Routing

/// What is still to be written and announced, and what was announced last.
struct News {
    /// The tables of the journal that are out of date.
    var unwritten: Tables = []
    /// Whether a change of the pause, the mutes or the lifted schedules is not announced yet. It is written first.
    var isQuietUnannounced = false
    /// Whether a change of `Degraded` is not announced yet.
    var isDegradationUnannounced = false
    var announcedPaused = false
    /// The newest change when the host was last told about one.
    var announcedChange: UInt64 = 0
    /// The schedules that the router was told about last, and the wall clock less the clock of lifetimes then; `nil` as
    /// long as there has been none.
    var schedules: (active: [Schedule.Snapshot.Active], lead: Int64)?
}

/// What the router keeps in few rows. It is written to the journal whenever it has changed.
extension Daemon {
    /// Adds the tables that have changed to the commit of this turn, unless those of an earlier run have not been read
    /// yet.
    ///
    /// - Returns: the tables that are to be written.
    func recordTables() -> Tables {
        guard !news.unwritten.isEmpty, isRestored, storage.isWritable else { return [] }
        let (tables, records) = (news.unwritten, RecordBuilder(server: nil, clock: clock))
        news.unwritten = []
        if tables.contains(.quiet) {
            storage.append(records.record(router.quiet, lifted: router.liftedSchedules))
        }
        if tables.contains(.snoozes) { storage.append(records.record(router.snoozed)) }
        if tables.contains(.digests) { storage.append(.digestsReplaced(router.owedDigests)) }
        // There may be many, so usually only what has changed is written.
        if tables.contains(.awaited) {
            storage.append(.allAwaitedGone)
            for awaited in router.awaitedClaims { storage.append(.awaited(records.stored(awaited))) }
        }
        return tables
    }

    /// Called after a commit. What could not be written is written later.
    func keepUnwritten(_ tables: Tables) {
        if !storage.isWritable { news.unwritten.formUnion(tables) }
    }
}

extension Daemon {
    /// The property `Quiet`: topic, end in microseconds since the epoch or 0, cause.
    var quiet: [(topic: String, until: Int64, cause: String)] {
        let clock = clock
        // Rounded to a millisecond, because the clocks are not read at the same moment.
        return router.quiet.map { quiet in
            let until = quiet.ends.map { (clock.moment($0) + 500) / 1000 * 1000 } ?? 0
            return (quiet.topic.description, until, quiet.cause.rawValue)
        }
    }

    /// Called after a commit.
    func announceQuiet() {
        guard news.isQuietUnannounced else { return }
        news.isQuietUnannounced = false
        let isPauseChanged = news.announcedPaused != router.pausesBanners
        news.announcedPaused = router.pausesBanners
        host.send(.propertiesChanged(isPauseChanged ? [.quiet, .paused] : [.quiet]))
    }
}

/// Schedules: the router is told which are on, and the host when that changes.
extension Daemon {
    /// How far the wall clock may be off, in microseconds, before the ends of periods are told again.
    private static var clockTolerance: Int64 { 100_000 }

    /// Called at the start, when a period begins or ends, and when the configuration, the clock or the time zone has
    /// changed.
    func updateSchedules() {
        let schedules = configuration.schedules
        guard !schedules.isEmpty || news.schedules != nil else { return }
        let clock = clock
        let snapshot = Schedule.snapshot(of: schedules, at: clock.wall, in: host.calendar)
        host.armWallTimer(at: snapshot.next)
        let lead = clock.wall - clock.now.uptime.microseconds
        if let told = news.schedules, told.active == snapshot.active, abs(lead - told.lead) <= Self.clockTolerance {
            return
        }
        news.schedules = (snapshot.active, lead)
        handle(
            .scheduled(
                snapshot.active.map {
                    ActiveSchedule($0.period, ends: Uptime(microseconds: $0.ends - lead), hasDigest: $0.hasDigest)
                }))
        host.endTurnWhenIdle()
    }
}
