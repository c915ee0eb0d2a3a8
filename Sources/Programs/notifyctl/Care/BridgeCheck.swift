import Glibc
import Linking
import NotifyClient
import TOMLTables
import UserFiles

/// Whether the bridges on the bus work.
struct BridgeCheck {
    var bridges: [BridgeInfo] = []
    var absent: [AbsentBridge] = []
    /// Microseconds since the epoch.
    var now = Timestamp.now

    /// None without a bridge: most people need none.
    var findings: [Finding] { bridges.flatMap(findings) + absent.map(\.finding) }

    static func ask(_ query: BusQuery) async -> BridgeCheck {
        let bridges = await concurrently(await BridgeInfo.all(query), atOnce: 8) { bridge in
            var bridge = bridge
            guard bridge.state != nil else {
                let remote = Remote.bridge(bridge.name)
                let answers = await query.answers(remote)
                bridge.stranger = await query.program(of: remote.name).map { ($0, answers) }
                return bridge
            }
            bridge.diagnosis = await query.diagnosis(.bridge(bridge.name)).map { ($0.state, $0.advice ?? "") }
            return bridge
        }
        return BridgeCheck(bridges: bridges, absent: await AbsentBridge.all(query, running: bridges.map(\.name)))
    }

    private func findings(_ bridge: BridgeInfo) -> [Finding] {
        let check = "bridge \(bridge.name)"
        guard let state = bridge.state else {
            let program = bridge.stranger?.program ?? "a program"
            if bridge.stranger?.answers == true {
                return [.stranger(check, BridgeInfo.prefix + bridge.name, program)]
            }
            let isOwn = AbsentBridge.names.contains(bridge.name)
            return [
                .problem(
                    check, "on the bus, but it does not answer",
                    isOwn
                        ? "Restart it: systemctl --user restart notifyd-\(bridge.name)"
                        : "It is not a bridge of notifyd's own. Restart it as it was started: \(program)")
            ]
        }
        let isWell = state != "failed" && state != "waiting"
        var told = bridge.diagnosis
        if told.isEmpty, !isWell {
            let isOwn = AbsentBridge.names.contains(bridge.name)
            let log = isOwn ? ": journalctl --user -u notifyd-\(bridge.name) -n 20" : "."
            told = [(bridge.words, "Its log says more\(log)")]
        }
        var findings = told.map { Finding.warning(check, $0.reason, $0.advice) }
        if isWell {
            // What is wrong is told instead, if its detail names it.
            if bridge.otherProblems.count == bridge.problems.count { findings.insert(.ok(check, bridge.words), at: 0) }
        } else if state == "failed" {
            findings[0] = .problem(check, told[0].reason, told[0].advice)
        } else {
            let since = Timestamp(bridge.since).clock(seenAt: now)
            findings[0] = .warning(check, "\(told[0].reason) since \(since)", told[0].advice)
        }
        return findings
    }
}

/// A bridge that has failed, that has a configuration and does not run, or that is to run and has none.
struct AbsentBridge: Equatable {
    static let names = ["desktop", "mqtt", "ntfy", "unifiedpush"]

    /// Such as `ntfy`.
    let name: String
    /// The configuration that its unit waits for; `nil` if it is there.
    var missing: String?
    /// Whether there is a service manager that knows its unit.
    var hasManager = false
    /// Whether that may not start its unit.
    var isMasked = false
    /// Why its unit has failed.
    var failure: UnitFailure?

    var finding: Finding {
        let unit = "notifyd-\(name)"
        if let failure { return .problem("bridge \(name)", "\(unit) \(failure.state)", failure.advice) }
        if let missing {
            return .warning(
                "bridge \(name)", "\(unit) is enabled, and is not started without its configuration",
                "Write \(missing), as \(unit).toml(5) says, and then: systemctl --user restart \(unit)")
        }
        let state = "there is a configuration, but \(unit) \(isMasked ? "is masked" : "does not run")"
        if isMasked { return .warning("bridge \(name)", state, UnitCheck.unmask(unit)) }
        let start = hasManager ? "systemctl --user enable --now \(unit)" : "\(unit) --check-config && \(unit)"
        return .warning("bridge \(name)", state, "Move \(name).toml away if you do not want it, or start it: \(start)")
    }

    /// - Parameter running: the names of the bridges on the bus.
    static func all(_ query: BusQuery, running: [String]) async -> [AbsentBridge] {
        let folder = BaseDirectories().configuration
        var absent: [AbsentBridge] = []
        for name in names where !running.contains(name) {
            var bridge = AbsentBridge(name: name)
            await bridge.askManager(query)
            let file = "\(folder)/\(name).toml"
            if bridge.failure == nil, access(file, F_OK) != 0 {
                guard name == "ntfy", await query.isEnabled("notifyd-ntfy.service") else { continue }
                bridge.missing = file
            }
            absent.append(bridge)
        }
        return absent
    }

    private mutating func askManager(_ query: BusQuery) async {
        let unit = await query.unit("notifyd-\(name).service")
        hasManager = unit.text("LoadState") == "loaded"
        isMasked = unit.text("LoadState") == "masked"
        guard unit.isFailedUnit else { return }
        failure = UnitFailure("notifyd-\(name)", await query.service("notifyd-\(name).service"))
    }
}

/// Whether the link between devices is as it should be. That it is connected is said of the bridge.
struct LinkCheck {
    /// A device that was not heard for so long may be gone.
    static let longAbsence: Duration = .seconds(7 * 86_400)

    private static let check = "link"

    /// The mistakes in the configuration, if there are any.
    var mistakes: ConfigurationError?
    /// `nil` if notifyd-mqtt does not run, or does not answer.
    var info: LinkInfo?
    /// Microseconds since the epoch.
    var now: Int64 = 0

    /// None without a link.
    var findings: [Finding] {
        let bad = mistakes.map { error in
            Finding.problem(
                Self.check, error.lines.first ?? "the configuration is bad",
                "Correct it, then: notifyd-mqtt --check-config && systemctl --user reload-or-restart notifyd-mqtt")
        }
        let lines = info?.lines ?? []
        let open = lines.contains { !$0.isSealed } ? Self.open : nil
        return [bad, open].compactMap(\.self) + lines.flatMap(findings) + (info?.devices ?? []).flatMap(findings)
    }

    private static let open = Finding.warning(
        check, "without a key: the broker reads everything, and whoever may write there speaks for your devices",
        "Make one: (umask 077; head -c 32 /dev/urandom | base64 > ~/.config/notifyd/link.key). Copy it to every "
            + "device, and write into [link] of mqtt.toml: key = { file = \"link.key\" }")

    private func findings(_ line: LinkInfo.Line) -> [Finding] {
        var findings: [Finding] = []
        func warn(_ problem: String, _ advice: String) {
            findings.append(.warning(Self.check, "\(Terminal.plain(line.title)): \(problem)", advice))
        }
        if line.forged > 0 {
            warn(
                "\(line.forged.counting("message")) passed over: moved here from another topic, or in "
                    + "the name of somebody else",
                line.isChannel
                    ? "A member, or a stranger, forges messages; if a member has lost its key: "
                        + "notifyctl link forget NAME"
                    : "Somebody else writes below the topics of this user: look at the access list of the broker.")
        }
        if line.isCrowded {
            warn(
                "more devices than are taken; those that have said nothing make room for others",
                line.isChannel
                    ? "A member makes up devices: agree on another key without that member, or forget old ones: "
                        + "notifyctl link forget NAME"
                    : "Forget those that are gone: notifyctl link forget NAME")
        }
        guard line.unopened > 0 else { return findings }
        let advice =
            line.isChannel
            ? "Get the key of the channel from another member, and have all of them run this version of notifyd."
            : "On a device that works: notifyctl link pair. Here move mqtt.toml, mqtt.password, link.key and, where "
                + "there is one, mqtt.authorities.pem away, and then: notifyctl link join"
        let reason = line.isSealed ? "the others have another key" : "the others have a key"
        let version = line.isChannel ? ", or an older notifyd" : ""
        warn("\(line.unopened.counting("message")) cannot be opened: \(reason)\(version)", advice)
        return findings
    }

    /// One that is online is not absent.
    private func findings(_ device: ListedDevice) -> [Finding] {
        let title = Terminal.plain(device.title)
        let absence = Duration.microseconds(now - device.seen)
        if device.isOnline, device.hasWrongClock {
            return [
                .warning(
                    Self.check, "the clock of \(title) is \(device.clockOffset.distanceText)",
                    "Have both set by the network: timedatectl set-ntp true. Of two values the later one wins.")
            ]
        }
        guard !device.isOnline, device.seen > 0, absence > Self.longAbsence else { return [] }
        return [
            .warning(
                Self.check, "\(title) was not heard for \(absence.components.seconds / 86_400) days",
                "After 30 days it is dropped. If it does not come back: notifyctl link forget \(title)")
        ]
    }

    static func ask(_ query: BusQuery) async -> LinkCheck {
        var check = LinkCheck(now: Timestamp.now)
        if await query.owner(of: Remote.link.name) != nil { check.info = try? await LinkInfo.ask(query) }
        if case .failure(let error) = LinkFiles(nil).settings { check.mistakes = error }
        return check
    }
}

/// Whether the endpoints of notifyd-unifiedpush can be used. That it is registered is said of the bridge.
struct PushCheck {
    private static let check = "push"
    /// So long it is told that an address has changed.
    static let memory: Duration = .seconds(7 * 86_400)

    /// None if notifyd-unifiedpush does not run, or does not answer.
    var endpoints: [PushEndpointInfo] = []
    /// Whether the bus can start it.
    var isActivatable = true
    /// Microseconds since the epoch.
    var now: Int64 = 0

    /// None without an endpoint.
    var findings: [Finding] {
        guard !endpoints.isEmpty else { return [] }
        let start = Finding.warning(
            Self.check, "the bus cannot start notifyd-unifiedpush, and distributors forget such programs",
            "Install org.notifyd.UnifiedPush.service into share/dbus-1/services, as make install does.")
        let moved = endpoints.filter { $0.changed > 0 && .microseconds(now - $0.changed) < Self.memory }
        return (isActivatable ? [] : [start])
            + moved.map { endpoint -> Finding in
                let name = Terminal.plain(endpoint.name)
                return .warning(
                    Self.check, "\(name) has another address since \(Timestamp(endpoint.changed).clock(seenAt: now))",
                    "Give its sender the new one, if you have not: notifyctl push-endpoint show \(name). "
                        + "This is told for a week.")
            }
    }

    static func ask(_ query: BusQuery, activatable: [String]) async -> PushCheck {
        guard await query.owner(of: Remote.push.name) != nil else { return PushCheck() }
        return PushCheck(
            endpoints: (try? await PushEndpointInfo.all(query)) ?? [],
            isActivatable: activatable.contains(BusQuery.connector), now: Timestamp.now)
    }
}
