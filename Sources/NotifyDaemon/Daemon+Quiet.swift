import Journal
import Routing

/// The pause and the mutes: kept in the journal, and told to everybody when they are there.
struct QuietNews {
    /// Whether the journal says otherwise.
    var isUnwritten = false
    /// Whether it is still to be told.
    var isUntold = false
    /// What everybody knows of the pause.
    var toldPaused = false
}

extension Daemon {
    /// What the property `Quiet` says: topic, end in microseconds since the epoch or 0, cause.
    var quiet: [(topic: String, until: Int64, cause: String)] {
        let clock = clock
        // To a millisecond, for the clocks are not read at the same moment.
        return router.quiet.map { quiet in
            let until = quiet.ends.map { (clock.moment($0) + 500) / 1000 * 1000 } ?? 0
            return (quiet.topic.description, until, quiet.cause.rawValue)
        }
    }

    func noteQuietChange() {
        quietNews.isUnwritten = true
        quietNews.isUntold = true
    }

    /// Has the commit of this turn keep what holds banners back. Before the journal of an earlier run has been read, that would
    /// overwrite what it says.
    ///
    /// - Returns: whether there is something to be written.
    func noteQuiet() -> Bool {
        guard quietNews.isUnwritten, isRestored, storage.isWritable else { return false }
        storage.note(Ledger(server: nil).entry(router.quiet, clock))
        quietNews.isUnwritten = false
        return true
    }

    /// To be called after a commit: what could not be written is written when the journal can be.
    func tellOfQuiet(afterCommitOf isNoted: Bool) {
        if isNoted, !storage.isWritable { quietNews.isUnwritten = true }
        guard quietNews.isUntold else { return }
        quietNews.isUntold = false
        let isPauseChanged = quietNews.toldPaused != router.pausesBanners
        quietNews.toldPaused = router.pausesBanners
        host.quietChanged(isPauseChanged: isPauseChanged)
    }
}
