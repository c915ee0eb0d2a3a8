import DesktopEvents
import Glibc
import NotifyBridge
import NotifyClient
import Routing
import UserFiles

/// `org.notifyd.Desktop1`, for `notifyctl desktop` and `notifyctl doctor`. systemd/org.notifyd.Desktop1.xml is its contract.
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
                        let entries = self.observer.sightings.map { BusValue.variants($0.entries) }
                        return [.array(entries, of: .dictionary(keys: .string, values: .variant))]
                    },
                    BridgeMethod("WaitForNotification", in: [("milliseconds", "u")], out: [("notification", "a{sv}")]) {
                        [.variants(try await self.next(within: $0[0].integer() ?? 0))]
                    },
                    BridgeMethod("Reload") { _ in
                        kill(getpid(), SIGHUP)
                        return []
                    },
                    BridgeMethod("Diagnose", out: [("problems", "a(sss)")]) { _ in
                        [
                            .array(
                                self.problems.map { .structure([.string($0), .string($1), .string($2)]) },
                                of: .structure([.string, .string, .string]))
                        ]
                    },
                ]))
    }

    private var state: [String: BusValue] {
        [
            "server": .string(server.title), "way": .string(server.way), "banners": .uint32(UInt32(observer.count)),
            "rules": .uint32(UInt32(observer.rules.rules.count)),
            "configuration": .string(BaseDirectories().configuration + "/\(Self.name).toml"),
        ]
    }

    /// The notification that is published next.
    private func next(within milliseconds: UInt32) async throws -> [String: BusValue] {
        let time = Duration.milliseconds(min(milliseconds, Self.longestWait))
        let deadline = ContinuousClock.now + time
        let timer = services.loop.perform(after: time) { [self] in wakeWaiters() }
        await withCheckedContinuation { waiters.append($0) }
        timer.cancel()
        guard ContinuousClock.now < deadline, let last = observer.sightings.last else {
            throw BridgeMethodError(
                "\(Self.interface).Error.TimedOut", "No program has shown a notification in this time")
        }
        return last.entries
    }

    private var problems: [(String, String, String)] {
        guard !server.server.isEmpty else {
            return [
                (
                    "desktop notifications", "there is no notification server, so that programs show nothing",
                    "Install one, such as dunst or mako, or log in to a desktop that has one."
                )
            ]
        }
        return []
    }
}

extension Observer.Sighting {
    /// For the bus.
    var entries: [String: BusValue] {
        var entries: [String: BusValue] = [
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
