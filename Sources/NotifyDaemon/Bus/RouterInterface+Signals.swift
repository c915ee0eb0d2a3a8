import Routing
import Systemd

/// The signals, with only the keys that apply in their dictionaries.
extension RouterInterface {
    func announcement(_ event: Event, _ announcement: Announcement) -> HeldMessage {
        let signal = signal("Event")
        signal.append(event.topic.description)
        signal.append(event.id.rawValue, as: "t")
        signal.append(event.title)
        signal.append(event.body)
        signal.append(event.fields)
        signal.appendContainer("a", "{sv}") { info in
            info.appendEntry("published", "x") { $0.append(event.published, as: "x") }
            info.appendEntry("sender", "s") { $0.append(event.sender) }
            let window = announcement.window?.millisecondsRoundedUp ?? 0
            info.appendEntry("window", "u") { $0.append(window, as: "u") }
            if let source = event.origin.source { info.appendEntry("source", "s") { $0.append(source) } }
            if let id = event.origin.eventID { info.appendEntry("event-id", "s") { $0.append(id) } }
            if announcement.isReplayed { info.appendEntry("replayed", "b") { $0.append(true) } }
            if event.retained { info.appendEntry("retained", "b") { $0.append(true) } }
        }
        return HeldMessage(signal, bytes: event.footprint)
    }

    func resolution(_ id: EventID, _ topic: Topic, _ resolution: Resolution) -> HeldMessage {
        let signal = signal("Resolved")
        signal.append(topic.description)
        signal.append(id.rawValue, as: "t")
        signal.append(resolution.outcome.rawValue)
        signal.appendContainer("a", "{sv}") { details in
            if let claimant = resolution.claimant { details.appendEntry("by", "s") { $0.append(claimant) } }
            if let program = resolution.claimant.flatMap(daemon.programs.program) {
                details.appendEntry("program", "s") { $0.append(program) }
            }
            if let latency = resolution.latency {
                details.appendEntry("latency", "t") { $0.append(UInt64(clamping: latency.microseconds), as: "t") }
            }
            // Nearly all are made by Claim: then it is not said.
            if let form = resolution.form, form != .claim {
                details.appendEntry("form", "s") { $0.append(form.rawValue) }
            }
            if let banner = resolution.banner {
                details.appendEntry("banner", "u") { $0.append(banner.rawValue, as: "u") }
            }
            if let count = resolution.count {
                details.appendEntry("count", "u") { $0.append(UInt32(clamping: count), as: "u") }
            }
            if let lateness = resolution.lateness {
                details.appendEntry("lateness", "t") { $0.append(UInt64(clamping: lateness.microseconds), as: "t") }
            }
            if let action = resolution.action { details.appendEntry("action", "s") { $0.append(action) } }
        }
        return HeldMessage(signal)
    }

    func action(_ event: Event, _ action: String) -> HeldMessage {
        let signal = signal("ActionInvoked")
        signal.append(event.topic.description)
        signal.append(event.id.rawValue, as: "t")
        signal.append(action)
        return HeldMessage(signal)
    }

    func degradationChanged() {
        bus.propertiesChanged(path: Self.path, interface: Self.name, ["Degraded"])
    }

    func defaultWindowChanged() {
        bus.propertiesChanged(path: Self.path, interface: Self.name, ["DefaultWindowMilliseconds"])
    }

    func quietChanged(isPauseChanged: Bool) {
        bus.propertiesChanged(path: Self.path, interface: Self.name, ["Quiet"] + (isPauseChanged ? ["Paused"] : []))
    }

    func removal(_ topic: Topic, _ id: EventID) -> HeldMessage {
        let signal = signal("Removed")
        signal.append(topic.description)
        signal.append(id.rawValue, as: "t")
        return HeldMessage(signal)
    }

    private func signal(_ member: String) -> BusMessage {
        bus.signal(path: Self.path, interface: Self.name, member: member)
    }
}
