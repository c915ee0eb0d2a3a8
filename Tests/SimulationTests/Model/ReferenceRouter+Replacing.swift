@testable import Routing

/// `Withdraw` and `collapse`: rule 15 of docs/design.md.
extension ReferenceRouter {
    mutating func withdraw(_ id: EventID, by peer: String) {
        guard isKnown(id) else { return refuse("UnknownEvent") }
        out.append(.reply(.done))
        guard let item = item(id) else { return }
        items.removeAll { $0.id == id }
        outdate(item)
        resolve(item, Resolution(.withdrawn, claimant: peer, banner: numberOnScreen(item)))
        leave(item)
        endIfOverEarly(item.key)
    }

    /// The new event is there, and the earlier one gives up its place.
    mutating func replace(_ earlier: Item, by id: EventID, _ before: Up?) {
        items.removeAll { $0.id == earlier.id }
        replaced.append((earlier, id, before))
        // What was behind a banner, or was to be, leaves its place to what has a window of the same key.
        let isBehind = [.waiting, .carried, .shown].contains(earlier.place)
        let isSuccessor = earlier.place == .window && banner(earlier.key)?.successor == earlier.id
        let isKept = (isBehind || isSuccessor) && item(id)?.key == earlier.banner
        if isKept {
            change(earlier.banner) { if $0.number != nil || $0.call != nil { $0.successor = id } }
        }
        outdate(earlier)
        var resolution = Resolution(.replaced, banner: numberOnScreen(earlier))
        resolution.successor = id
        resolve(earlier, resolution)
        if isKept { closeIfEmpty(earlier.banner) } else { leave(earlier) }
        endIfOverEarly(earlier.key)
    }

    private func numberOnScreen(_ item: Item) -> BannerID? {
        item.place == .shown || item.place == .gone ? item.number : nil
    }

    /// Whatever shows an event that is gone, or was told to, needs an update.
    ///
    /// Inside choice: a call that came too late is taken to report all that its banner shows.
    mutating func outdate(_ item: Item) {
        let isShown = item.place == .shown
        if isShown || item.place == .carried {
            change(item.banner) { banner in
                if isShown { banner.isOutdated = true }
                banner.call?.isOutdated = true
            }
            lineUp(item.banner, without: item.id)
        }
        guard item.place != .window, item.place != .gone, item.place != .snoozed else { return }
        for index in overdue.indices
        where overdue[index].key == item.banner && (isShown || overdue[index].carried.contains(item.id)) {
            overdue[index].call.isOutdated = true
        }
    }

    /// The banner does not wait for an event of a window any longer.
    mutating func endSuccession(_ key: Key) {
        change(key) { $0.successor = nil }
        lineUp(key)
    }

    // MARK: What could not be kept

    /// As if the events had never been published; only their numbers are used up.
    mutating func drop(_ ids: [EventID]) {
        var keys: [Key] = []
        for (earlier, successor, before) in replaced.reversed()
        where ids.contains(successor) && !ids.contains(earlier.id) {
            putBack(earlier, before)
            keys.append(earlier.key)
        }
        replaced = []
        for id in ids {
            remembered.removeAll { $0.id == id }
            values.removeAll { $0.id == id }
            guard let item = item(id) else { continue }
            items.removeAll { $0.id == id }
            leave(item)
            keys.append(item.key)
        }
        for key in keys { endIfOverEarly(key) }
    }

    /// Inside choices: a provisional claim does not come back, and screens are asked again.
    private mutating func putBack(_ earlier: Item, _ before: Up?) {
        var item = earlier
        let key = item.banner
        item.holds = []
        item.asked = []
        if item.place == .shown || item.place == .gone, !shownOrder.contains(item.id) { return }
        switch item.place {
        case .window:
            item.asked = asking(about: item.topic)
            joinWindow(&item)
            items.append(item)
        case .held:
            item.deadline = now.instant
            items.append(item)
            showOrSettle(item.id)
        case .carried where before?.call != nil && banner(key)?.call?.id == before?.call?.id:
            items.append(item)
            putBack(before, key)
        case .waiting, .carried:
            items.append(item)
            wait(item.id, for: key)
        case .shown where banner(key)?.number == item.number:
            items.append(item)
            putBack(before, key)
        case .snoozed:
            item.snooze = item.snooze.map { ($0.due, stamp()) }
            items.append(item)
        case .shown, .gone:
            item.place = .gone
            items.append(item)
        }
    }

    /// What the banner shows is right again; only a call that was made since does not report the event.
    private mutating func putBack(_ before: Up?, _ key: Key) {
        change(key) { banner in
            banner.isOutdated = before?.isOutdated ?? false
            guard let call = banner.call?.id else { return }
            banner.call?.isOutdated = before?.call?.id == call ? before?.call?.isOutdated ?? false : true
        }
    }

    private mutating func joinWindow(_ item: inout Item) {
        if let other = items.first(where: { $0.place == .window && $0.key == item.key }) {
            let ends = max(other.windowEnds, item.windowEnds)
            item.windowStamp = ends == other.windowEnds ? other.windowStamp : stamp()
            item.windowLimit = max(other.windowLimit, ends)
            item.windowEnds = ends
        } else {
            item.windowEnds = max(item.windowEnds, now.instant)
            item.windowLimit = max(item.windowOpened + item.route.maximumWindow, item.windowEnds)
            item.windowStamp = stamp()
        }
        for index in items.indices where items[index].place == .window && items[index].key == item.key {
            items[index].windowEnds = item.windowEnds
            items[index].windowLimit = item.windowLimit
            items[index].windowStamp = item.windowStamp
        }
    }
}
