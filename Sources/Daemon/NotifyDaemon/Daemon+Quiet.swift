import Journal
import Routing

/// The pause, the mutes and the lifted schedules: written to the journal, then announced.
struct QuietChange {
    /// Whether the journal is out of date.
    var isUnwritten = false
    /// Whether the change is not announced yet.
    var isUnannounced = false
    /// The pause as it was last announced.
    var announcedPaused = false
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

    func markQuietChanged() {
        quietChange.isUnwritten = true
        quietChange.isUnannounced = true
    }

    /// Adds the pause, the mutes and the lifted schedules to the commit of this turn, unless those of an earlier run have not been read yet.
    ///
    /// - Returns: whether there is something to write.
    func recordQuiet() -> Bool {
        guard quietChange.isUnwritten, isRestored, storage.isWritable else { return false }
        storage.append(JournalEntryBuilder(server: nil).entry(router.quiet, lifted: router.liftedSchedules, clock))
        quietChange.isUnwritten = false
        return true
    }

    /// Called after a commit. A change that could not be written is written later.
    func announceQuiet(afterCommitOf isRecorded: Bool) {
        if isRecorded, !storage.isWritable { quietChange.isUnwritten = true }
        guard quietChange.isUnannounced else { return }
        quietChange.isUnannounced = false
        let isPauseChanged = quietChange.announcedPaused != router.pausesBanners
        quietChange.announcedPaused = router.pausesBanners
        host.send(.propertiesChanged(isPauseChanged ? [.quiet, .paused] : [.quiet]))
    }
}
