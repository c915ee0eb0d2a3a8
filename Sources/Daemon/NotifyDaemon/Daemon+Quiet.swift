import Journal
import Routing

/// The pause, the mutes and the lifted schedules: written to the journal, then announced.
struct QuietChange {
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
        unwrittenTables.insert(.quiet)
        quietChange.isUnannounced = true
    }

    /// Called after a commit.
    func announceQuiet() {
        guard quietChange.isUnannounced else { return }
        quietChange.isUnannounced = false
        let isPauseChanged = quietChange.announcedPaused != router.pausesBanners
        quietChange.announcedPaused = router.pausesBanners
        host.send(.propertiesChanged(isPauseChanged ? [.quiet, .paused] : [.quiet]))
    }
}
