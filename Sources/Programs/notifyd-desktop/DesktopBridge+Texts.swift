import Logging
import NotifyBridge
import NotifyClient
import NotifyText
import Watching

/// How long the texts of programs stay on disk, and whether a program is looked at.
extension DesktopBridge {
    private static let textKey = "text"
    private static let longestPause: Duration = .seconds(3600)
    private static let page: UInt32 = 1000

    /// Deletes events from the journal once their time is over: now, when the next one's is, and at least every hour.
    func deleteOldTexts() async {
        var backoff = Backoff(upTo: .seconds(300))
        while !Task.isCancelled {
            let pause = await deleteTexts(at: .microseconds(SystemClock.wall))
            if pause != nil { backoff.reset() }
            await services.loop.sleep(for: pause ?? backoff.next() + .seconds(1))
        }
    }

    /// - Returns: after which time to look again; `nil` if notifyd has not answered.
    private func deleteTexts(at now: Duration) async -> Duration? {
        var pause = Self.longestPause
        var cursor = (try? await services.store.number(Self.textKey)) ?? nil ?? 0
        let start = cursor
        // The first event that stays: later ones are looked at again.
        var first: UInt64?
        // By topics: the last event whose time is over.
        var old: [ByteString: UInt64] = [:]
        while true {
            guard let texts = await texts(at: "/", after: cursor) else { return nil }
            for text in texts {
                cursor = text.id
                guard let end = text.end else { continue }
                if text.isOver(at: now) {
                    old[text.topic.bytes] = text.id
                } else {
                    first = first ?? text.id
                    if end >= now { pause = min(pause, end - now + .seconds(1)) }
                }
            }
            if texts.count < Int(Self.page) { break }
        }
        var kept: [String] = []
        for (topic, id) in old.sorted(by: { $0.value < $1.value }) {
            let topic = topic.description
            guard let last = await lastDeletable(at: topic, upTo: id, now) else { return nil }
            if last < id, await isOwn(id) == true {
                first = min(first ?? id, id)
                kept.append(topic)
            }
            guard last > 0 else { continue }
            guard await services.daemon.perform(DaemonCall("Forget", [.string(topic), .uint64(last)])).isDone else {
                return nil
            }
        }
        reportKept(at: kept)
        let next = (first ?? cursor + 1) - 1
        if next != start { try? await services.store.write([.put(Self.textKey, next)]) }
        return pause
    }

    /// notifyd deletes no single events, but those at and below a topic from the oldest on.
    ///
    /// - Returns: the event before the first one that stays, because its time is not over or it is another program's; 0
    ///   if that is the oldest; `nil` if notifyd has not answered.
    private func lastDeletable(at topic: String, upTo last: UInt64, _ now: Duration) async -> UInt64? {
        var deletable: UInt64 = 0
        while deletable < last {
            guard let texts = await texts(at: topic, after: deletable) else { return nil }
            for text in texts {
                guard text.id <= last, text.isOver(at: now) else { return deletable }
                guard let isOwn = await isOwn(text.id, butNotSnoozed: true) else { return nil }
                guard isOwn else { return deletable }
                deletable = text.id
            }
            if texts.count < Int(Self.page) { break }
        }
        return deletable
    }

    /// Whether an event is this program's: another one may have a field of the same name.
    ///
    /// - Parameter butNotSnoozed: not one that comes back, whose time is over then.
    /// - Returns: `nil` if notifyd has not answered.
    private func isOwn(_ id: UInt64, butNotSnoozed: Bool = false) async -> Bool? {
        let answer = await services.daemon.perform(DaemonCall("Explain", [.uint64(id)]))
        guard let details = answer.record else { return nil }
        return DesktopName.isSource(details["source"]?.string ?? "")
            && (details["snoozed"] == nil || !butNotSnoozed)
    }

    /// Reports at which topics texts stay whose time is over.
    private func reportKept(at topics: [String]) {
        let others = topics.count > 1 ? " and at \(topics.count - 1) more" : ""
        services.status.setProblem(
            "texts",
            topics.first.map { "texts at \($0)\(others) stay longer than they should, behind an event that stays" },
            "Give these programs topics where nobody else publishes, or delete the texts: notifyctl forget "
                + (topics.first ?? "/"))
    }

    /// A page of the history; `nil` if notifyd has not answered.
    private func texts(at topic: String, after id: UInt64) async -> [Text]? {
        let call = DaemonCall("History", [.string(topic), .uint64(id), .uint32(Self.page)])
        return await services.daemon.perform(call).events?.map(Text.init)
    }

    // MARK: In front

    /// Whether a window of the program has the keyboard, in a session that is neither locked nor idle: notifyd-focus
    /// and notifyd say so.
    func isInFront(_ notice: Notice) async -> Bool {
        let focus = "org.notifyd.Focus1"
        let call = Message.call("Get", of: focus, at: "/org/notifyd/Focus1", on: focus, autoStart: false)
        guard let state = try? await services.connection.call(call, timeout: .seconds(2)).arguments.first?.entries,
            state["obstacle"]?.string?.isEmpty ?? true
        else { return false }
        let names = ["app", "instance"].compactMap { state[$0]?.string }.filter { !$0.isEmpty }
        // The class of a window of org.mozilla.Thunderbird is often thunderbird.
        let entry = notice.desktopEntry.split(separator: ".").last.map(String.init) ?? ""
        guard
            names.contains(where: { name in
                [notice.app, notice.desktopEntry, entry].contains { name.isSameName(as: $0) }
            })
        else { return false }
        let answer = try? await services.connection.call(
            .toProperties("Get", [.string("Statistics")]), timeout: .seconds(2))
        return answer?.arguments.first?.entries?["session-watched"]?.integer(as: Int.self) != 0
    }
}

/// An event of the history.
private struct Text {
    let id: UInt64
    let topic: String
    /// When the time of its text is over, since the epoch; `nil`: it stays.
    let end: Duration?
    let isDecided: Bool

    init(_ recorded: RecordedEvent) {
        let event = recorded.event
        (id, topic, isDecided) = (event.id.rawValue, event.topic, recorded.outcome != nil)
        let keep: Int64? = event.fields["keep"]?.integer()
        let longest = DesktopRules.longestKeep.components.seconds
        end = keep.map { .microseconds(event.published ?? 0) + .seconds(min(max($0, 0), longest)) }
    }

    func isOver(at now: Duration) -> Bool { isDecided && end.map { $0 < now } ?? false }
}
