/// Whether the bridges on the bus work.
struct BridgeCheck {
    var bridges: [BridgeInfo] = []
    var absent: [AbsentBridge] = []
    /// Microseconds since the epoch.
    var now = Timestamp.now

    /// None without a bridge: most people need none.
    var findings: [Finding] { bridges.flatMap(findings) + absent.map(\.finding) }

    static func ask(_ query: BusQuery) async -> BridgeCheck {
        let bridges = await BridgeInfo.all(query)
        return BridgeCheck(bridges: bridges, absent: await AbsentBridge.all(query, running: bridges.map(\.name)))
    }

    private func findings(_ bridge: BridgeInfo) -> [Finding] {
        let check = "bridge \(bridge.name)"
        var findings: [Finding] = []
        switch bridge.state {
        case nil:
            findings.append(
                .problem(
                    check, "on the bus, but it does not answer",
                    "Restart it: systemctl --user restart notifyd-\(bridge.name)"))
        case "failed"? where bridge.detail.contains("notifyctl link reset"):
            findings.append(
                .problem(
                    check, bridge.words,
                    "On each machine that has this device: notifyctl link reset. What was said before keeps its names.")
            )
        case "failed"?:
            findings.append(.problem(check, bridge.words, bridge.adviceOnDetail ?? advice(bridge)))
        case "waiting"?:
            let since = Timestamp(bridge.since).clock(seenAt: now)
            let advice = bridge.adviceOnDetail ?? waitingAdvice(bridge)
            findings.append(.warning(check, "\(bridge.words) since \(since)", advice))
        default:
            let problem = bridge.adviceOnDetail.map { Finding.warning(check, bridge.words, $0) }
            findings.append(problem ?? .ok(check, bridge.words))
        }
        findings += bridge.otherProblems.map { .warning(check, $0.reason, $0.advice) }
        if bridge.deadLetters > 0 {
            let count = bridge.deadLetters
            findings.append(
                .warning(
                    check, "\(count) dead letter\(count == 1 ? "" : "s"): what it could not deliver, and never will",
                    "“notifyctl bridges \(bridge.name) --dead-letters” says why; “--forget” instead deletes them."))
        }
        return findings
    }

    private static let needsNoRestart = "It goes on by itself when that is done; nothing has to be restarted."

    /// What to do while it waits: for most reasons nothing.
    private func waitingAdvice(_ bridge: BridgeInfo) -> String {
        if ["desktop", "unifiedpush"].contains(bridge.name) { return Self.needsNoRestart }
        if bridge.detail.contains("certificate") { return advice(bridge) }
        return "It tries again by itself. To try now: systemctl --user restart notifyd-\(bridge.name)"
    }

    /// What to do for the usual reasons of a failure.
    private func advice(_ bridge: BridgeInfo) -> String {
        let file = "~/.config/notifyd/\(bridge.name).toml"
        let restart = "systemctl --user restart notifyd-\(bridge.name)"
        if bridge.detail.contains("access list") {
            return "Have the broker allow it; notifyd-mqtt(8), “Access list”, has the lines for mosquitto."
        }
        if bridge.detail.contains("user name and password") || bridge.detail.contains("the password or the permissions")
        {
            return
                "Correct 'user', or the password where 'password' in \(file) says it is; it is read before each attempt, but a "
                + "credential of the unit only when that starts: \(restart)"
        }
        if bridge.detail.contains("the token or the password") {
            return
                "Correct the secret where 'token' or 'password' in \(file) says it is; it is read before each request, but a "
                + "credential of the unit only when that starts: \(restart)"
        }
        if bridge.detail.contains("does not allow this user to") {
            return "Allow it at the server, or give a 'token' of somebody who may in \(file)."
        }
        if bridge.detail.contains("certificate") {
            if bridge.detail.contains("expired") || bridge.detail.contains("not yet valid") {
                return "Have the broker get a new one; if it is a new one, see whether the clock is right: timedatectl"
            }
            if bridge.detail.lowercased().contains("hostname mismatch") {
                return
                    "Write the name that is in the certificate into 'server' of \(file), or have the broker get one for "
                    + "this name."
            }
            return
                "If an authority of your own has signed it, name its file in \(file): authorities = \"/path/ca.pem\". "
                + "If it has expired, or is for another name, the other side needs a new one."
        }
        if bridge.detail.contains("several distributors") {
            return "Write the line into \(file), then: \(restart)"
        }
        if bridge.detail.contains("the distributor needs you") || bridge.detail.contains("with a VAPID key") {
            return Self.needsNoRestart
        }
        if bridge.detail.contains("the file /") || bridge.detail.contains("the credential \"") {
            return "Put that right, then: notifyd-\(bridge.name) --check-config && \(restart)"
        }
        return "Its log says more: journalctl --user -u notifyd-\(bridge.name) -n 20"
    }
}
