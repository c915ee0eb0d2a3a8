import Glibc
import NotifyBridge
import NotifyClient
import NotifyText
import UserFiles
import Watching

/// `org.notifyd.Desktop1`, for `notifyctl desktop` and `notifyctl doctor`. systemd/org.notifyd.Desktop1.xml is its
/// contract.
extension DesktopBridge {
    private static let interface = "org.notifyd.Desktop1"
    private static let longestWait: UInt32 = 600_000

    func exportMethods() {
        services.export(
            BridgeInterface(
                Self.interface,
                [
                    BridgeMethod("Get", out: [("state", "a{sv}")]) { _ in [.variants(self.state)] },
                    BridgeMethod("List", out: [("notifications", "aa{sv}")]) { _ in
                        let entries = self.recentSightings.map { Value.variants($0.entries) }
                        return [.array(entries, of: .dictionary(keys: .string, values: .variant))]
                    },
                    BridgeMethod("WaitForNotification", in: [("milliseconds", "u")], out: [("notification", "a{sv}")]) {
                        [.variants(try await self.next(within: $0[0].integer() ?? 0))]
                    },
                    BridgeMethod("Reload") { _ in
                        kill(getpid(), SIGHUP)
                        return []
                    },
                    .diagnose { await self.problems() },
                ]))
    }

    /// The configuration.
    private var file: String { BaseDirectories().configuration + "/\(Self.name).toml" }

    private var state: [String: Value] {
        [
            "server": .string(server.title), "way": .string(server.way), "banners": .uint32(UInt32(observer.count)),
            "rules": .uint32(UInt32(observer.rules.rules.count)),
            "configuration": .string(file),
        ]
    }

    /// The notification that becomes an event next.
    private func next(within milliseconds: UInt32) async throws -> [String: Value] {
        let time = Duration.milliseconds(min(milliseconds, Self.longestWait))
        let deadline = ContinuousClock.now + time
        let before = observer.sightingCount
        let timer = services.loop.perform(after: time) { [self] in wakeWaiters() }
        defer { timer.cancel() }
        while ContinuousClock.now < deadline {
            await withCheckedContinuation { waiters.append($0) }
            let new = observer.sightings.suffix(observer.sightingCount - before)
            if let first = new.first(where: { if case .take = $0.decision { true } else { false } }) {
                return first.entries
            }
        }
        throw BridgeMethodError(
            "\(Self.interface).Error.TimedOut", "No program has shown a notification in this time")
    }

    /// What does not work although notifications are seen.
    private func problems() async -> [(String, String, String)] {
        var problems = observer.told.sorted().map { pattern in
            (
                "desktop rules", "some texts take too long to compare with the pattern \(pattern), and do not fit it",
                "Correct it in \(file), for example by ^ at its beginning; notifyctl desktop shows which rules fit."
            )
        }
        if observer.rules.needUnit, server.kind == .plasma {
            problems.append(
                (
                    "desktop rules", "a rule has 'unit', and Plasma does not say which program shows something",
                    "Compare with 'app' instead in \(file)."
                ))
        }
        if observer.rules.needFocus, (try? await server.bus.owner(of: "org.notifyd.Focus1")) ?? nil == nil {
            problems.append(
                (
                    "desktop rules", "a rule has 'claim', and notifyd-focus does not run, which says what is in front",
                    "Start it: systemctl --user enable --now notifyd-focus"
                ))
        }
        return problems
    }
}

extension Observer.Sighting {
    /// For the bus.
    var entries: [String: Value] {
        var entries: [String: Value] = [
            "app": .string(notice.app), "desktop-entry": .string(notice.desktopEntry),
            "category": .string(notice.category), "unit": .string(notice.unit), "title": .string(notice.title),
            "time": .int64(time),
        ]
        switch decision {
        case .take(let route):
            entries["topic"] = .string(route.topic.description)
            entries["share"] = .boolean(route.isShared)
            entries["rule"] = route.rule.map { .uint32(UInt32($0)) }
        case .leave(let rule, let reason):
            entries["reason"] = .string(reason)
            entries["rule"] = rule.map { .uint32(UInt32($0)) }
        }
        return entries
    }
}
