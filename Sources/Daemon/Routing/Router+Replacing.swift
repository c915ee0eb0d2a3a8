import NotifyText

/// `collapse`: an event takes the place of the earlier one with the same key.
///
/// The earlier event leaves its window or its queue. If a banner shows it, the banner stays up for the new event, and
/// is updated in place when the new event's window ends. If that event is claimed, withdrawn, muted or expired instead,
/// the banner is updated without it, or closed if nothing else is behind it.
extension Router {
    /// An event that was replaced, as it was before.
    struct Replacement {
        let earlier: TrackedEvent
        let successor: EventID
        /// The call that had it in flight, and what the server was shown of its banner.
        let revision: Banners.Revision?
        /// For an event that was snoozed.
        let snooze: Snoozes.Snooze?
    }

    /// Takes the earlier event with this key out of its place.
    mutating func takeEarlier(_ key: CollapseKey, for successor: EventID) -> Replacement? {
        guard let id = names.collapsing[key], let before = events[id] else { return nil }
        let revision = before.banner.flatMap { banners.revision(of: $0) }
        let snooze = quietPeriods.snoozes[id]
        return Replacement(earlier: removeFromPlace(id), successor: successor, revision: revision, snooze: snooze)
    }

    /// Gives the earlier event its outcome. The new event is announced and, if it has one, in its window.
    mutating func replace(_ replacement: Replacement, by event: Event, at now: Now) {
        let earlier = replacement.earlier
        names.replaced(replacement)
        let window = events[event.id]?.window
        let kept = earlier.banner.flatMap { $0 == window && keepsBanner(earlier, $0) ? $0 : nil }
        if let kept { banners.setSuccessor(event.id, of: kept) }
        banners.markOutdated(earlier)
        var resolution = Resolution(.replaced, banner: earlier.number)
        resolution.successor = event.id
        decide(earlier, resolution)
        if let kept { banners.removeIfUnused(kept) } else { closeBannerIfEmpty(without: earlier) }
        if let window = earlier.window { closeWindowIfDone(window, at: now) }
    }

    /// Whether a removed event was behind a banner, or the successor for which one is kept.
    private func keepsBanner(_ tracked: TrackedEvent, _ key: CoalescingKey) -> Bool {
        tracked.window == nil || banners[key]?.successor == tracked.event.id
    }

    // MARK: When the new event could not be stored

    /// Puts replaced events back, the latest first.
    ///
    /// - Parameter unstored: all events that could not be stored.
    /// - Returns: the windows that they are in again.
    mutating func restoreReplaced(by unstored: Set<EventID>, at now: Now) -> [CoalescingKey] {
        names.takeReplacements().reversed().compactMap { replacement in
            guard unstored.contains(replacement.successor) else { return nil }
            output.statistics[.replaced] -= min(1, output.statistics[.replaced])
            // An event of the same turn could not be stored either.
            guard !unstored.contains(replacement.earlier.event.id) else { return nil }
            return restore(replacement, at: now)
        }
    }

    /// A provisional claim is not restored: the claimant may have been told that it has none. When in doubt, the banner
    /// is shown.
    private mutating func restore(_ replacement: Replacement, at now: Now) -> CoalescingKey? {
        let tracked = replacement.earlier
        let event = tracked.event
        guard tracked.isUndecided || tracked.isSnoozed || events.canRetract(event.id) else { return nil }
        keep(tracked)
        events.setAsked(event.id, [])
        if let snooze = replacement.snooze { beginSnooze(of: event.id, until: snooze.due) }
        names.putBack(event)
        switch tracked.place {
        case .window(let key):
            events.setAsked(event.id, ask(about: event))
            events.returnToWindow(event.id, key, at: now.instant, timers: &timers)
            return key
        case .held(let key):
            events.becomeDue(event.id, at: now.instant)
            queueOrDiscard(event.id, for: key, at: now)
        case .waiting(let key): enqueue(event.id, in: key)
        case .inFlight(let key):
            guard let revision = replacement.revision, let call = revision.call, banners[key]?.call?.id == call else {
                enqueue(event.id, in: key)
                break
            }
            banners.putInFlight(event.id, in: key)
            banners.restore(revision, of: key)
        case .shown(let key, let number):
            guard let revision = replacement.revision, banners[key]?.id == number else {
                move(event.id, to: .gone(number))
                break
            }
            banners.show(event.id, in: key)
            banners.restore(revision, of: key)
        case .gone, .snoozed: break
        }
        return nil
    }
}
