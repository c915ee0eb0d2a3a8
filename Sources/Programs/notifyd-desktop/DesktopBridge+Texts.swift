import DesktopEvents
import Logging
import NotifyBridge
import NotifyClient
import NotifyText

/// How long the texts of programs stay on disk, and whether a program is looked at.
extension DesktopBridge {
    private static let textKey = "text"
    private static let longestPause: Duration = .seconds(3600)
    private static let page: UInt32 = 1000
    /// The longest time that a rule can say, in seconds.
    private static let longestKeep = DesktopRules.longestKeep.components.seconds

    /// Deletes events from the journal once their time is over: now, when the next one's is, and at least every hour.
    func deleteOldTexts() async {
        var backoff = Backoff(upTo: .seconds(300))
        while !Task.isCancelled {
            let pause = await deleteTexts(before: SystemClock.wall)
            if pause != nil { backoff.reset() }
            await services.loop.sleep(for: pause ?? backoff.next() + .seconds(1))
        }
    }

    /// - Returns: after which time to look again; `nil` if notifyd has not answered.
    private func deleteTexts(before now: Int64) async -> Duration? {
        var pause = Self.longestPause
        var cursor = (try? await services.store.number(Self.textKey)) ?? nil ?? 0
        let start = cursor
        // The first event of this program that stays: later ones are looked at again.
        var first: UInt64?
        // By topics: the last one whose time is over.
        var old: [ByteString: UInt64] = [:]
        var foreign: Set<ByteString> = []
        while true {
            let answer = await services.daemon.perform(
                DaemonCall("History", [.string("/"), .uint64(cursor), .uint32(Self.page)]))
            guard case .done(let arguments) = answer, let rows = arguments.first?.elements else { return nil }
            for row in rows.compactMap(\.elements) where row.count >= 7 {
                guard let id: UInt64 = row[0].integer(), let topic = row[1].string,
                    let published: Int64 = row[4].integer()
                else { continue }
                cursor = id
                guard let keep: Int64 = row[6].fields?["keep"]?.integer() else {
                    foreign.insert(topic.bytes)
                    continue
                }
                // Another program may have a field of this name, with any number.
                let end = Duration.microseconds(published) + .seconds(min(max(keep, 0), Self.longestKeep))
                let left = end - .microseconds(now)
                if left < .zero, row[5].string != "" {
                    old[topic.bytes] = id
                } else {
                    first = first ?? id
                    if left >= .zero { pause = min(pause, left + .seconds(1)) }
                }
            }
            if rows.count < Int(Self.page) { break }
        }
        for (topic, id) in old.sorted(by: { $0.value < $1.value }) {
            let topic = topic.description
            guard !foreign.contains(where: { $0.isAtOrBelow(topic) }) else { continue }
            guard await services.daemon.perform(DaemonCall("Forget", [.string(topic), .uint64(id)])).isDone else {
                return nil
            }
        }
        let next = (first ?? cursor + 1) - 1
        if next != start { try? await services.store.write([.put(Self.textKey, next)]) }
        return pause
    }

    // MARK: In front

    /// Whether a window of the program has the keyboard, in a session that is neither locked nor idle: notifyd-focus and notifyd say so.
    func isInFront(_ notice: Notice) async -> Bool {
        let focus = "org.notifyd.Focus1"
        let call = Message.call("Get", of: focus, at: "/org/notifyd/Focus1", on: focus, autoStart: false)
        guard let state = try? await services.connection.call(call, timeout: .seconds(2)).arguments.first?.entries,
            state["obstacle"]?.string?.isEmpty ?? true
        else { return false }
        let names = ["app", "instance"].compactMap { state[$0]?.string }.filter { !$0.isEmpty }
        guard names.contains(where: { $0.isSameName(as: notice.app) || $0.isSameName(as: notice.desktopEntry) }) else {
            return false
        }
        let answer = try? await services.connection.call(
            .toProperties("Get", [.string("Statistics")]), timeout: .seconds(2))
        return answer?.arguments.first?.entries?["session-watched"]?.integer(as: Int.self) != 0
    }
}

extension ByteString {
    /// Whether a topic is at or below another one.
    fileprivate func isAtOrBelow(_ topic: String) -> Bool {
        let text = description
        return text.hasBytes(of: topic) || text.utf8.starts(with: "\(topic)/".utf8)
    }
}
