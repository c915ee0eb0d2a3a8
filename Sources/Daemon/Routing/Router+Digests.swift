/// The digest: when a schedule, a pause or a mute has ended, one event says how many banners it held back.
///
/// The router notes which of these periods owe a digest. A digest is due when its period is over and nothing else
/// covers the period's topic. The shell then counts the events in the journal, and the router publishes the digest as
/// an event like any other. All digests that are due at a moment are one.
extension Router {
    /// A digest that is refused because of a limit is tried again after this time.
    private static let retryInterval: Duration = .seconds(10)

    /// The periods that held back banners and are not told of, in the byte order of their topics.
    public var owedDigests: [OwedDigest] { digests.all }

    /// The digest that has been published since the last `Input.stored`.
    public var unstoredDigest: EventID? { digests.unstored?.event }

    /// Those of them that a digest can tell of now.
    public var dueDigests: [OwedDigest] {
        digests.all.filter { !quietPeriods.isOn($0.period) && !isQuiet($0.period.topic) }
    }

    /// Whether a pause, a mute or a schedule covers everything at or below a topic.
    public func isQuiet(_ topic: TopicPrefix) -> Bool { quietPeriods.covering(topic) != nil }

    /// Notes that something has held back the banner of an event, also of one whose snooze has ended. The digest does not count
    /// itself.
    ///
    /// - Returns: the name of the digest that counts the event.
    mutating func oweDigest(of tracked: TrackedEvent, heldBackBy quiet: Quiet) -> EventID? {
        guard tracked.event.topic != DigestTally.topic, let period = digestPeriod(of: quiet),
            digests.owed[period] != nil || digests.owed.count < limits.digests
        else { return nil }
        return digests.add(tracked.event.id, to: period)
    }

    private func digestPeriod(of quiet: Quiet) -> ActiveSchedule.Period? {
        switch quiet.cause {
        case .schedule: quietPeriods.digestPeriod(at: quiet.topic)
        case .paused, .muted, .desktop: bannerSettings.digestsPauses ? ActiveSchedule.Period(pauseOf: quiet.topic) : nil
        }
    }

    mutating func restoreDigests(_ restored: [OwedDigest]) {
        for digest in restored.prefix(max(0, limits.digests - digests.owed.count)) { digests.putBack(digest) }
        digests.isUnchecked = true
    }

    /// Publishes the digest that was counted.
    ///
    /// - Returns: its id; `nil`: there is none.
    mutating func digestsCounted(
        _ count: DigestCount, at now: Now, _ reader: some EventReader
    ) throws(Refusal) -> EventID? {
        digests.isCounting = false
        guard count.digests == dueDigests else {
            // Something has begun or ended during the count.
            digests.isUnchecked = true
            return nil
        }
        switch count.result {
        case .none: for digest in count.digests { digests.remove(digest.period) }
        // The next pause, mute or schedule that ends has them counted again.
        case .quiet: break
        case .found(let publication):
            do throws(Refusal) {
                try load(for: publication, at: now, reader)
                let id = try publish(publication, at: now)
                digests.published(id, of: count.digests)
                return id
            } catch {
                digests.retryTimer = timers.schedule(.digest, at: now.instant + Self.retryInterval)
                throw error
            }
        }
        return nil
    }

    /// Asks for a count if a digest is due. Runs at the end of every input.
    mutating func checkDigests() {
        if digests.isUnchecked {
            digests.isUnchecked = false
            // The configuration does not want these any more.
            for period in digests.owed.keys
            where quietPeriods.isOnWithoutDigest(period) || period.isPause && !bannerSettings.digestsPauses {
                digests.remove(period)
            }
            if !digests.isCounting, !dueDigests.isEmpty {
                digests.isCounting = true
                effects.append(.countDigests)
            }
        }
        if digests.hasChanged {
            digests.hasChanged = false
            effects.append(.digestsChanged)
        }
    }
}
